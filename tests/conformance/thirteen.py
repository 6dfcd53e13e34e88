"""The thirteen-step deletion sequence: one memory beside its neighbours, from first word to last backup."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.acceptance import channels, rebuild, scope_id
from tests.conformance.checks import Check
from tests.conformance.product import Product
from tests.support.restored import Restored, backup
from tests.support.stack import eventually

TARGET = "I keep the saffron heirloom in a tin box."
NEIGHBOUR = "I polish the silver heirloom every spring."
THIRD = "The cellar door needs new hinges."
CANARY = "saffron"


@dataclass
class Sequence:
    """What the steps hand on: they are one story, and each is judged for itself."""

    scope: str = ""
    target: Any = None
    receipt: Any = None
    lines: list[Any] = field(default_factory=list)
    export_id: str = ""
    backup: list[Any] = field(default_factory=list)
    backup_arn: str = ""
    second: str = ""

    def checks(self) -> tuple[Check, ...]:
        """The steps in order."""
        return tuple(
            Check(f"step {number:02d} {name}", getattr(self, f"step_{number}"), holds, control, not_shown)
            for number, (name, holds, control, not_shown) in enumerate(STEPS, start=1)
        )

    def step_1(self, product: Product) -> None:
        self.scope, self.second = f"{product.root}/thirteen/steps", f"{product.root}/thirteen/second"
        product.say(self.scope, "run-1", TARGET, NEIGHBOUR)
        product.remember(self.scope, THIRD)
        product.remember(self.second, TARGET)
        (self.target,) = [m for m in product.memories(self.scope) if CANARY in m["content"]]

    def step_2(self, product: Product) -> None:
        product.settled(self.scope, self.second)
        assert product.recalled(self.scope, "Where is the saffron heirloom?")[0] == self.target["content"]
        assert CANARY in product.prompt(self.scope, "heirloom")
        self.lines = product.export(self.scope, "active", "history")
        body = {"scope": self.scope, "include": ["active"]}
        made = product.call("POST", "/v1/export", body, expect=202)
        self.export_id = product.job(self.scope, made["id"])["id"]
        self.backup = ledger_items(product, self.scope)
        self.backup_arn = backup(product.stack, "LedgerTable")
        assert CANARY in json.dumps(self.lines)
        assert CANARY in json.dumps(self.backup, default=repr)

    def step_3(self, product: Product) -> None:
        self.receipt = product.forget(self.scope, self.target["id"])
        assert self.receipt["state"] in ("pending", "complete")

    def step_4(self, product: Product) -> None:
        scope, gone = self.scope, self.target["id"]
        assert product.send("GET", f"/v1/memories/{gone}", scope=scope).status_code == 404
        history = product.call("GET", f"/v1/memories/{gone}/history", scope=scope)
        seen = [
            product.recall(scope, "saffron heirloom", limit=50, include=["candidate", "disputed"]),
            product.prompt(scope, "saffron heirloom"),
            *(product.memories(scope, status) for status in STATUSES),
            history,
            product.export(scope, "active", "history", "candidate", "disputed"),
            product.reviews(scope),
            product.call("GET", "/v1/conversations/run-1", scope=scope),
        ]
        assert CANARY not in str(seen)
        assert history["versions"] == []
        assert len(product.listed(scope)) == 2, "the control: its neighbours are there"

    def step_5(self, product: Product) -> None:
        product.say(self.scope, "run-1", TARGET, NEIGHBOUR)
        product.say(self.scope, "run-2", TARGET, NEIGHBOUR)
        self._is_nowhere(product)

    def step_6(self, product: Product) -> None:
        product.completed(self.scope, self.receipt)
        rebuild(product, self.scope)
        product.settled(self.scope)
        self._is_nowhere(product)

    def step_7(self, product: Product) -> None:
        text = self.target["content"]
        for door, code in channels(product, self.scope, text, "seven").items():
            assert code == "tombstoned", (door, code)
        refused = product.bring(self.scope, self.lines)["result"]["refused"]
        assert refused == {"forgotten_id": 1}

    def step_8(self, product: Product) -> None:
        self._is_nowhere(product)
        found = product.recalled(self.scope, "heirloom in spring, cellar door")
        assert NEIGHBOUR in found
        assert THIRD in found

    def step_9(self, product: Product) -> None:
        receipt = product.completed(self.scope, self.receipt)
        assert receipt["erased"] >= 1
        sid = scope_id(product, self.scope)
        held = [
            item for item in ledger_items(product, self.scope) if CANARY in json.dumps(item, default=repr)
        ]
        assert held == [], "in no item of the scope"
        eventually(lambda: not self._held_in_files(product, sid), within=60)
        objects = {
            name: [line for line in text.splitlines() if CANARY in line and line.startswith(sid)]
            for name, text in product.raw().items()
            if name.startswith("s3 ")
        }
        assert not any(objects.values()), "in no version of any object of the scope"
        raw = product.raw()
        assert CANARY not in raw["logs"]
        assert not any(CANARY in text for name, text in raw.items() if name.startswith("queue "))
        assert product.index_state(self.target["id"]) == "NOT_FOUND"
        assert self.target["id"] not in product.nearest(self.target["content"])
        assert CANARY in raw["LedgerTable"], "the control: the second scope's own is found by the same search"

    def step_10(self, product: Product) -> None:
        product.restarted()
        rebuild(product, self.scope)
        product.settled(self.scope)
        self._is_nowhere(product)
        assert NEIGHBOUR in product.recalled(self.scope, "heirloom")

    def step_11(self, product: Product) -> None:
        job = product.call("GET", f"/v1/jobs/{self.export_id}", scope=self.scope)
        assert not job["result"].get("parts"), "the export from before is given to nobody"
        assert product.listed(self.second) == [TARGET], "the second scope's is its own"
        retained = [
            s for s in product.completed(self.scope, self.receipt)["stores"] if s["state"] == "retained"
        ]
        assert retained
        assert all(store["until"] for store in retained), "what cannot be reached is named, with its end"

    def step_12(self, product: Product) -> None:
        product.completed(self.scope, self.receipt)
        restored = Restored(product.stack, self.backup_arn)
        with restored.pointed_at():
            eventually(lambda: self._is_refused(product))
            assert product.client.get("/v1/health").json()["degraded"] == ["restored"]
            assert restored.checked()["erased"] >= 1
            eventually(lambda: not self._is_refused(product))
            self._is_nowhere(product)
            gone = self.target["id"]
            assert product.send("GET", f"/v1/memories/{gone}", scope=self.scope).status_code == 404
            assert NEIGHBOUR in product.listed(self.scope), "the control: the backup has it"
        eventually(lambda: not self._is_refused(product))

    def step_13(self, product: Product) -> None:
        chain = product.verified(self.scope)
        assert (chain["ok"], chain["complete"]) == (True, True)
        events = product.events(self.scope)
        entry = next(e for e in events if e["erasure_id"] == self.receipt["id"])
        assert entry["actor"].startswith("key_")
        assert entry["at"]
        assert entry["reason"] == "user_request"
        raw = product.raw()["RecordTable"]
        assert CANARY not in raw
        assert NEIGHBOUR not in raw
        assert self.target["id"] in raw, "the control: the record is read, and knows the id"

    def _held_in_files(self, product: Product, sid: str) -> bool:
        """What was exported before goes once the stream has told of the tombstone."""
        files = [text for name, text in product.raw().items() if name.startswith("s3 ")]
        return any(CANARY in line for text in files for line in text.splitlines() if line.startswith(sid))

    def _is_refused(self, product: Product) -> bool:
        """True while the functions serve nothing of the tables that they see."""
        answer = product.client.get("/v1/memories", params={"scope": self.scope})
        return bool(answer.status_code == 503 and answer.json()["code"] == "unavailable")

    def _is_nowhere(self, product: Product) -> None:
        seen = [
            product.recall(self.scope, "saffron heirloom tin box", limit=50),
            product.prompt(self.scope, "tin box"),
        ]
        seen += [product.memories(self.scope, status) for status in STATUSES]
        seen += [product.reviews(self.scope)]
        assert CANARY not in str(seen)


STATUSES = ("active", "candidate", "superseded", "retracted", "rejected", "expired")


def ledger_items(product: Product, scope: str) -> list[Any]:
    """Everything of a scope that lies in the ledger, as a backup of the table has it."""
    pages = product.stack.aws("dynamodb").get_paginator("scan")
    items = [i for p in pages.paginate(TableName=product.stack.outputs["LedgerTable"]) for i in p["Items"]]
    sid = scope_id(product, scope)
    return [item for item in items if item["pk"]["S"].startswith(f"{sid}#")]


STEPS = (
    (
        "write",
        "the target comes from a conversation, beside two neighbours",
        "both neighbours are stored",
        "other channels (step 7)",
    ),
    (
        "settle",
        "it is recalled first and stands in a prompt, an export and a backup",
        "itself",
        "nothing: it is the control of all that follows",
    ),
    ("forget", "`202` with a receipt", "—", "anything yet"),
    (
        "read",
        "recall, list in every status, get, history, export, prompt, reviews, the conversation: absent",
        "two neighbours are listed",
        "raw stores (step 9)",
    ),
    (
        "re-feed",
        "the very conversation, in its run and a new one",
        "step 8",
        "paraphrases, which are other values",
    ),
    ("passes", "index, receipt, reindex", "the receipt completes", "passes of later releases"),
    (
        "restate",
        "batch, edit, correct, import of its own line and of the old export: refused",
        "gateway-1's clean sentence",
        "approval by a person, which lifts",
    ),
    ("again", "absent still", "both neighbours are recalled", "ranking"),
    (
        "raw",
        "in no item, object version, queue or log of the scope; the index says NOT_FOUND, and its own "
        "text does not find it",
        "the second scope's own is found by the same search",
        "free pages inside the engines",
    ),
    (
        "rebuild",
        "after a restart of everything and a rebuilt index: absent",
        "the neighbour is recalled",
        "other Regions",
    ),
    (
        "copies",
        "the export is withdrawn; the second scope's is its own; the backup is named with its end",
        "the second scope's is listed",
        "files somebody has downloaded",
    ),
    (
        "restore",
        "the backup from before: not servable before the check, absent after it",
        "a neighbour from the backup is there",
        "backups that nobody checks",
    ),
    (
        "audit",
        "the chain verifies and says who, when, why, without the text",
        "the record names the id",
        "that the actor was who he said",
    ),
)
