"""One story of calls, told to any service: every verb, what it answers, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx

import unsay
from unsay.cli.show import as_json
from unsay_core.contracts import exact_json

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
TOLERANCE = 0.02  # of a score: recency runs on, and vectors are rounded in different places
_ID = re.compile(r"\b(?:mem|era|key|dlg|job|upl)_[0-9a-z]{26}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_DIGEST = re.compile(r"\b[a-z2-7]{52}\b|\b[0-9a-f]{32,64}\b|\b[0-9a-f]{16}(?=\.json)")
# What is another's on every run, and on every machine.
_OWN = frozenset(
    "took_ms request_id next_cursor secret location hash actor principal created_by decided_by"
    " url bytes sha256 parts".split()
)


class Told:
    """What a service answered, call by call, with its own names numbered."""

    def __init__(self, memory: Any, wait: Callable[[Callable[[], bool]], None]) -> None:
        self.memory = memory
        self.lines: list[tuple[str, Any]] = []
        self._wait = wait
        self._names: dict[str, str] = {}

    def ask(self, what: str, call: Callable[[Any], Any]) -> Any:
        """Make a call and keep what came of it."""
        try:
            found = call(self.memory)
        except unsay.ProblemError as refused:
            fields = [(error.path, error.message) for error in refused.errors]
            self.lines.append(
                (what, self._plain([type(refused).__name__, refused.status, refused.detail, fields]))
            )
            return None
        told = self._plain(exact_json.loads(as_json(found), max_depth=60))
        if what == "tombstones":  # which lie in the order of their digests
            told["items"].sort(key=exact_json.dumps)
        self.lines.append((what, told))
        return found

    def settle(self, scope: str) -> None:
        """Wait until the index owes nothing."""
        self._wait(lambda: self.memory.statistics(scope=scope).index.pending == 0)

    def over(self, what: str, job: Any, scope: str) -> None:
        """Wait for a job, and keep what came of it."""
        self._wait(lambda: self.memory.job(job.id, scope=scope).state in ("complete", "failed"))
        self.ask(what, lambda m: m.job(job.id, scope=scope))

    def until(self, look: Callable[[], bool]) -> None:
        """Wait for what happens in the background."""
        self._wait(look)

    def _plain(self, value: Any) -> Any:
        match value:
            case {"state": "pending" | "indexed", "at": _}:  # how far an index lags is nobody's answer
                return "<index>"
            case dict():
                return {
                    name: (member is not None) if name in _OWN else self._plain(member)
                    for name, member in value.items()
                }
            case list() | tuple():
                return [self._plain(member) for member in value if not _is_backup(member)]
            case str():
                value = _ID.sub(lambda found: self._name(found[0]), value)
                return _TIME.sub("<time>", _DIGEST.sub("<digest>", value))
            case _:
                return value

    def _name(self, own: str) -> str:
        return self._names.setdefault(own, f"<{own[:3]} {len(self._names)}>")


def _is_backup(member: Any) -> bool:
    """Of backups a receipt speaks where there are any."""
    return isinstance(member, dict) and member.get("store") == "backup"


def _recall(memory: Any, query: str, **named: Any) -> Any:
    """With time enough for a machine that is busy with other things."""
    return memory.recall(query, deadline_ms=10_000, **named)


def tell(told: Told, root: str) -> None:
    """The story, in scopes below a root that nobody has used."""
    home, chat = f"{root}/alice", f"{root}/chats/bob"
    _remembering(told, home)
    _recalling(told, home)
    _changing(told, home)
    _deciding(told, home)
    _conversing(told, root, chat)
    _carrying(told, home, f"{root}/carol")
    _taking_back(told, f"{root}/carol")
    _administering(told, root, home)
    for refusal in _refusals(home):
        told.ask("a refusal", refusal)


def _remembering(told: Told, home: str) -> None:
    told.ask("a scope that holds nothing", lambda m: _recall(m, "anything", scope=home))
    data = {"n": 1, "price": Decimal("1.10"), "deep": [{"a": None}]}
    told.ask(
        "everything stated",
        lambda m: m.remember(
            "Alice lives in Lisbon.",
            scope=home,
            key="home_city",
            tags=["profile", "place"],
            importance=0.8,
            data=data,
            metadata={"team": "red", "level": 3},
            valid_from=LONG_AGO,
            run_id="r-1",
            message_seqs=[1, 2],
            quote="I live in Lisbon",
        ),
    )
    told.ask(
        "the same again",
        lambda m: m.remember(
            "Alice  lives in Lisbon.",
            scope=home,
            key="home_city",
            tags=["profile", "place"],
            data=data,
            valid_from=LONG_AGO,
        ),
    )
    for text in (
        "Alice has a cat called Tofu.",
        "Alice is allergic to peanuts.",
        "Alice works as a nurse.",
        "アリスは緑茶が好きです。",
    ):
        told.ask("a plain one", lambda m, text=text: m.remember(text, scope=home))
    told.ask(
        "an item",
        lambda m: m.remember(
            "", scope=home, kind="item", key="Theme Color", path=["ui", "dark"], data={"v": 1}
        ),
    )
    told.ask(
        "in its place",
        lambda m: m.remember(
            "", scope=home, kind="item", key="Theme Color", path=["ui", "dark"], data={"v": 2}
        ),
    )
    for key, text in (
        ("tea", "Sencha is brewed at seventy degrees."),
        ("bike", "The bicycle has a red bell."),
    ):
        told.ask(
            "an item with words",
            lambda m, key=key, text=text: m.remember(
                text, scope=home, kind="item", key=key, path=["notes"], data={"n": 1.5}
            ),
        )
    told.ask(
        "a batch",
        lambda m: m.remember_batch(
            [
                {"content": "Alice plays the violin."},
                {"content": ""},
                {"content": "x", "valid_from": "2026-05-01"},
            ],
            scope=home,
        ),
    )
    told.ask("a credential", lambda m: m.remember("password: Abc123Abc123Abc123Abc1", scope=home))
    told.ask("once", lambda m: m.remember("Only once.", scope=home, idempotency_key="k"))
    told.ask("once more", lambda m: m.remember("Only once.", scope=home, idempotency_key="k"))
    told.ask("another under the same key", lambda m: m.remember("Not once.", scope=home, idempotency_key="k"))


def _recalling(told: Told, home: str) -> None:
    told.settle(home)
    for query in (
        "Where does Alice live?",
        "which pet does she have",
        "peanuts",
        "緑茶",
        "quantum chromodynamics",
        "",
    ):
        told.ask(f"recall {query!r}", lambda m, query=query: _recall(m, query, scope=home))
    told.ask(
        "a narrowed recall",
        lambda m: _recall(
            m, "Where does Alice live?", scope=home, tags=["profile"], filter={"eq": ["metadata.team", "red"]}
        ),
    )
    told.ask("a recall of items", lambda m: _recall(m, "", scope=home, kinds=["item"]))
    told.ask(
        "a recall of items by words",
        lambda m: _recall(m, "Which bell has the bicycle?", scope=home, kinds=["item"]),
    )
    told.ask("a prompt", lambda m: _recall(m, "Where does Alice live?", scope=home, format="prompt", limit=2))
    told.ask("two scopes", lambda m: _recall(m, "Where does Alice live?", scopes=[home, f"{home}/nobody"]))
    told.ask("a page", lambda m: m.list(scope=home, limit=3))
    told.ask("all of it", lambda m: m.list(scope=home, order="asc", limit=50))
    told.ask("by kind", lambda m: m.list(scope=home, kind="item"))


def _changing(told: Told, home: str) -> None:
    pet = told.ask("the pet", lambda m: m.list(scope=home, order="asc", limit=50)).items[1]
    told.ask("an edit", lambda m: m.edit(pet, tags=["pets"], importance=0.9))
    told.ask("a stale edit", lambda m: m.edit(pet, importance=0.1))
    pet = told.ask("as it is now", lambda m: m.get(pet.id, scope=home))
    dog = told.ask("a correction", lambda m: m.correct(pet, "Alice has a dog called Miso.", because="wrong"))
    told.ask("what it replaced", lambda m: m.get(pet.id, scope=home))
    told.ask("the wrong value", lambda m: m.remember("alice has a cat called TOFU", scope=home))
    home_city = told.ask("where", lambda m: m.list(scope=home, key="home_city")).items[0]
    told.ask("the world moved on", lambda m: m.correct(home_city, "Alice lives in Porto.", because="changed"))
    told.settle(home)
    told.ask("where now", lambda m: _recall(m, "Where does Alice live?", scope=home))
    told.ask(
        "where then",
        lambda m: _recall(m, "Where does Alice live?", scope=home, valid_at="2021-01-01T00:00:00Z"),
    )
    told.ask("a retraction", lambda m: m.retract(dog, reason="incorrect", note="never had one"))
    told.ask("a second retraction", lambda m: m.retract(dog, reason="incorrect"))
    job = told.ask("the job", lambda m: _recall(m, "nurse", scope=home)).items[0].memory
    gone = told.ask("a forget", lambda m: m.forget(job, reason="user_request"))
    told.ask("a second forget", lambda m: m.forget(job, reason="user_request"))
    told.ask("a forgotten id", lambda m: m.get(job.id, scope=home))
    told.ask("a forgotten value", lambda m: m.remember("Alice works as a nurse!", scope=home))
    told.until(lambda: told.memory.erasure(gone.id, scope=home).state == "complete")
    told.ask("the receipt", lambda m: m.erasure(gone.id, scope=home))
    told.ask("all receipts", lambda m: m.erasures(scope=home))
    for memory in (pet, dog, job):
        told.ask("a history", lambda m, memory=memory: m.history(memory.id, scope=home))
    beside = told.ask("beside", lambda m: m.remember("Alice rents a boat.", tags=["boat"], scope=home))
    many = {"filter": {"tags": ["boat"]}, "scope": home}
    told.ask("what would go", lambda m: m.would_forget(**many))
    went = told.ask("a forget of many", lambda m: m.forget_all(reason="user_request", **many))
    told.ask("gone at once", lambda m: m.get(beside))
    told.until(lambda: told.memory.erasure(went.id, scope=home).state == "complete")
    told.ask("its receipt", lambda m: m.erasure(went.id, scope=home))
    pruned = told.ask("nothing to prune", lambda m: m.prune(scope=home))
    told.until(lambda: told.memory.erasure(pruned.id, scope=home).state == "complete")


def _deciding(told: Told, home: str) -> None:
    doubted = told.ask(
        "a doubt", lambda m: m.dispute(m.list(scope=home, order="asc").items[1], reason="outdated")
    )
    told.ask("what waits", lambda m: m.reviews(scope=home, state="disputed"))
    told.ask("approved", lambda m: m.approve(doubted))
    second = told.ask("another doubt", lambda m: m.dispute(m.get(doubted.id, scope=home), reason="other"))
    told.ask("rejected", lambda m: m.reject(second, reason="incorrect"))
    stones = told.ask("tombstones", lambda m: m.tombstones(scope=home, limit=50))
    value = min((stone for stone in stones.items if stone.kind == "value"), key=lambda stone: stone.at)
    told.ask("lifted", lambda m: m.lift_tombstone(value, scope=home, reason="other"))
    told.ask("the audit", lambda m: m.audit(scope=home, limit=100))
    told.settle(home)
    told.ask("the chain", lambda m: m.verify_audit(scope=home))
    told.ask("counted", lambda m: m.statistics(scope=home))


def _conversing(told: Told, root: str, chat: str) -> None:
    said = [
        {"seq": 0, "role": "user", "content": "I moved to Oslo in March. My sister is called Ingrid."},
        {"seq": 1, "role": "assistant", "content": "Noted."},
        {"seq": 2, "role": "user", "content": "Do I like tea?"},
    ]
    told.ask("a policy", lambda m: m.policy(scope=root))
    told.ask("set", lambda m: m.set_policy(scope=root, cadence={"user_turns": 3}))
    told.ask("said", lambda m: m.converse("run-1", said, scope=chat))
    told.ask("said again", lambda m: m.converse("run-1", said, scope=chat))
    told.ask("other words", lambda m: m.converse("run-1", [{**said[0], "content": "No."}], scope=chat))
    told.ask("flushed", lambda m: m.flush("run-1", scope=chat))
    told.until(lambda: told.memory.conversation("run-1", scope=chat).extracted_through == 2)
    told.ask("the conversation", lambda m: m.conversation("run-1", scope=chat))
    told.ask("conversations", lambda m: m.conversations(scope=chat))
    told.settle(chat)
    told.ask("what it led to", lambda m: m.list(scope=chat, order="asc"))
    told.ask("nothing to retry", lambda m: m.retry("run-1", scope=chat))
    _handing_in(told, chat)


def _handing_in(told: Told, chat: str) -> None:
    """A transcript as a file."""
    said = ({"seq": n, "role": "user", "content": f"I own {n} boats in Bergen."} for n in (2, 3))
    there = told.ask("where a file goes", lambda m: m.upload("run-2", scope=chat))
    put(there, "\n".join(map(exact_json.dumps, said)).encode())
    told.until(lambda: told.memory.conversation("run-2", scope=chat).extracted_through == 3)
    told.ask("what was in the file", lambda m: m.conversation("run-2", scope=chat))
    told.settle(chat)
    told.ask("what the file led to", lambda m: m.list(scope=chat, order="asc"))


def put(there: unsay.UploadOut, file: bytes) -> None:
    """Hand a file in, whole: under another name until all of it is written."""
    parts = urlsplit(there.url)
    if parts.scheme == "file":
        path = Path(url2pathname(parts.path))
        path.with_suffix(".part").write_bytes(file)
        path.with_suffix(".part").rename(path)
    else:
        sent = httpx.request(there.method, there.url, content=file, headers=there.headers, timeout=60)
        sent.raise_for_status()


def _carrying(told: Told, home: str, other: str) -> None:
    """Out of one scope and into another, where one of them is not wanted."""
    export = told.ask("an export", lambda m: m.export(scope=home, include=["active", "history"]))
    told.over("exported", export, home)
    gone = told.ask("in the way", lambda m: m.remember("Carol has an owl.", scope=other))
    told.ask("taken back", lambda m: m.forget(gone, reason="user_request"))
    lines = [_line(n, content) for n, content in enumerate(_BROUGHT)]
    brought = told.ask("an import", lambda m: m.bring(lines, scope=other))
    told.over("imported", brought, other)
    again = told.ask("the same import", lambda m: m.bring(lines, scope=other))
    told.over("imported again", again, other)
    told.settle(other)
    told.ask("what came in", lambda m: m.list(scope=other, order="asc"))
    told.ask("recall of what came in", lambda m: _recall(m, "Which bird does Carol feed?", scope=other))
    told.ask("no such import", lambda m: m.start_import(f"job_{0:026d}", scope=other))


def _taking_back(told: Told, other: str) -> None:
    """Merges, and forgets of what is selected."""
    dry = told.ask("a dry run", lambda m: m.consolidate(scope=other, threshold=0.8, dry_run=True))
    told.over("what would be merged", dry, other)
    merging = told.ask("a consolidation", lambda m: m.consolidate(scope=other, threshold=0.8))
    told.over("merged", merging, other)
    undoing = told.ask("its undoing", lambda m: m.consolidate(scope=other, undo=merging.id))
    told.over("undone", undoing, other)
    nothing = told.ask("of nothing", lambda m: m.consolidate(scope=f"{other}/nobody"))
    told.over("nothing merged", nothing, f"{other}/nobody")
    birds = {"filter": {"tags": ["bird"]}}
    told.ask("would be forgotten", lambda m: m.would_forget(scope=other, **birds))
    receipt = told.ask("all of them", lambda m: m.forget_all(scope=other, reason="user_request", **birds))
    told.until(lambda: told.memory.erasure(receipt.id, scope=other).state == "complete")
    told.ask("the receipt of all", lambda m: m.erasure(receipt.id, scope=other))
    told.ask("what is left", lambda m: m.list(scope=other, order="asc"))
    told.ask("not again", lambda m: m.remember(_BROUGHT[0], scope=other))
    pruning = told.ask("pruned", lambda m: m.prune(scope=other))
    told.until(lambda: told.memory.erasure(pruning.id, scope=other).state == "complete")
    everything = {"all": True, "confirm": "another", "reason": "other"}
    told.ask("nobody is confirmed", lambda m: m.forget_all(scope=other, **everything))
    told.settle(other)
    told.ask("the chain of the other", lambda m: m.verify_audit(scope=other))


_BROUGHT = (
    "Carol feeds a heron by the river every day.",
    "Carol feeds a heron by the river every single day.",
    "Carol owns a bicycle.",
    "carol has an owl",
)


def _line(number: int, content: str) -> dict[str, Any]:
    """A line as an export writes it."""
    at = "2026-01-05T00:00:00.000000Z"
    return {
        "memory": {
            "id": f"mem_01h0000000000000000000000{number}",
            "content": content,
            "kind": "semantic",
            "key": None,
            "path": [],
            "tags": ["bird"] if "heron" in content else [],
            "importance": Decimal("0.5"),
            "data": None,
            "metadata": {},
            "valid_from": at,
            "status": "active",
            "trust": "asserted",
            "recorded_at": at,
            "updated_at": at,
            "source": {"channel": "import", "actor": "another"},
        }
    }


def _administering(told: Told, root: str, home: str) -> None:
    key = told.ask("a key", lambda m: m.make_key("shop", kind="agent", grants={f"{root}/*": ["read"]}))
    told.ask("revoked", lambda m: m.revoke_key(key.id))
    told.ask("a delegation", lambda m: m.delegate(["read"], ttl_seconds=60, scope=home))
    told.until(lambda: len(told.memory.scopes(prefix=root).items) == 3)
    told.ask("scopes", lambda m: m.scopes(prefix=root))


def _refusals(home: str) -> Iterator[Callable[[Any], Any]]:
    yield lambda m: m.list(scope="a/")
    yield lambda m: m.list(scope=home, limit=0)
    yield lambda m: m.list(scope=home, cursor="x")
    yield lambda m: m.remember("x", scope=home, valid_from="2026-05-01T09:30:00")
    yield lambda m: m.remember("x", scope=home, metadata={"_x": 1})
    yield lambda m: m.remember("x" * 20_000, scope=home)
    yield lambda m: m.get("mem_01j0000000000000000000000a", scope=home)
    yield lambda m: m.correct("mem_01j0000000000000000000000a", "x", because="wrong", scope=home)
    yield lambda m: _recall(m, "x", scope=home, filter={"like": ["kind", "x"]})
    yield lambda m: _recall(m, "x", scopes=[])
    yield lambda m: m.make_key("password: Abc123Abc123Abc123Abc1", kind="agent", grants={"a": ["read"]})
    yield lambda m: m.delegate(["admin"], ttl_seconds=60)


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Where two tellings part; numbers may differ by a little, where they are scores."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = one.keys() | other.keys()
        return [d for n in sorted(names) for d in differences(one.get(n), other.get(n), f"{where}.{n}")]
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        return [
            d
            for at, (a, b) in enumerate(zip(one, other, strict=True))
            for d in differences(a, b, f"{where}[{at}]")
        ]
    if isinstance(one, Decimal | float) and isinstance(other, Decimal | float) and "score" in where:
        return [] if abs(float(one) - float(other)) <= TOLERANCE else [f"{where}: {one} and {other}"]
    return [] if one == other and type(one) is type(other) else [f"{where}: {one!r} and {other!r}"]
