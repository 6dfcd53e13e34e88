"""The next release goes out and comes back under traffic: nothing is lost, nobody is answered 5xx."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.deploy import CDK_OUT, deploy
from local.place import Place
from tests.isolation.builds import forget_bytecode
from tests.stack.test_rebuild import admin
from tests.support.stack import Stack, eventually

pytestmark = pytest.mark.stack

WRITERS = 2
# What the next release has that this one has not: another schema of memories, and a field of the head.
NEXT = {
    "unsay_core/domain/memory.py": ("SCHEMA = 1\n", "SCHEMA = 2\n"),
    "unsay_core/application/ledger.py": (
        "    usage: Usage | None = None\n",
        '    usage: Usage | None = None\n    season: str | None = "next"\n',
    ),
}


def next_release(folder: Path) -> Path:
    """The synthesized app as it would be with the next release's core layer."""
    made = folder / "cdk.out"
    shutil.copytree(CDK_OUT, made)
    assets = made / "unsay-dev.assets.json"
    digests = {each["displayName"]: key for key, each in json.loads(assets.read_text())["files"].items()}
    core = digests["Functions/Layers/Core/Code"]
    source = made / f"asset.{core}"
    for path, (old, new) in NEXT.items():
        (patched,) = source.rglob(path)
        text = patched.read_text()
        assert text.count(old) == 1, path
        patched.write_text(text.replace(old, new))
        forget_bytecode(patched)
    source.rename(made / f"asset.{core[::-1]}")
    template = made / "unsay-dev.template.json"
    for file in (assets, template, made / "manifest.json"):
        text = file.read_text()
        for digest in (core, digests["unsay-dev Template"]):
            text = text.replace(digest, digest[::-1])
        file.write_text(text)
    return made


@dataclass
class Traffic:
    """What callers were answered, and what they were told is stored."""

    statuses: Counter[int] = field(default_factory=Counter)
    stored: dict[str, tuple[str, str]] = field(default_factory=dict)  # id → scope, content
    bad: list[str] = field(default_factory=list)

    def answered(self, answer: httpx.Response) -> httpx.Response:
        self.statuses[answer.status_code] += 1
        if answer.status_code >= 400:
            self.bad.append(f"{answer.request.method} {answer.status_code} {answer.text}")
        return answer

    def write(self, client: httpx.Client, scope: str, number: int) -> None:
        content = f"Crate {number} of {scope.rpartition('/')[2]} holds {number * 7} lamps."
        made = self.answered(client.post("/v1/memories", json={"scope": scope, "content": content}))
        if made.status_code == 201:
            self.stored[made.json()["id"]] = (scope, content)
            self.answered(client.get(f"/v1/memories/{made.json()['id']}", params={"scope": scope}))
        asked = {"scope": scope, "query": content, "limit": 50, "deadline_ms": 10_000}  # a λ may be cold
        found = self.answered(client.post("/v1/recall", json=asked))
        contents = [i["memory"]["content"] for i in found.json().get("items", [])]
        if made.status_code == 201 and content not in contents:
            self.bad.append(f"a recall did not find {content!r}")


@contextmanager
def traffic_on(stack: Stack) -> Iterator[Traffic]:
    """Writers and readers, each in a scope of its own, until the block ends."""
    traffic, over = Traffic(), threading.Event()

    def run(name: str) -> None:
        with stack.client() as client:
            number = 0
            while not over.is_set():
                number += 1
                traffic.write(client, f"upgrades/{name}", number)

    threads = [threading.Thread(target=run, args=(f"w{n}",)) for n in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        yield traffic
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_a_release_goes_out_and_back_under_traffic(stack: Stack, tmp_path: Path):
    place = Place(int(stack.endpoint_url.rpartition(":")[2]), stack.state)
    following = next_release(tmp_path)
    with stack.client() as client:
        form = writes_form(client)
        try:
            with traffic_on(stack) as traffic:
                eventually(lambda: len(traffic.stored) > 5)
                assert form() == 1
                deploy(place, following)
                eventually(lambda: form() == 2)
                reached = len(traffic.stored)
                eventually(lambda: len(traffic.stored) > reached + 5)
                old = store_old_counter(stack)
                done = admin(stack, "migrate")
                assert done.returncode == 0, done.stderr
                assert old()["schema"] == {"N": "1"}, "a counter that did not say its form"
                assert re.search(r"1: count what each scope holds: \d+ scopes", done.stderr)
                deploy(place, CDK_OUT)
                eventually(lambda: form() == 1)
                reached = len(traffic.stored)
                eventually(lambda: len(traffic.stored) > reached + 5)
        finally:
            deploy(place, CDK_OUT)
        assert traffic.bad == []
        assert set(traffic.statuses) == {200, 201}
        schemas = set()
        for memory_id, (scope, content) in traffic.stored.items():
            memory = client.get(f"/v1/memories/{memory_id}", params={"scope": scope}).json()
            assert memory["content"] == content
            schemas.add(memory["schema"])
        assert schemas == {1, 2}, "written by both, read by the one that was there first"
        for scope in {scope for scope, _ in traffic.stored.values()}:
            verified = client.get("/v1/audit/verify", params={"scope": scope}).json()
            assert verified["ok"] is True
            eventually(lambda scope=scope: is_indexed(client, scope), within=120)


def store_old_counter(stack: Stack) -> Callable[[], dict[str, Any]]:
    """A counter as a release stored it that did not say its form; returns how to read it."""
    dynamodb, table = stack.aws("dynamodb"), stack.outputs["AccessTable"]
    key: Any = {"pk": {"S": "METER#upgrades"}, "sk": {"S": "tokens/2020-01-01"}}
    dynamodb.put_item(TableName=table, Item={**key, "n": {"N": "5"}})
    return lambda: dict(dynamodb.get_item(TableName=table, Key=key)["Item"])


def writes_form(client: httpx.Client) -> Callable[[], int]:
    """Asks which form of a memory the service writes just now."""
    numbers = iter(range(1_000_000))

    def look() -> int:
        body = {"scope": "upgrades/form", "content": f"Look number {next(numbers)}."}
        schema: int = client.post("/v1/memories", json=body).json()["schema"]
        return schema

    return look


def is_indexed(client: httpx.Client, scope: str) -> bool:
    found: dict = client.get("/v1/stats", params={"scope": scope}).json()
    return found["index"]["pending"] == 0
