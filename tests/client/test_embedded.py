"""A service in this process: what its file is, who may open it, and what becomes of it."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import unsay
from tests.client.story import put
from tests.support.clock import FakeClock, fake_world
from tests.support.stack import eventually
from unsay.embedded import unreadable_in
from unsay_core.adapters.sqlite import schema
from unsay_core.application.consolidate import Consolidate, begin_consolidation
from unsay_core.application.conversations import Said, record
from unsay_core.application.ledger import Area, job_ref
from unsay_core.application.ports import World
from unsay_core.application.remember import Remember, remember
from unsay_core.bootstrap.chores import Chores
from unsay_core.bootstrap.embedded import OWNER, EmbeddedService
from unsay_core.domain.memory import Fact
from unsay_core.domain.scope import Scope
from unsay_core.extraction.conversation import UPLOAD_BYTES, Role
from unsay_core.extraction.likeness import Measure
from unsay_core.extraction.steering import Steering

SCOPE = "acme/users/alice"
LISBON, TOFU = "Alice lives in Lisbon.", "Alice has a cat called Tofu."


class Letters:
    """An embedder of one's own: how often each letter of a text is there."""

    def __init__(self, name: str = "letters-1") -> None:
        self.name = name
        self.asked = 0

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += len(texts)
        return [[float(text.lower().count(chr(97 + n))) for n in range(26)] for text in texts]


class Broken:
    name = "broken-1"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise RuntimeError("out of order")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/memory.db"


@pytest.fixture
def opened(url: str) -> Iterator[Callable[..., unsay.Memory]]:
    """Opens the file, as often as one likes."""
    memories: list[unsay.Memory] = []

    def one(**given: object) -> unsay.Memory:
        memories.append(unsay.connect(url, **{"embedder": None, **given}))
        return memories[-1]

    yield one
    for memory in memories:
        memory.close()


def test_what_was_remembered_is_there_when_the_file_is_opened_again(
    opened: Callable[..., unsay.Memory],
) -> None:
    with opened() as memory:
        home = memory.remember(LISBON, scope=SCOPE, key="home_city")
    with opened() as memory:
        assert memory.get(home).content == LISBON
        assert memory.recall("Where does Alice live?", scope=SCOPE).items[0].memory.id == home.id
        assert memory.scopes().items == [SCOPE]
        assert memory.verify_audit(scope=SCOPE).ok


def test_the_files_are_their_owners_alone(opened: Callable[..., unsay.Memory], tmp_path: Path) -> None:
    opened().remember(LISBON, scope=SCOPE)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert {"memory.db", "memory.db.anchors"} <= modes.keys()
    assert set(modes.values()) == {0o600}


def test_a_file_that_is_gone_from_beside_its_anchors_is_not_begun_anew(url: str, tmp_path: Path) -> None:
    with unsay.connect(url) as memory:
        memory.remember(LISBON, scope=SCOPE)
    kept = {path: path.read_bytes() for path in tmp_path.glob("memory.db*") if path.is_file()}
    for left in (b"", None):
        for path in kept.keys() - {tmp_path / "memory.db.anchors"}:
            path.unlink()
        if left is not None:
            (tmp_path / "memory.db").write_bytes(left)
        with pytest.raises(unsay.StoreError, match="anchors of another"):
            unsay.connect(url)
    for path, content in kept.items():
        path.write_bytes(content)
    with unsay.connect(url) as memory:
        assert memory.verify_audit(scope=SCOPE).ok, "the control"
    (tmp_path / "memory.db.anchors").write_bytes(b"\xff\xfe")
    with pytest.raises(unsay.StoreError, match="anchors are damaged"):
        unsay.connect(url)


def test_a_link_is_refused_as_the_file_and_as_its_anchors(url: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("precious")
    (tmp_path / "memory.db").symlink_to(elsewhere)
    with pytest.raises(unsay.StoreError):
        unsay.connect(url)
    (tmp_path / "memory.db").unlink()
    (tmp_path / "memory.db.anchors").symlink_to(elsewhere)
    with pytest.raises(unsay.StoreError):
        unsay.connect(url)
    assert elsewhere.read_text() == "precious"


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be one" * 50, None])
def test_a_file_of_another_program_is_refused_and_left_alone(
    url: str, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "memory.db"
    if content is None:
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE theirs (x)")
        other.close()
        content = path.read_bytes()
    else:
        path.write_bytes(content)
    with pytest.raises(unsay.StoreError):
        unsay.connect(url)
    assert path.read_bytes() == content


# Files of version 2 were written without the column, and with it.
COLUMN = (
    "ALTER TABLE entry ADD COLUMN due TEXT",
    "CREATE INDEX due ON entry (area, due) WHERE due IS NOT NULL",
)


@pytest.mark.parametrize(("version", "also"), [(1, ()), (2, ()), (2, COLUMN)])
def test_a_file_of_an_older_version_opens_and_goes_on(
    opened: Callable[..., unsay.Memory],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: int,
    also: Sequence[str],
) -> None:
    steps = schema.MIGRATIONS
    with monkeypatch.context() as old:
        old.setattr(schema, "MIGRATIONS", steps[:version])
        connection = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
        schema.migrate(connection)
        for statement in also:
            connection.execute(statement)
        connection.close()
    memory = opened()
    made = memory.remember(LISBON, scope=SCOPE, ttl_seconds=3600)
    assert memory.get(made).content == LISBON
    with sqlite3.connect(tmp_path / "memory.db") as look:
        assert look.execute("PRAGMA user_version").fetchone() == (len(steps),)
        assert ("M",) in look.execute("SELECT area FROM entry WHERE due IS NOT NULL").fetchall()
    look.close()


@pytest.mark.parametrize(
    "wrong", ["sqlite://memory.db", "sqlite:///", "sqlite:///:memory:", "sqlite:///a?b=1", "memory://name"]
)
def test_what_is_not_a_place_of_a_store_is_said_so(wrong: str) -> None:
    with pytest.raises(ValueError, match="sqlite:///"):
        unsay.connect(wrong)


def test_a_place_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(unsay.StoreError, match="nowhere"):
        unsay.connect(f"sqlite:///{tmp_path}/nowhere/memory.db")


def test_a_service_at_a_url_wants_a_key() -> None:
    with pytest.raises(ValueError, match="token"):
        unsay.connect("https://x.example")


def test_what_is_in_memory_alone_is_gone_with_it() -> None:
    with unsay.connect("memory://", embedder=None) as memory:
        memory.remember(LISBON, scope=SCOPE)
        assert memory.scopes().items == [SCOPE]
    with unsay.connect("memory://", embedder=None) as another:
        assert another.scopes().items == []


def test_a_key_does_no_more_in_a_file_than_it_may(opened: Callable[..., unsay.Memory]) -> None:
    owner = opened()
    owner.remember(LISBON, scope=SCOPE)
    made = owner.make_key("reader", kind="agent", grants={"acme/*": ["read"]})
    reader = opened(token=made.secret)
    assert [found.content for found in reader.list(scope=SCOPE).items] == [LISBON]
    for call in (lambda: reader.remember(TOFU, scope=SCOPE), lambda: reader.list(scope="other")):
        with pytest.raises(unsay.ForbiddenError):
            call()
    lent = opened(token=owner.delegate(["read"], ttl_seconds=60, scope=SCOPE).secret)
    assert len(lent.list(scope=SCOPE).items) == 1
    owner.revoke_key(made.id)
    with pytest.raises(unsay.ForbiddenError):
        reader.list(scope=SCOPE)
    with pytest.raises(unsay.ForbiddenError):
        opened(token="unsay_nobody").list(scope=SCOPE)


def test_without_a_model_recall_goes_by_words_and_says_so(opened: Callable[..., unsay.Memory]) -> None:
    memory = opened()
    memory.remember(LISBON, scope=SCOPE)
    found = memory.recall("Who lives in Lisbon?", scope=SCOPE)
    assert (found.items[0].memory.content, found.items[0].scores.semantic) == (LISBON, None)
    assert "lexical_only" in found.reasons
    with_model = opened(embedder=Letters()).recall("Who lives in Lisbon?", scope=SCOPE)
    assert "lexical_only" not in with_model.reasons, "the control"


def test_vectors_are_made_up_for_and_made_anew_for_another_model(opened: Callable[..., unsay.Memory]) -> None:
    opened().remember(LISBON, scope=SCOPE)

    def nearness(embedder: Letters) -> object:
        memory = opened(embedder=embedder)
        memory.sweep()
        return memory.recall("Lisbon", scope=SCOPE).items[0].scores.semantic

    first, second = Letters(), Letters("letters-2")
    assert nearness(first) is not None
    assert nearness(second) is not None
    assert (first.asked, second.asked) == (2, 2)
    again = Letters("letters-2")
    assert nearness(again) is not None
    assert again.asked == 1, "the question alone"


def test_a_model_that_fails_holds_up_nothing_and_is_tried_again(opened: Callable[..., unsay.Memory]) -> None:
    opened(embedder=Letters(Broken.name)).remember(TOFU, scope=SCOPE)
    memory = opened(embedder=Broken())
    home = memory.remember(LISBON, scope=SCOPE)
    found = memory.recall("Lisbon", scope=SCOPE)
    assert found.items[0].memory.id == home.id
    assert "embedder_unavailable" in found.reasons
    assert memory.get(home).index.state == "pending"
    mended = opened(embedder=Letters())
    mended.sweep()
    assert mended.get(home).index.state == "indexed"


def test_what_was_forgotten_lies_in_no_file(opened: Callable[..., unsay.Memory], tmp_path: Path) -> None:
    memory = opened(embedder=Letters())
    memory.remember("Alice plays the xylophone.", scope=SCOPE)
    kept = memory.remember("Alice plays the vibraphone.", scope=SCOPE)

    def somewhere(word: bytes) -> bool:
        return any(word in path.read_bytes() for path in tmp_path.iterdir())

    assert somewhere(b"xylophone")
    gone = memory.recall("xylophone", scope=SCOPE).items[0].memory
    receipt = memory.forget(gone, reason="user_request")
    assert memory.erasure(receipt.id, scope=SCOPE).state == "complete"
    assert not somewhere(b"xylophone")
    assert somewhere(b"vibraphone"), "the control"
    with sqlite3.connect(tmp_path / "memory.db") as look:
        assert look.execute("SELECT id FROM vector").fetchall() == [(kept.id,)]
    look.close()


def test_no_thread_is_left_behind() -> None:
    before = set(threading.enumerate())
    with unsay.connect("memory://", embedder=Letters()) as memory:
        memory.remember(LISBON, scope=SCOPE)
        assert memory.recall("Lisbon", scope=SCOPE).items
    assert set(threading.enumerate()) <= before


def test_the_awaited_client_opens_the_same_file(url: str, opened: Callable[..., unsay.Memory]) -> None:
    home = opened().remember(LISBON, scope=SCOPE)

    async def look() -> unsay.MemoryOut:
        async with unsay.connect_async(url, embedder=None) as memory:
            await memory.sweep()
            return await memory.get(home)

    assert asyncio.run(look()).content == LISBON


def opened_events(opened: Callable[..., unsay.Memory]) -> list[str]:
    with opened() as memory:
        return [event.event for event in memory.audit(scope=SCOPE).items]


def test_what_has_expired_is_swept_when_the_file_is_opened(
    opened: Callable[..., unsay.Memory], tmp_path: Path
) -> None:
    with opened(embedder=Letters()) as memory:
        soon = memory.remember(TOFU, scope=SCOPE, ttl_seconds=1)
        kept = memory.remember(LISBON, scope=SCOPE, ttl_seconds=3600)
    eventually(lambda: "memory.expired" in opened_events(opened))
    with opened(embedder=Letters()) as memory:
        memory.sweep()
        assert memory.get(soon).status == "expired"
        assert [found.id for found in memory.list(scope=SCOPE).items] == [kept.id]
    with sqlite3.connect(tmp_path / "memory.db") as look:
        assert look.execute("SELECT id FROM vector").fetchall() == [(kept.id,)]
    look.close()


WRITER = """
import sys
import unsay
url, name = sys.argv[1:]
with unsay.connect(url, embedder=None) as memory:
    for number in range(15):
        memory.remember(f"Writer {name} says {number}.", scope="acme/shared")
    memory.forget(memory.remember(f"Writer {name} errs.", scope="acme/shared"), reason="test")
"""


def test_several_processes_write_one_file(url: str, opened: Callable[..., unsay.Memory]) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, url, str(n)], env=dict(os.environ)) for n in range(3)
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    memory = opened()
    memory.sweep()
    walked = memory.verify_audit(scope="acme/shared")
    assert (walked.ok, walked.complete, walked.anchored.seq) == (True, True, walked.length)
    contents = {found.content for found in unsay.every(memory.list, scope="acme/shared")}
    assert contents == {f"Writer {n} says {number}." for n in range(3) for number in range(15)}
    assert memory.statistics(scope="acme/shared").index.pending == 0


def test_a_chain_that_was_mended_is_told_by_the_anchors(
    url: str, opened: Callable[..., unsay.Memory], tmp_path: Path
) -> None:
    with opened() as memory:
        memory.remember(LISBON, scope=SCOPE)
    before = (tmp_path / "memory.db").read_bytes()
    with opened() as memory:
        memory.remember(TOFU, scope=SCOPE)
        assert memory.verify_audit(scope=SCOPE).ok, "the control"
    (tmp_path / "memory.db").write_bytes(before)
    with opened() as memory:
        memory.remember("Alice has a dog.", scope=SCOPE)
        walked = memory.verify_audit(scope=SCOPE)
    assert (walked.ok, walked.first_bad) == (False, 2)


def test_a_transcript_is_handed_in_as_a_file_that_goes_once_it_was_read(
    opened: Callable[..., unsay.Memory], tmp_path: Path
) -> None:
    memory = opened()
    there = memory.upload("run-1", scope=SCOPE)
    assert memory.conversation("run-1", scope=SCOPE).uploads[0].state == "expected"
    put(there, b'{"seq": 1, "role": "user", "content": "I live in Lisbon."}\n')
    assert [item.content for item in memory.list(scope=SCOPE).items] == ["I live in Lisbon."]
    assert memory.conversation("run-1", scope=SCOPE).uploads[0].state == "done"
    intake = tmp_path / "memory.db.intake"
    assert [path for path in intake.rglob("*") if path.is_file()] == []
    assert {stat.S_IMODE(path.stat().st_mode) for path in (intake, *intake.iterdir())} == {0o700}


@pytest.mark.parametrize(
    ("file", "why"),
    [(b'{"a walrus"', "line 1 is not a message"), (b"", "empty"), (b"x" * (UPLOAD_BYTES + 1), "too_large")],
)
def test_a_file_that_is_no_transcript_has_failed_and_goes_after_a_week(
    file: bytes, why: str, tmp_path: Path
) -> None:
    memory = unsay.connect(f"sqlite:///{tmp_path}/memory.db", embedder=None)
    there = memory.upload("run-1", scope=SCOPE)
    put(there, file)
    for _ in range(2):
        (upload,) = memory.conversation("run-1", scope=SCOPE).uploads
        assert (upload.state, upload.error) == ("failed", why)
    memory.close()
    (kept,) = (path for path in (tmp_path / "memory.db.intake").rglob("*.jsonl"))
    for days, is_there in ((6, True), (8, False)):
        at = time.time() - days * 86_400
        os.utime(kept, (at, at))
        with unsay.connect(f"sqlite:///{tmp_path}/memory.db", embedder=None) as again:
            again.scopes()
        assert kept.exists() is is_there


def test_a_file_that_leads_elsewhere_is_not_read_and_one_nobody_expects_is_removed(
    opened: Callable[..., unsay.Memory], tmp_path: Path
) -> None:
    memory = opened()
    (tmp_path / "other").write_text('{"seq": 1, "role": "user", "content": "I live in Lisbon."}')
    path = Path(urlsplit(memory.upload("run-1", scope=SCOPE).url).path)
    path.symlink_to(tmp_path / "other")
    assert memory.conversation("run-1", scope=SCOPE).uploads[0].error == "missing"
    there = memory.upload("run-2", scope=SCOPE)
    memory.forget_all(run_id="run-2", reason="user_request", scope=SCOPE)
    put(there, (tmp_path / "other").read_bytes())
    assert memory.list(scope=SCOPE).items == []
    assert not Path(urlsplit(there.url).path).exists()


def world_of_its_own(clock: FakeClock) -> World:
    """A service that closes shuts its world's threads; the other tests go on with theirs."""
    return replace(fake_world(clock), executor=ThreadPoolExecutor(2))


def test_what_has_gone_quiet_is_extracted_by_a_sweep(tmp_path: Path) -> None:
    for path in (None, tmp_path / "memory.db"):
        clock = FakeClock()
        service = EmbeddedService(path, None, world_of_its_own(clock))
        here = service.opened(OWNER, Scope.parse(SCOPE))
        said = Said(1, Role.USER, "I live in Lisbon.", b"1")
        record("run-1", [said], Steering(), here, service.world, flush=False)
        chores = Chores(service)
        chores.sweep()
        assert here.ledger.page(Area.MEMORY, limit=9) == []
        clock.sleep(1_801)
        chores.sweep()
        (memory,) = here.ledger.page(Area.MEMORY, limit=9)
        assert memory.fact.content == "I live in Lisbon."  # type: ignore[union-attr]
        service.close()


def test_a_consolidation_is_done_in_this_process(tmp_path: Path) -> None:
    service = EmbeddedService(tmp_path / "memory.db", None, world_of_its_own(FakeClock()))
    here = service.opened(OWNER, Scope.parse(SCOPE))
    for content in ("Alice likes green tea a lot.", "Alice likes green tea a lot now."):
        remember(Remember(Fact(content)), here, service.world)
    job, _ = begin_consolidation(Consolidate(Measure(0.8)), here, service.world)
    Chores(service).run()
    ended = here.ledger.read([job_ref(job.id)]).get(job_ref(job.id))
    assert ended is not None and ended.is_over and ended.result["merged"] == 2
    service.close()


def test_half_a_character_and_a_bottomless_body_are_the_clients_own_errors() -> None:
    bottomless: list[object] = []
    for _ in range(3_000):
        bottomless = [bottomless]
    with unsay.connect("memory://", embedder=None) as memory:
        with pytest.raises(unsay.InvalidRequestError, match="content: half of a surrogate pair"):
            memory.remember("a\ud800", scope=SCOPE)
        with pytest.raises(unsay.InvalidRequestError, match="UTF-8"):
            memory.list(scope=SCOPE, tag="a\ud800")
        for call in (lambda s: memory.remember(LISBON, scope=s), lambda s: memory.list(scope=s)):
            with pytest.raises(unsay.InvalidScopeError):
                call("a\ud800")
        with pytest.raises(unsay.InvalidRequestError, match="nested"):
            memory.remember(LISBON, scope=SCOPE, data=bottomless)
        assert memory.list(scope=SCOPE).items == []


def test_a_job_is_done_when_its_call_is_answered(opened: Callable[..., unsay.Memory]) -> None:
    memory = opened()
    memory.remember(LISBON, scope=SCOPE)
    begun = memory.consolidate(scope=SCOPE)
    looked = memory.job(begun.id, scope=SCOPE)
    assert (looked.id, looked.kind, looked.state) == (begun.id, "consolidate", "complete")
    with pytest.raises(unsay.NotFoundError):
        memory.job("job_01jabcdefghjkmnpqrstvwxyz0", scope=SCOPE)


def exported(memory: unsay.Memory, **named: object) -> list[dict[str, object]]:
    """What an export of the scope wrote."""
    job = memory.job(memory.export(scope=SCOPE, **named).id, scope=SCOPE)
    assert job.state == "complete"
    parts = [Path(urlsplit(part["url"]).path) for part in job.result["parts"]]
    return [json.loads(line) for part in parts for line in part.read_text().splitlines()]


def test_memories_leave_a_store_and_come_into_another_but_for_what_was_taken_back_there(
    opened: Callable[..., unsay.Memory],
) -> None:
    memory = opened()
    for content in (LISBON, TOFU):
        memory.remember(content, scope=SCOPE)
    lines = exported(memory)
    assert [line["memory"]["content"] for line in lines] == [LISBON, TOFU]
    with unsay.connect("memory://", embedder=None) as another:
        another.forget(another.remember("alice has a cat called tofu", scope=SCOPE), reason="user_request")
        job = another.job(another.bring(lines, scope=SCOPE).id, scope=SCOPE)
        assert (job.state, job.result) == ("complete", {"imported": 1, "refused": {"tombstoned": 1}})
        assert [each.content for each in another.list(scope=SCOPE).items] == [LISBON]
        again = another.job(another.bring(lines, scope=SCOPE).id, scope=SCOPE)
        assert again.result == {"skipped": 1, "refused": {"tombstoned": 1}}


def test_a_forget_removes_the_files_of_earlier_exports_and_a_day_does(
    opened: Callable[..., unsay.Memory], tmp_path: Path
) -> None:
    memory = opened()
    home, cat = (memory.remember(content, scope=SCOPE) for content in (LISBON, TOFU))

    def files() -> list[Path]:
        return [path for path in (tmp_path / "memory.db.transfers").rglob("*") if path.is_file()]

    exported(memory)
    memory.edit(cat, tags=["pets"])
    assert any(LISBON in path.read_text() for path in files()), "the control"
    memory.forget(home, reason="user_request")
    assert files() == []
    exported(memory)
    for path in files():
        os.utime(path, (0, 0))
    memory.sweep()
    assert files() == []


class Finder:
    """A model of one's own: what it answers is set, and what it is asked is kept."""

    name = "finder-1"

    def __init__(self, *answers: object) -> None:
        self.answers = [*answers]
        self.asked: list[tuple[str, str, Mapping[str, object]]] = []

    def ask(self, system: str, text: str, schema: Mapping[str, object]) -> object:
        self.asked.append((system, text, schema))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def found(quote: str, content: str) -> dict[str, object]:
    return {"facts": [{"message": 1, "quote": quote, "content": content, "stance": "stated"}]}


def test_a_model_of_ones_own_extracts_and_is_believed_no_more_than_another(
    opened: Callable[..., unsay.Memory],
) -> None:
    said = [{"seq": 0, "role": "user", "content": "There is a cat, Tofu, at home."}]
    good, made_up = found("a cat, Tofu", "There is a cat, Tofu."), found("a dog, Rex", "There is a dog, Rex.")
    model = Finder(good, made_up, json.dumps(good))
    memory = opened(extractor=model)
    for run in ("run-1", "run-2", "run-3"):
        memory.converse(run, said, scope=SCOPE, flush=True)
    (fact,) = memory.list(scope=SCOPE).items
    assert fact.content == "There is a cat, Tofu."
    assert fact.source.model.startswith("finder-1 ")
    assert fact.trust == "inferred", "as whatever a model has put into words"
    (batch,) = memory.conversation("run-2", scope=SCOPE).batches
    assert [dropped.reason for dropped in batch.dropped] == ["quote_not_found"]
    assert memory.conversation("run-3", scope=SCOPE).batches[0].merged == [fact.id], "said as text"
    system, text, schema = model.asked[0]
    assert "worth remembering" in system
    assert "Tofu" in text
    assert schema["required"] == ["facts"]


def test_a_model_of_ones_own_words_what_is_merged_where_the_policy_wants_it(
    opened: Callable[..., unsay.Memory],
) -> None:
    both = "Alice likes green tea a lot in Lisbon."
    model = Finder({"content": both})
    memory = opened(extractor=model)
    memory.set_policy(scope="acme", consolidation={"text": "model"})
    for content in ("Alice likes green tea a lot.", "Alice likes tea a lot in Lisbon."):
        memory.remember(content, scope=SCOPE)
    memory.consolidate(scope=SCOPE, threshold=0.6)
    (merged,) = memory.list(scope=SCOPE).items
    assert (merged.content, merged.source.model) == (both, "finder-1 merge prompt 1")
    plain, there = opened(), "acme/users/plain"
    for content in ("Alice likes green tea a lot.", "Alice likes tea a lot in Lisbon."):
        plain.remember(content, scope=there)
    plain.consolidate(scope=there, threshold=0.6)
    (merged,) = plain.list(scope=there).items
    assert merged.content == "Alice likes tea a lot in Lisbon.", "the rule words nothing"


def test_what_a_model_of_ones_own_raises_is_told_without_a_word_and_the_batch_comes_again(
    opened: Callable[..., unsay.Memory], caplog: pytest.LogCaptureFixture
) -> None:
    model = Finder(RuntimeError("a private word"), found("a cat, Tofu", "There is a cat, Tofu."))
    memory = opened(extractor=model)
    said = [{"seq": 0, "role": "user", "content": "There is a cat, Tofu, at home."}]
    memory.converse("run-1", said, scope=SCOPE, flush=True)
    (batch,) = memory.conversation("run-1", scope=SCOPE).batches
    assert (batch.state, batch.error) == ("queued", "model_failed")
    assert memory.list(scope=SCOPE).items == []
    memory.retry("run-1", scope=SCOPE)
    assert [each.content for each in memory.list(scope=SCOPE).items] == ["There is a cat, Tofu."]
    assert "private" not in caplog.text


def test_a_receipt_speaks_of_no_backup_where_there_is_none(opened: Callable[..., unsay.Memory]) -> None:
    memory = opened()
    receipt = memory.forget(memory.remember(LISBON, scope=SCOPE), reason="user_request")
    for told in (receipt, memory.erasure(receipt.id, scope=SCOPE), memory.erasures(scope=SCOPE).items[0]):
        assert [store.store for store in told.stores] == [*"ledger document index transfers intake".split()]


def test_a_call_after_closing_is_said_so(url: str) -> None:
    memory, another = unsay.connect(url, embedder=None), unsay.connect("https://x.example", token="t")
    for each in (memory, another):
        each.close()
        each.close()
        for call in (lambda m: m.list(scope=SCOPE), lambda m: m.remember(LISBON, scope=SCOPE)):
            with pytest.raises(unsay.ClosedError, match="connect"):
                call(each)

    async def late() -> None:
        third = unsay.connect_async(url, embedder=None)
        await third.list(scope=SCOPE)
        await third.close()
        await third.list(scope=SCOPE)

    with pytest.raises(unsay.ClosedError):
        asyncio.run(late())


@pytest.fixture
def full(opened: Callable[..., unsay.Memory], tmp_path: Path) -> Path:
    """A file with a few pages of memories in it."""
    with opened() as memory:
        memory.remember_batch([{"content": f"walrus {n} " * 80} for n in range(25)], scope=SCOPE)
    return tmp_path / "memory.db"


@pytest.mark.parametrize("kept", [100, 5_000, 0.5])
def test_a_file_that_was_cut_off_is_no_store(url: str, full: Path, kept: float) -> None:
    whole = full.read_bytes()
    full.write_bytes(whole[: int(kept if kept > 1 else kept * len(whole))])
    with pytest.raises(unsay.StoreError):
        unsay.connect(url, embedder=None)


def test_a_damaged_page_is_told_by_the_call_that_meets_it(
    full: Path, opened: Callable[..., unsay.Memory]
) -> None:
    pages = [full.read_bytes()[at : at + 4_096] for at in range(0, full.stat().st_size, 4_096)]
    full.write_bytes(b"".join(b"\x7f" * 4_096 if b"walrus" in page else page for page in pages))
    memory = opened()
    with pytest.raises(unsay.StoreError, match="damaged"):
        memory.list(scope=SCOPE)


def bent(path: Path, memory_id: str) -> None:
    """Damage one record of a file, and nothing else."""
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE entry SET record = 'walrus' WHERE area = 'M' AND id = ?", (memory_id,))
    connection.close()


def test_a_damaged_record_is_set_aside_and_named_and_holds_up_no_other(
    opened: Callable[..., unsay.Memory], tmp_path: Path
) -> None:
    memory = opened(embedder=None)
    made = [memory.remember(f"Walrus {n}.", scope=SCOPE).id for n in range(5)]
    bent(tmp_path / "memory.db", made[2])
    intact = [made[0], made[1], made[3], made[4]]

    page = memory.list(scope=SCOPE, order="asc")
    assert ([item.id for item in page.items], page.unreadable) == (intact, [made[2]])
    assert [item.id for item in unsay.every(memory.list, scope=SCOPE, order="asc", limit=1)] == intact
    found = memory.recall("walrus", scope=SCOPE)
    assert {item.memory.id for item in found.items} == {*intact}
    assert (found.degraded, "memory_unreadable" in found.reasons) == (True, True)
    for call in (
        lambda: memory.get(made[2], scope=SCOPE),
        lambda: memory.edit(made[2], scope=SCOPE, version=1, importance=0.9),
        lambda: memory.forget(made[2], scope=SCOPE, reason="other"),
    ):
        with pytest.raises(unsay.StoreError, match=f"{made[2]} is damaged"):
            call()
    assert memory.remember("Walrus 6.", scope=SCOPE).version == 1
    assert unreadable_in(memory.url) == [(SCOPE, made[2])]
    assert memory.list(scope=SCOPE, kind="item").unreadable == [made[2]], "nobody knows what it was"


def test_a_walk_that_has_to_see_everything_does_not_pass_over_a_damaged_record(
    opened: Callable[..., unsay.Memory], tmp_path: Path
) -> None:
    memory = opened(embedder=None)
    made = [memory.remember(f"Walrus {n}.", scope=SCOPE).id for n in range(3)]
    bent(tmp_path / "memory.db", made[1])
    receipt = memory.forget_all(all=True, confirm=SCOPE, reason="other", scope=SCOPE)
    assert memory.erasure(receipt.id, scope=SCOPE).state == "pending", "not all is gone"
