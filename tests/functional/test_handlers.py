"""The λs' own handlers, on events as AWS sends them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.support.extraction import AWAY, Talk, drain
from tests.support.fakes import FakeService
from tests.support.http import Caller, event, principal
from unsay_core import settings
from unsay_core.adapters.messaging import body_of_task, event_of_batch
from unsay_core.application.access import first_admin, store_key
from unsay_core.application.ledger import Area, ref_of
from unsay_core.application.ports import IndexTask, UnreadableError
from unsay_core.domain.errors import UnavailableError
from unsay_core.domain.memory import Memory
from unsay_core.metrics import AUDIT_ENTRY_CHANGED

CONTEXT = SimpleNamespace(
    function_name="f",
    memory_limit_in_mb=512,
    invoked_function_arn="arn:aws:lambda:eu-central-1:123456789012:function:f",
    aws_request_id="r",
    get_remaining_time_in_millis=lambda: 30_000,
)


class Bus:
    """See `EventBus`."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Mapping[str, object]]] = []

    def publish(self, events: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        self.events.extend(events)


@pytest.fixture
def handlers(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    """The deployed modules, with this service in place of the one from the environment."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    found = {}
    for name in ("authorizer", "project", "index", "extract", "jobs", "sweep"):
        for variable in settings.variables(getattr(settings, f"{name.capitalize()}Settings")).values():
            monkeypatch.setenv(variable, "https://example.invalid/value")
        found[name] = import_module(f"functions.{name}.handler")
        monkeypatch.setattr(found[name], "service", service)
    service.bus = Bus()  # type: ignore[attr-defined]
    yield found


def stream_record(
    scope_id: str, area: Area, sort: str, number: int = 1, kind: str = "INSERT"
) -> dict[str, Any]:
    record = event("stream_record")
    record["eventName"] = kind
    record["dynamodb"]["Keys"] = {"pk": {"S": f"{scope_id}#{area.value}"}, "sk": {"S": sort}}
    record["dynamodb"]["SequenceNumber"] = str(number)
    return record


def queue_record(task: IndexTask, number: int = 1, attempt: int = 1) -> dict[str, Any]:
    record = copy.deepcopy(event("queue_record"))
    record["messageId"] = f"message-{number}"
    record["body"] = body_of_task(task)
    record["attributes"]["ApproximateReceiveCount"] = str(attempt)
    return record


def failures(answer: dict[str, Any]) -> list[str]:
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def test_a_change_goes_from_the_streams_to_document_queue_and_bus(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    (scope_id,) = service.ledgers
    records = [
        stream_record(scope_id, Area.PENDING, memory["id"], 1),
        stream_record(scope_id, Area.AUDIT, "000000000001", 2),
        stream_record(scope_id, Area.HEAD, "HEAD", 3),
        stream_record(scope_id, Area.MEMORY, memory["id"], 4),
    ]
    assert failures(handlers["project"].handler({"Records": records}, CONTEXT)) == []
    assert service.documents[scope_id].exists(memory["id"])
    root_id = service.keyring.scope_id("acme")
    assert service.queue.tasks == [IndexTask(scope_id, memory["id"], 1, root_id)]
    assert [kind for kind, _ in service.bus.events] == ["memory.remembered"]  # type: ignore[attr-defined]
    service.knowledge_base.at_once = True
    assert (
        failures(handlers["index"].handler({"Records": [queue_record(service.queue.tasks[0])]}, CONTEXT))
        == []
    )
    assert api.get(memory["id"])["index"]["state"] == "indexed"


def test_records_from_the_first_that_failed_on_come_again(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    memories = [api.remember(f"Fact {number}.")["id"] for number in range(3)]
    (scope_id,) = service.ledgers
    records = [stream_record(scope_id, Area.PENDING, one, at) for at, one in enumerate(memories)]
    records[1] = audit_record(scope_id, 1, 1)
    service.anchors[scope_id].down = UnavailableError("the anchors cannot be reached")
    assert failures(handlers["project"].handler({"Records": records}, CONTEXT)) == ["1"]
    assert [task.memory_id for task in service.queue.tasks] == [memories[0]]


def test_a_batch_is_read_together_and_told_together(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = [api.remember(f"Fact {number}.")["id"] for number in range(20)]
    (scope_id,) = service.ledgers
    ledger, reads, sent = service.ledgers[scope_id], [], []
    read, send = ledger.read, service.queue.send
    monkeypatch.setattr(ledger, "read", lambda refs: reads.append(len(refs)) or read(refs))
    monkeypatch.setattr(service.queue, "send", lambda tasks: sent.append(len(tasks)) or send(tasks))
    records = [stream_record(scope_id, Area.PENDING, one, at) for at, one in enumerate(memories)]
    assert failures(handlers["project"].handler({"Records": records}, CONTEXT)) == []
    assert (reads, sent) == ([20, 20, 20], [20])  # all of it, and again once the documents are stored
    assert all(service.documents[scope_id].exists(one) for one in memories)


def test_a_memory_that_is_forgotten_after_its_batch_was_read_leaves_no_document(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, stays = (api.remember(text)["id"] for text in ("Green tea.", "Black tea."))
    (scope_id,) = service.ledgers
    documents = service.documents[scope_id]
    put = documents.put

    def forgotten_meanwhile(memory: Memory) -> None:
        if memory.id == gone:
            api.forget(gone)
        put(memory)

    monkeypatch.setattr(documents, "put", forgotten_meanwhile)
    records = [stream_record(scope_id, Area.PENDING, one, at) for at, one in enumerate((gone, stays))]
    assert failures(handlers["project"].handler({"Records": records}, CONTEXT)) == []
    assert (documents.exists(gone), documents.exists(stays)) == (False, True)


def test_of_what_is_done_together_the_first_that_fails_comes_again_and_the_others_are_done(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = [api.remember(f"Fact {number}.")["id"] for number in range(4)]
    (scope_id,) = service.ledgers
    documents = service.documents[scope_id]
    put = documents.put

    def refused(memory: Memory) -> None:
        if memory.id in memories[2:]:
            raise UnavailableError("the document store is away")
        put(memory)

    monkeypatch.setattr(documents, "put", refused)
    records = [stream_record(scope_id, Area.PENDING, one, at) for at, one in enumerate(memories)]
    assert failures(handlers["project"].handler({"Records": records}, CONTEXT)) == ["2"]
    assert [task.memory_id for task in service.queue.tasks] == memories[:2]
    monkeypatch.undo()
    assert sorted(documents.objects) == sorted(memories[:2])


def test_the_tombstones_of_a_batch_are_noted_together(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        api.forget(api.remember(f"Fact {number}.")["id"])
    (scope_id,) = service.ledgers
    graves, noted = service.graves[scope_id], list[int]()
    note = graves.note
    monkeypatch.setattr(graves, "note", lambda some: noted.append(len(some)) or note(some))
    tombstones = [ref_of(each).id for each in service.ledgers[scope_id].page(Area.TOMBSTONE, limit=100)]
    records = [stream_record(scope_id, Area.TOMBSTONE, sort, at) for at, sort in enumerate(tombstones)]
    assert failures(handlers["project"].handler({"Records": records}, CONTEXT)) == []
    assert noted == [60]
    assert len(list(graves.listed())) == 60


def test_a_batch_whose_work_cannot_be_sent_comes_again_whole(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = [api.remember(f"Fact {number}.")["id"] for number in range(2)]
    (scope_id,) = service.ledgers
    records = [stream_record(scope_id, Area.PENDING, one, at) for at, one in enumerate(memories)]
    with monkeypatch.context() as down:
        down.setattr(service.queue, "send", lambda tasks: 1 / 0)
        assert failures(handlers["project"].handler({"Records": records}, CONTEXT)) == ["0"]
    assert failures(handlers["project"].handler({"Records": records}, CONTEXT)) == []
    assert [task.memory_id for task in service.queue.tasks] == memories


@pytest.mark.parametrize("place", ["#P", "a#A", "{scope_id}#A", "{scope_id}#Q"])
def test_a_record_of_no_place_of_ours_is_set_aside_and_holds_up_no_other(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType], place: str
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    (scope_id,) = service.ledgers
    strange = stream_record(scope_id, Area.PENDING, "x", 1)
    strange["dynamodb"]["Keys"]["pk"]["S"] = place.format(scope_id=scope_id)
    records = [strange, stream_record(scope_id, Area.PENDING, memory["id"], 2)]
    assert failures(handlers["project"].handler({"Records": records}, CONTEXT)) == []
    assert [json.loads(letter)["keys"] for letter in service.dead_letters.letters] == [
        strange["dynamodb"]["Keys"]
    ]
    assert [task.memory_id for task in service.queue.tasks] == [memory["id"]]


def audit_record(scope_id: str, seq: int, number: int | None = None, kind: str = "INSERT") -> dict[str, Any]:
    return stream_record(scope_id, Area.AUDIT, f"{seq:012d}", number or seq, kind)


def test_the_newest_entry_of_each_scope_in_a_batch_is_anchored(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    for scope in ("s", "t", "s", "s"):
        api.remember(f"Fact {len(service.opened)}.", scope)
    one, other = (service.keyring.scope_id(scope) for scope in ("s", "t"))
    records = [audit_record(one, 2), audit_record(other, 1), audit_record(one, 3), audit_record(one, 1)]
    assert failures(handlers["project"].handler({"Records": records}, CONTEXT)) == []
    assert [seq for seq, _ in service.anchors[one].objects] == [3]
    assert [seq for seq, _ in service.anchors[other].objects] == [1]
    assert len(service.bus.events) == 4  # type: ignore[attr-defined]


def test_a_head_that_cannot_be_anchored_comes_again_before_anything_is_told_of_it(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    for scope in ("t", "s", "s"):
        api.remember(f"Fact {len(service.opened)}.", scope)
    down, up = (service.keyring.scope_id(scope) for scope in ("s", "t"))
    service.anchors[down].down = UnavailableError("the anchors cannot be reached")
    records = [audit_record(up, 1, 11), audit_record(down, 1, 12), audit_record(down, 2, 13)]
    assert failures(handlers["project"].handler({"Records": records}, CONTEXT)) == ["12"]
    assert [seq for seq, _ in service.anchors[up].objects] == [1]
    assert len(service.bus.events) == 1  # type: ignore[attr-defined]
    service.anchors[down].down = None
    assert failures(handlers["project"].handler({"Records": records[1:]}, CONTEXT)) == []
    assert [seq for seq, _ in service.anchors[down].objects] == [2]
    assert len(service.bus.events) == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["MODIFY", "REMOVE"])
def test_an_audit_entry_that_was_changed_or_removed_is_counted_for_the_alarm_and_not_told_as_news(
    api: Caller,
    service: FakeService,
    handlers: dict[str, ModuleType],
    kind: str,
) -> None:
    api.remember("Fact.", "s")
    (scope_id,) = service.ledgers
    records = [
        audit_record(scope_id, 1, kind=kind),
        stream_record(scope_id, Area.TOMBSTONE, "value:x", 2, kind),
    ]
    assert failures(handlers["project"].handler({"Records": records}, CONTEXT)) == []
    assert service.signals.values(AUDIT_ENTRY_CHANGED) == [1]
    assert service.bus.events == []  # type: ignore[attr-defined]
    assert not service.anchors[scope_id].objects


def test_a_record_of_what_is_done_or_removed_does_nothing(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    (scope_id,) = service.ledgers
    service.knowledge_base.at_once = True
    record = stream_record(scope_id, Area.PENDING, memory["id"])
    handlers["project"].handler({"Records": [record]}, CONTEXT)
    handlers["index"].handler({"Records": [queue_record(service.queue.tasks[0])]}, CONTEXT)
    service.queue.tasks.clear()
    for kind in ("MODIFY", "REMOVE"):
        again = stream_record(scope_id, Area.PENDING, memory["id"], kind=kind)
        assert failures(handlers["project"].handler({"Records": [again]}, CONTEXT)) == []
    assert service.queue.tasks == []
    assert service.documents[scope_id].exists(memory["id"])


def test_messages_that_are_not_done_come_again_and_the_others_do_not(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    kept, gone = api.remember("Alice lives in Lisbon."), api.remember("Alice has a dog.")
    (scope_id,) = service.ledgers
    service.knowledge_base.at_once = True
    tasks = [IndexTask(scope_id, kept["id"], 1), IndexTask(scope_id, gone["id"], 2)]
    handlers["index"].handler({"Records": [queue_record(task, at) for at, task in enumerate(tasks)]}, CONTEXT)
    service.knowledge_base.drops_deletes = True
    api.forget(gone["id"])
    records = [queue_record(tasks[0], 1), queue_record(IndexTask(scope_id, gone["id"], 3), 2)]
    assert failures(handlers["index"].handler({"Records": records}, CONTEXT)) == ["message-2"]


def test_the_trouble_of_one_scope_does_not_hold_up_another(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    one, other = api.remember("Alice's.", "acme/alice"), api.remember("Bob's.", "acme/bob")
    alice, bob = service.ledgers
    service.knowledge_base.at_once = True
    ledger = service.ledgers[alice]

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("this scope is in trouble")

    ledger.read = broken  # type: ignore[method-assign]
    records = [
        queue_record(IndexTask(alice, one["id"], 1), 1),
        queue_record(IndexTask(bob, other["id"], 1), 2),
    ]
    assert failures(handlers["index"].handler({"Records": records}, CONTEXT)) == ["message-1"]
    assert (bob, other["id"]) in service.knowledge_base.documents


def authorize(handlers: dict[str, ModuleType], authorization: str | None) -> dict[str, Any]:
    request = event("authorizer_request")
    if authorization is None:
        del request["headers"]["authorization"]
    else:
        request["headers"]["authorization"] = authorization
    answer: dict[str, Any] = handlers["authorizer"].handler(request, CONTEXT)
    return answer


def test_the_authorizer_says_whose_key_it_is(service: FakeService, handlers: dict[str, ModuleType]) -> None:
    made = store_key(first_admin(), "bootstrap", service.keys, service.keyring, service.world)
    for scheme in ("Bearer", "bearer", "BEARER"):
        answer = authorize(handlers, f"{scheme} {made.secret}")
        assert answer["isAuthorized"] is True
        assert json.loads(answer["context"]["principal"]) == made.key.principal.to_json()


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer ", "Basic {}", "{}", "Bearer x{}", "Bearer {}x", "Bearer {} {}"],
)
def test_whoever_is_not_known_is_denied_without_a_word(
    service: FakeService, handlers: dict[str, ModuleType], authorization: str | None
) -> None:
    made = store_key(first_admin(), "bootstrap", service.keys, service.keyring, service.world)
    given = authorization and authorization.replace("{}", made.secret)
    assert authorize(handlers, given) == {"isAuthorized": False}


def test_a_request_through_authorizer_and_api_acts_as_that_key(
    service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    from unsay_core.domain.scope import Principal

    made = store_key(first_admin(), "bootstrap", service.keys, service.keyring, service.world)
    answer = authorize(handlers, f"Bearer {made.secret}")
    found = Principal.from_json(json.loads(answer["context"]["principal"]))
    assert found == made.key.principal != principal()
    assert Caller(service, found).remember("x")["source"]["actor"] == made.key.id


def test_a_message_that_is_not_done_comes_back_soon_and_then_seldom(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    (scope_id,) = service.ledgers
    for attempt, pause in ((1, 2), (3, 8), (90, 60)):
        record = queue_record(IndexTask(scope_id, memory["id"], 1), attempt=attempt)
        answer = handlers["index"].handler({"Records": [record]}, CONTEXT)
        assert [failed["itemIdentifier"] for failed in answer["batchItemFailures"]] == [record["messageId"]]
        assert service.queue.postponed == {record["receiptHandle"]: pause}


MEMORY, DIGEST = f"mem_{0:026d}", "a" * 52
NO_WORK = [
    "not JSON",
    "[]",
    "7",
    "null",
    "{}",
    json.dumps({"id": MEMORY, "seq": 1}),
    json.dumps({"sid": "", "id": MEMORY, "seq": 1}),
    json.dumps({"sid": None, "id": MEMORY, "seq": 1}),
    json.dumps({"sid": "*", "id": MEMORY, "seq": 1}),
    json.dumps({"sid": "acme/alice", "id": MEMORY, "seq": 1}),
    json.dumps({"sid": DIGEST[1:], "id": MEMORY, "seq": 1}),
    json.dumps({"sid": DIGEST.upper(), "id": MEMORY, "seq": 1}),
    json.dumps({"sid": [DIGEST], "id": MEMORY, "seq": 1}),
    json.dumps({"sid": DIGEST, "id": "", "seq": 1}),
    json.dumps({"sid": DIGEST, "id": MEMORY, "seq": "1"}),
]


@pytest.mark.parametrize("body", NO_WORK)
def test_a_message_without_a_scope_is_set_aside_and_holds_up_no_other(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType], body: str
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    (scope_id,) = service.ledgers
    good, bad = (
        queue_record(IndexTask(scope_id, memory["id"], 1), number=1),
        queue_record(IndexTask(scope_id, memory["id"], 1), number=2),
    )
    bad["body"] = body
    service.knowledge_base.at_once = True
    assert failures(handlers["index"].handler({"Records": [bad, good]}, CONTEXT)) == []
    assert service.dead_letters.letters == [body]
    assert service.ledgers[scope_id].page(Area.PENDING, limit=9) == []


def test_a_message_about_a_memory_of_another_scope_is_set_aside_and_reaches_nothing_there(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    theirs, mine = api.remember("Bob's.", "acme/bob"), api.remember("Alice's.")
    bob, alice = (service.keyring.scope_id(scope) for scope in ("acme/bob", "acme/alice"))
    service.knowledge_base.at_once = True
    tasks = [IndexTask(bob, theirs["id"], 1), IndexTask(alice, mine["id"], 1)]
    handlers["index"].handler({"Records": [queue_record(t, n) for n, t in enumerate(tasks)]}, CONTEXT)
    strange = queue_record(IndexTask(alice, theirs["id"], 2), number=3)
    assert failures(handlers["index"].handler({"Records": [strange]}, CONTEXT)) == []
    assert service.dead_letters.letters == [strange["body"]]
    assert service.knowledge_base.documents.keys() == {(bob, theirs["id"]), (alice, mine["id"])}
    assert ("delete", (theirs["id"],)) not in service.knowledge_base.requests
    forgotten = api.forget(mine["id"])
    assert forgotten.status == 202
    gone = queue_record(IndexTask(alice, mine["id"], 2), number=4)
    assert failures(handlers["index"].handler({"Records": [gone]}, CONTEXT)) == []
    assert service.knowledge_base.documents.keys() == {(bob, theirs["id"])}
    assert len(service.dead_letters.letters) == 1


def test_a_message_that_cannot_be_set_aside_comes_again(
    service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    service.dead_letters.down = UnavailableError("the dead letters cannot be reached")
    bad, strange = (queue_record(IndexTask(DIGEST, MEMORY, 1), number) for number in (1, 2))
    bad["body"] = "{}"
    found = failures(handlers["index"].handler({"Records": [bad, strange]}, CONTEXT))
    assert found == [bad["messageId"], strange["messageId"]]
    service.dead_letters.down = None
    assert failures(handlers["index"].handler({"Records": [bad, strange]}, CONTEXT)) == []
    assert service.dead_letters.letters == [bad["body"], strange["body"]]


@pytest.mark.parametrize("partition", ["#P", "#A", "*#P", "acme/alice#P", "#" + DIGEST, DIGEST[1:] + "#A"])
def test_a_stream_record_without_a_scope_is_set_aside_and_holds_up_no_other(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType], partition: str
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    (scope_id,) = service.ledgers
    bad, good = (stream_record(scope_id, Area.PENDING, memory["id"], number) for number in (1, 2))
    bad["dynamodb"]["Keys"]["pk"]["S"] = partition
    assert failures(handlers["project"].handler({"Records": [bad, good]}, CONTEXT)) == []
    assert [task.memory_id for task in service.queue.tasks] == [memory["id"]]
    (letter,) = map(json.loads, service.dead_letters.letters)
    assert letter["keys"]["pk"]["S"] == partition
    assert list(service.ledgers) == [scope_id], "nothing else was opened"
    service.dead_letters.down = UnavailableError("the dead letters cannot be reached")
    assert failures(handlers["project"].handler({"Records": [bad, good]}, CONTEXT)) == ["1"]


def test_an_entry_that_cannot_be_read_holds_up_no_other(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    (scope_id,) = service.ledgers
    ledger, read = service.ledgers[scope_id], service.ledgers[scope_id].read

    def reading(refs: Sequence[Any]) -> Any:
        for ref in refs:
            if ref.id == "bent":
                raise UnreadableError(ref)
        return read(refs)

    ledger.read = reading  # type: ignore[method-assign]
    records = [
        stream_record(scope_id, Area.PENDING, "bent", number=1),
        stream_record(scope_id, Area.PENDING, memory["id"], number=2),
    ]
    answer = handlers["project"].handler({"Records": records}, CONTEXT)
    assert failures(answer) == []
    assert [task.memory_id for task in service.queue.tasks] == [memory["id"]]


def batch_record(scope_id: str, run_id: str, number: int, place: int = 1, attempt: int = 1) -> dict[str, Any]:
    record = copy.deepcopy(event("queue_record"))
    record["messageId"], record["receiptHandle"] = f"message-{place}", f"handle-{place}"
    record["body"] = event_of_batch(scope_id, run_id, number)
    record["attributes"]["ApproximateReceiveCount"] = str(attempt)
    return record


ROOMY = SimpleNamespace(**{**vars(CONTEXT), "get_remaining_time_in_millis": lambda: 170_000})


def test_a_message_of_a_conversation_is_worked_on_with_the_batches_that_follow(
    service: FakeService, api: Caller, handlers: dict[str, ModuleType]
) -> None:
    talk = Talk(api)
    talk.say(*(f"I own cup {n}." for n in range(10)), flush=True)
    (scope_id,) = service.ledgers
    records = [batch_record(scope_id, "run-1", number, number) for number in (1, 2)]
    assert handlers["extract"].handler({"Records": records}, ROOMY) == {"batchItemFailures": []}
    assert {batch["state"] for batch in talk.read()["batches"]} == {"done"}
    assert len(service.model.asked) == 2
    assert handlers["extract"].handler({"Records": records}, ROOMY) == {"batchItemFailures": []}
    assert len(service.model.asked) == 2


def test_only_what_is_not_done_comes_back_and_later_each_time(
    service: FakeService, api: Caller, handlers: dict[str, ModuleType]
) -> None:
    good, away = Talk(api, "good"), Talk(api, "away")
    good.say("I own a cup.", flush=True)
    away.say("I own a mug.", flush=True)
    (scope_id,) = service.ledgers
    service.model.replies = [service.model.otherwise, AWAY, AWAY]
    records = [batch_record(scope_id, "good", 1, 1), batch_record(scope_id, "away", 1, 2)]
    answer = handlers["extract"].handler({"Records": records}, ROOMY)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "message-2"}]}
    first = service.queue.postponed["handle-2"]
    handlers["extract"].handler({"Records": [batch_record(scope_id, "away", 1, 2, attempt=4)]}, ROOMY)
    assert 1 <= first < service.queue.postponed["handle-2"] <= 300
    assert good.read()["batches"][0]["state"] == "done"


def test_without_time_left_nothing_is_begun(
    service: FakeService, api: Caller, handlers: dict[str, ModuleType]
) -> None:
    Talk(api).say("I own a cup.", flush=True)
    (scope_id,) = service.ledgers
    answer = handlers["extract"].handler({"Records": [batch_record(scope_id, "run-1", 1)]}, CONTEXT)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "message-1"}]}
    assert service.model.asked == []


def test_a_message_that_names_no_batch_is_set_aside(
    service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    record = batch_record("x", "y", 1) | {"body": "{}"}
    assert handlers["extract"].handler({"Records": [record]}, ROOMY) == {"batchItemFailures": []}
    assert service.dead_letters.letters == ["{}"]


def test_a_marker_calls_the_extractor_by_ids_alone(
    service: FakeService, api: Caller, handlers: dict[str, ModuleType]
) -> None:
    Talk(api).say("I own a cup.", flush=True)
    (scope_id,) = service.ledgers
    record = stream_record(scope_id, Area.READY, "run-1#000001")
    handlers["project"].handler({"Records": [record]}, CONTEXT)
    assert service.bus.events == [  # type: ignore[attr-defined]
        ("conversation.ready", {"scope_id": scope_id, "run_id": "run-1", "batch": 1})
    ]
    drain(service)
    service.bus.events.clear()  # type: ignore[attr-defined]
    handlers["project"].handler({"Records": [record]}, CONTEXT)
    assert service.bus.events == []  # type: ignore[attr-defined]
