"""Lives that take every call of the API down each of its ways, and what each call used of its role.

`python -m tests.isolation.lives` writes the table of it into `docs/access-patterns.md`.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.isolation.cloud import Cloud, Use
from tests.support.candidates import candidate, infer
from tests.support.consolidating import merged
from tests.support.http import Answer, Caller

SCOPE = "acme/alice"
LISBON, PORTO = "Alice lives in Lisbon.", "Alice lives in Porto."
SECRET = "the key is AKIAIOSFODNN7EXAMPLE"


class Lived:
    """An admin at the real service, and what each call of theirs used."""

    def __init__(self) -> None:
        self.cloud = Cloud()
        service = self.cloud.service()
        service.clock = self.cloud.clock  # type: ignore[attr-defined]
        self.service: Any = service
        self.api = Caller(self.service)
        self.uses: dict[str, set[Use]] = defaultdict(set)

    def do(self, verb: str, answer: Answer, status: int | None = None) -> Answer:
        """Note what a call has used since the last."""
        assert answer.status < 500, (verb, answer.text)
        assert status is None or answer.status == status, (verb, answer.text)
        self.uses[verb] |= self.cloud.used
        self.cloud.used = set()
        return answer

    def forgotten_use(self) -> None:
        """What was only done to prepare is nobody's use."""
        self.cloud.used = set()


def live() -> dict[str, set[Use]]:
    """By call: everything it used."""
    one = Lived()
    for life in (_writing, _changing, _reviewing, _forgetting, _talking, _reading, _transferring):
        life(one)
    return dict(one.uses)


def _writing(one: Lived) -> None:
    api, again = one.api, {"idempotency_key": "k"}
    one.do("remember", api.remember(LISBON, key="home", tags=["a"]), 201)
    one.do("remember", api.remember(LISBON, key="home", tags=["a"]), 200)
    one.do("remember", api.as_(api.who).remember(LISBON, key="home", source={"run_id": "r"}))
    one.do("remember", api.remember("named", headers=again), 201)
    one.do("remember", api.remember("named", headers=again), 201)
    one.do("remember", api.remember(PORTO, key="home"), 201)
    one.do("remember", api.remember(SECRET), 422)
    for content in ("first", "second"):
        one.do("remember", api.remember(content, kind="item", key="drawer", path=["desk"]))
    one.do(
        "remember_batch", api.batch([{"content": f"b{n}", "key": f"k{n}"} for n in range(3)], **again), 200
    )
    one.do(
        "remember_batch", api.batch([{"content": f"b{n}", "key": f"k{n}"} for n in range(3)], **again), 200
    )
    one.do("remember_batch", api.batch([{"content": "c", "key": "k1"}, {"content": SECRET}]), 200)


def _changing(one: Lived) -> None:
    api = one.api
    old = one.do("remember", api.remember("A plain fact.", key="plain"), 201)
    one.do("edit", api.edit(old["id"], content="A plainer fact.", key="plainer"), 200)
    one.do("edit", api.edit(old["id"], version=2, key=None, tags=["t"]), 200)
    one.do("edit", api.edit(old["id"], version=3, content=SECRET), 422)
    new = one.do("correct", api.correct(old["id"], "A changed fact.", version=3, key="plain"), 201)
    named = {"headers": {"idempotency_key": "c"}}
    fixed = one.do("correct", api.correct(new["id"], "A right fact.", "wrong", **named), 201)
    one.do("correct", api.correct(new["id"], "A right fact.", "wrong", **named), 201)
    one.do("correct", api.correct(fixed["id"], "A changed fact.", "changed"), 409)
    one.do("correct", api.correct(fixed["id"], "A right fact.", "wrong", tags=["x"]), 201)
    gone = one.do("remember", api.remember("Never so.", key="never"), 201)
    one.do("edit", api.edit(gone["id"], content="Never ever so."), 200)
    one.do(
        "retract", api.retract(gone["id"], version=2, note="a slip", headers={"idempotency_key": "r"}), 200
    )
    one.do(
        "retract", api.retract(gone["id"], version=2, note="a slip", headers={"idempotency_key": "r"}), 200
    )
    other = one.do("remember", api.remember("Never so either."), 201)
    one.do("retract", api.retract(other["id"], note=SECRET), 422)
    one.do("remember", api.remember("Never so."), 409)
    grave = one.do("list_tombstones", api.tombstones(), 200)["items"][0]
    one.do("lift_tombstone", api.lift(grave["id"]), 200)


def _reviewing(one: Lived) -> None:
    api = one.api
    doubted = one.do("remember", api.remember("Perhaps.", key="perhaps"), 201)
    named = {"headers": {"idempotency_key": "d"}}
    for _ in range(2):
        one.do("dispute", api.dispute(doubted["id"], **named), 200)
    one.do("list_reviews", api.reviews(state="disputed"), 200)
    approving = {"version": 2, "headers": {"idempotency_key": "a"}}
    for _ in range(2):
        one.do("decide_review", api.decide(doubted["id"], **approving), 200)
    again = one.do("dispute", api.dispute(doubted["id"], version=3), 200)
    one.do("decide_review", api.decide(again["id"], "reject", version=4, reason="incorrect"), 200)
    waiting = candidate(one.service, "Maybe so.", key="maybe")
    restated = candidate(one.service, "Perhaps.")
    infer(one.service, "A model said so.")
    one.forgotten_use()
    one.do("decide_review", api.decide(waiting.id), 200)
    one.do("decide_review", api.decide(restated.id))
    refused = candidate(one.service, "Maybe not.")
    one.forgotten_use()
    one.do("retract", api.retract(refused.id))
    one.do("dispute", api.dispute(waiting.id, version=2))


def _forgetting(one: Lived) -> None:
    api = one.api
    source = one.do("remember", api.remember("A source.", key="source"), 201)
    support = one.do("remember", api.remember("Another source."), 201)
    one.do("remember", api.remember("Derived.", derived_from=[source["id"]], key="derived"), 201)
    both = [source["id"], support["id"]]
    one.do("remember", api.remember("Derived of both.", derived_from=both, key="both"), 201)
    receipt = one.do("forget", api.forget(source["id"]), 202)
    one.do("forget", api.forget(source["id"]), 410)
    one.do("erasure", api.receipt(receipt["id"]), 200)
    current = api.remember("room 0")
    for number in range(1, 30):
        current = api.correct(current["id"], f"room {number}")
    year = {"valid_from": "2020-01-01T00:00:00Z", "valid_to": "2021-01-01T00:00:00Z"}
    api.remember("One of two in a slot.", key="shared", **year)
    shared = api.remember("The other of two.", key="shared", valid_from="2022-01-01T00:00:00Z")
    one.forgotten_use()
    one.do("forget", api.forget(shared["id"]), 202)
    one.do("forget", api.forget(current["id"]), 202)
    waiting = candidate(one.service, "Waits and goes.")
    named = api.remember("Named and goes.", headers={"idempotency_key": "n"})
    one.forgotten_use()
    one.do("forget", api.forget(waiting.id), 202)
    member, rest = (api.remember(f"Alice walks {end}.")["id"] for end in ("a lot", "a little"))
    merged(one.service, member, rest)
    other = [api.remember(f"Alice swims {end}.")["id"] for end in ("a lot", "a little")]
    merged(one.service, *other)
    one.forgotten_use()
    one.do("forget", api.forget(member), 202)
    one.do("retract", api.retract(other[0], version=2), 200)
    other = f"{SCOPE}/other"
    every = {"scope": other, "reason": "test", "selector": {"all": True, "confirm": other}}
    for _ in range(2):
        one.do("forget_selection", api.send("POST", "/v1/forget", every, idempotency_key="f"), 202)
    one.do("forget_selection", api.send("POST", "/v1/forget", {**every, "dry_run": True}), 200)
    for dry_run in (True, False):
        asked = {"scope": other, "dry_run": dry_run}
        one.do("prune", api.send("POST", "/v1/prune", asked, idempotency_key=f"p{dry_run}"))
    one.do("forget", api.forget(named["id"], tombstone="id"), 202)


def _talking(one: Lived) -> None:
    api, run = one.api, "/v1/conversations/run-1"
    said = [
        {"seq": 1, "role": "user", "content": "I live in Faro."},
        {"seq": 2, "role": "assistant", "content": "Noted."},
    ]
    where = f"scope={SCOPE.replace('/', '%2F')}"
    body = {"scope": SCOPE, "messages": said, "flush": True}
    for _ in range(2):
        one.do("record_messages", api.send("POST", f"{run}/messages", body), 202)
        one.do("record_messages", api.send("POST", f"{run}/messages", body, idempotency_key="m"), 202)
        for verb in ("flush", "retry"):
            again = api.send("POST", f"{run}/{verb}", query=where, idempotency_key=verb)
            one.do(f"{verb}_conversation", again, 202)
        again = api.send("POST", f"{run}/upload", query=where, idempotency_key="u")
        one.do("upload_conversation", again, 201)
    one.do("list_conversations", api.send("GET", "/v1/conversations", query=where), 200)
    one.do("conversation", api.send("GET", run, query=where), 200)
    told = {"source": {"run_id": "run-1", "message_seqs": [1], "quote": "I live in Faro."}}
    memory = one.do("remember", api.remember("Alice lives in Faro.", **told), 201)
    one.do("retract", api.retract(memory["id"]), 200)
    one.do("forget", api.forget(memory["id"]), 202)
    more = [{"seq": 3, "role": "user", "content": "I live in Faro."}]
    one.do("record_messages", api.send("POST", f"{run}/messages", {"scope": SCOPE, "messages": more}), 202)


def _reading(one: Lived) -> None:
    api = one.api
    memory = api.list()["items"][0]
    one.forgotten_use()
    one.do("get", api.get(memory["id"]), 200)
    one.do("get", api.get(memory["id"], known_at="2040-01-01T00:00:00Z"), 200)
    one.do("list", api.list(), 200)
    one.do("list", api.list(known_at="2040-01-01T00:00:00Z"), 200)
    one.do("history", api.history(memory["id"]), 200)
    one.do("recall", api.recall(), 200)
    one.do("recall", api.recall(known_at="2040-01-01T00:00:00Z"), 200)
    one.do("statistics", api.statistics(), 200)
    one.do("list_audit", api.audit(), 200)
    one.do("verify_audit", api.verify(), 200)
    one.do("list_erasures", api.send("GET", "/v1/erasures", query="scope=acme%2Falice"), 200)


def _transferring(one: Lived) -> None:
    api, where = one.api, f"scope={SCOPE.replace('/', '%2F')}"
    body = {"scope": SCOPE}
    for _ in range(2):
        job = one.do("export", api.send("POST", "/v1/export", body, idempotency_key="e"), 202)
    items = [{"memory": {}}]
    for _ in range(2):
        brought = api.send("POST", "/v1/import", {**body, "items": items}, idempotency_key="i")
        one.do("import", brought, 202)
    waiting = one.do("import", api.send("POST", "/v1/import", body), 202)
    one.do("import", api.send("POST", "/v1/import", {**body, "upload": waiting["id"]}), 400)
    one.do("import", api.send("POST", "/v1/import", {**body, "upload": job["id"]}), 404)
    one.do("job", api.send("GET", f"/v1/jobs/{job['id']}", query=where), 200)
    for _ in range(2):
        merging = one.do("consolidate", api.send("POST", "/v1/consolidate", body, idempotency_key="c"), 202)
    one.do("consolidate", api.send("POST", "/v1/consolidate", {**body, "undo": merging["id"]}), 202)
    one.do("consolidate", api.send("POST", "/v1/consolidate", {**body, "undo": f"job_{0:026d}"}), 404)


PAGE = Path(__file__).resolve().parents[2] / "docs" / "access-patterns.md"
BEGIN, END = "<!-- actions: python -m tests.isolation.lives -->\n", "<!-- end of actions -->\n"
ROLES = {f"{name}_role_arn": name for name in ("reader", "writer", "eraser", "carrier")}


def table(uses: dict[str, set[Use]]) -> str:
    """By call and role: the areas it reads, puts, deletes and checks."""
    lines = [
        "| call | role | BatchGetItem | Query | PutItem | DeleteItem | ConditionCheckItem |",
        "|---" * 7 + "|",
    ]
    for verb, used in uses.items():
        for role in sorted({use.role for use in used}):
            cells = [_areas(used, role, action) for action in ACTIONS]
            lines.append(f"| {verb} | {ROLES[role]} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


ACTIONS = ("BatchGetItem", "Query", "PutItem", "DeleteItem", "ConditionCheckItem")


def _areas(used: set[Use], role: str, action: str) -> str:
    return "".join(sorted({use.area for use in used if (use.role, use.action) == (role, action)}))


def page() -> str:
    """The page with the table as it is now."""
    text = PAGE.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}{table(live())}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page())
