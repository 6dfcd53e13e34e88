"""A transcript handed in as a file becomes the same memories as one that is sent, in its own scope alone."""

from __future__ import annotations

import json
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.support.extraction import Talk, drain
from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller, principal
from unsay_core import settings
from unsay_core.application.ledger import Area, Delete, ref_of
from unsay_core.domain.errors import BusyError
from unsay_core.extraction.conversation import UPLOAD_BYTES

LISBON, DOG = "I live in Lisbon.", "We have a dog."
HERE = "scope=acme%2Falice"
ROOMY = SimpleNamespace(
    function_name="f",
    memory_limit_in_mb=512,
    invoked_function_arn="arn:aws:lambda:eu-central-1:123456789012:function:f",
    aws_request_id="r",
    get_remaining_time_in_millis=lambda: 180_000,
)


def line(seq: int, content: Any = LISBON, role: str = "user", **more: Any) -> str:
    return json.dumps({"seq": seq, "role": role, "content": content, **more}, ensure_ascii=False)


def upload(api: Caller, run: str = "run-1", where: str = HERE, **more: Any) -> Answer:
    return api.send("POST", f"/v1/conversations/{run}/upload", query=where, **more)


class Desk:
    """Somebody who uploads, and the λ that is told of it."""

    def __init__(self, service: FakeService, handler: ModuleType) -> None:
        self.service, self.handler = service, handler

    def put(self, address: Answer, file: str | bytes) -> None:
        """What the holder of an address does with it."""
        scope_id = self.scope_id("acme/alice")
        data = file.encode() if isinstance(file, str) else file
        self.service.files[scope_id].put(address["run_id"], address["id"], data)

    def scope_id(self, name: str) -> str:
        return self.service.keyring.scope_id(name)

    def told(self, address: Answer, **detail: Any) -> list[Any]:
        return self.tell(f"{self.scope_id('acme/alice')}/{address['run_id']}/{address['id']}.jsonl", **detail)

    def tell(self, key: str, **detail: Any) -> list[Any]:
        """The event as S3 sends it through the bus; what comes back are the failures."""
        event = {
            "source": "aws.s3",
            "detail-type": "Object Created",
            "detail": {"bucket": {"name": "intake"}, "object": {"key": key}, **detail},
        }
        record = {
            "messageId": "m-1",
            "receiptHandle": "r-1",
            "body": json.dumps(event),
            "attributes": {"ApproximateReceiveCount": "1"},
        }
        return list(self.handler.handler({"Records": [record]}, ROOMY)["batchItemFailures"])

    def hand_in(self, api: Caller, file: str | bytes) -> Answer:
        address = upload(api)
        self.put(address, file)
        assert self.told(address) == []
        return address


@pytest.fixture
def desk(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    for variable in settings.variables(settings.ExtractSettings).values():
        monkeypatch.setenv(variable, "https://example.invalid/value")
    handler = import_module("functions.extract.handler")
    monkeypatch.setattr(handler, "service", service)
    return Desk(service, handler)


def uploads(api: Caller) -> list[tuple[str, str | None]]:
    return [(each["state"], each["error"]) for each in Talk(api).read()["uploads"]]


def test_an_address_is_a_place_of_ones_own_for_one_file(api: Caller, service: FakeService) -> None:
    found = upload(api)
    assert (found.status, found["method"], found["run_id"]) == (201, "PUT", "run-1")
    assert found["id"].startswith("upl_") and found["max_bytes"] == UPLOAD_BYTES
    assert uploads(api) == [("expected", None)]
    run = Talk(api).read()
    assert (run["message_count"], run["extracted_through"], run["batches"]) == (0, None, [])
    assert api.events() == ["conversation.upload_expected"]
    assert upload(api)["id"] != found["id"], "each is another file"


def test_a_file_becomes_the_messages_and_the_memories_it_would_have_become_if_sent(
    api: Caller, service: FakeService, desk: Desk
) -> None:
    file = "\n".join([line(1, f"Hi. {LISBON}"), "", line(2, "Nice.", "assistant"), line(3, DOG)])
    desk.hand_in(api, "\ufeff" + file + "\r\n")
    drain(service)
    run = Talk(api).read()
    assert [message["seq"] for message in run["messages"]] == [1, 2, 3]
    assert (run["extracted_through"], run["batches"][0]["state"]) == (3, "done")
    assert sorted(api.listed()) == sorted([LISBON, DOG])
    (home,) = [memory for memory in api.list()["items"] if memory["content"] == LISBON]
    assert home["source"]["actor"] == "key_admin" and home["source"]["message_seqs"] == [1]
    assert uploads(api) == [("done", None)]
    assert service.files[desk.scope_id("acme/alice")].files == {}, "nothing of it is left"
    assert api.verify()["ok"]


def test_told_twice_or_after_it_was_sent_it_is_kept_once(
    api: Caller, service: FakeService, desk: Desk
) -> None:
    Talk(api).say(LISBON)
    address = upload(api)
    desk.put(address, "\n".join([line(1), line(2, DOG)]))
    for _ in range(3):
        assert desk.told(address) == []
    drain(service)
    assert sorted(api.listed()) == sorted([LISBON, DOG])
    assert Talk(api).read()["message_count"] == 2


def test_a_long_file_is_kept_in_as_many_transactions_as_it_takes(
    api: Caller, service: FakeService, desk: Desk
) -> None:
    desk.hand_in(api, "\n".join(line(n, f"I own cup {n}.") for n in range(1, 131)))
    run = Talk(api).read()
    assert (run["message_count"], run["waiting"]) == (130, 0)
    assert api.events().count("conversation.recorded") == 3
    drain(service)
    assert len(api.listed(limit=100)) == 100


def test_messages_that_are_large_together_go_apart(api: Caller, desk: Desk) -> None:
    desk.hand_in(api, "\n".join(line(n, "word " * 20_000) for n in range(1, 5)))
    assert api.events().count("conversation.recorded") == 2
    assert Talk(api).read()["message_count"] == 4


def test_a_scope_in_the_event_is_ignored_and_the_place_alone_says_whose_it_is(
    api: Caller, service: FakeService, desk: Desk
) -> None:
    address = upload(api)
    desk.put(address, line(1))
    bob = desk.scope_id("acme/bob")
    lies = {"scope": "acme/bob", "scope_id": bob, "run_id": "run-1", "batch": 1}
    assert desk.told(address, **lies) == []
    drain(service)
    assert api.listed() == [LISBON]
    assert api.listed(scope="acme/bob") == []
    assert bob not in service.ledgers or service.ledgers[bob].page(Area.CONVERSATION, limit=1) == []


WRONG: dict[str, tuple[str | bytes, str]] = {
    "no JSON": (f"{line(1)}\n{{nope\n{line(3)}", "line 2 is not a message"),
    "no object": (f"{line(1)}\n[1]", "line 2 is not a message"),
    "a field too many": (line(1, more=True), "line 1 is not a message"),
    "a duplicate name": ('{"seq": 1, "seq": 2, "role": "user", "content": "x"}', "line 1 is not a message"),
    "no role": ('{"seq": 1, "content": "x"}', "line 1 is not a message"),
    "not UTF-8": (b'{"seq": 1, "role": "user", "content": "\xff"}', "line 1 is not a message"),
    "too deep": ('{"seq": 1, "role": "user", "content": ' + "[" * 5_000, "line 1 is not a message"),
    "a line without end": (line(1, "x" * 300_000), "line 1 is too long"),
    "nothing": ("\n \n", "empty"),
    "one number for two": (f"{line(1)}\n{line(1, DOG)}", "seq_conflict"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_file_that_is_no_transcript_has_failed_for_all_to_see_and_waits(
    api: Caller, service: FakeService, desk: Desk, wrong: str
) -> None:
    file, reason = WRONG[wrong]
    address = desk.hand_in(api, file)
    assert uploads(api) == [("failed", reason)]
    assert Talk(api).read()["messages"] == []
    (letter,) = service.dead_letters.letters
    assert address["id"] in letter and "nope" not in letter and LISBON not in letter
    assert service.files[desk.scope_id("acme/alice")].files, "the words are still there"
    assert api.events() == ["conversation.upload_expected", "conversation.failed"]
    files = service.files[desk.scope_id("acme/alice")].files
    files[address["run_id"], address["id"]] = line(1).encode()
    assert desk.told(address) == [], "the letter, sent again once the file is mended"
    drain(service)
    assert (uploads(api), api.listed()) == ([("done", None)], [LISBON])


def test_a_file_that_conflicts_with_what_was_sent_keeps_the_first_word(api: Caller, desk: Desk) -> None:
    Talk(api).say(DOG)
    desk.hand_in(api, line(1))
    assert uploads(api) == [("failed", "seq_conflict")]
    assert [message["content"] for message in Talk(api).read()["messages"]] == [DOG]


def test_a_file_that_never_came_has_failed(api: Caller, service: FakeService, desk: Desk) -> None:
    assert desk.told(upload(api)) == []
    assert uploads(api) == [("failed", "missing")]


def test_trouble_of_the_world_brings_the_message_back(
    api: Caller, service: FakeService, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = upload(api)
    desk.put(address, line(1))

    def busy(*_: object, **__: object) -> None:
        raise BusyError("not now")

    with monkeypatch.context() as patched:
        patched.setattr("unsay_core.application.uploads.record", busy)
        assert desk.told(address) == [{"itemIdentifier": "m-1"}]
    assert uploads(api) == [("expected", None)]
    assert service.dead_letters.letters == []
    assert desk.told(address) == []
    assert uploads(api) == [("done", None)]


@pytest.mark.parametrize(
    "key",
    ["", "x", "x/y/z.jsonl", "{sid}/run-1/mem_01j0000000000000000000000b.jsonl", "{sid}/run-1/{upl}.txt"],
)
def test_a_file_in_no_place_of_an_upload_is_set_aside(
    api: Caller, service: FakeService, desk: Desk, key: str
) -> None:
    address = upload(api)
    place = key.replace("{sid}", desk.scope_id("acme/alice")).replace("{upl}", address["id"])
    assert desk.tell(place) == []
    assert len(service.dead_letters.letters) == 1
    assert uploads(api) == [("expected", None)]


def test_a_file_that_nobody_expects_is_removed_unread(api: Caller, service: FakeService, desk: Desk) -> None:
    address = upload(api)
    scope_id = desk.scope_id("acme/alice")
    desk.put(address, line(1))
    taken = forgotten(service, scope_id)
    assert desk.told(address) == []
    assert taken and service.files[scope_id].files == {}
    assert api.listed() == []


def test_a_conversation_that_is_forgotten_while_its_file_is_read_stays_so(
    api: Caller, service: FakeService, desk: Desk
) -> None:
    address = upload(api)
    scope_id = desk.scope_id("acme/alice")
    desk.put(address, line(1))
    files = service.files[scope_id]
    read = files.read

    def read_and_lose(run_id: str, upload_id: str) -> bytes:
        found = read(run_id, upload_id)
        forgotten(service, scope_id)
        return found

    files.read = read_and_lose  # type: ignore[method-assign]
    assert desk.told(address) == []
    assert files.files == {}
    assert service.ledgers[scope_id].page(Area.CONVERSATION, limit=10) == []


def test_the_same_request_again_is_the_same_file(api: Caller) -> None:
    named = {"idempotency_key": "k"}
    first, again = upload(api, **named), upload(api, **named)
    assert (again.status, again["id"]) == (201, first["id"])
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(uploads(api)) == 1
    assert upload(api, "run-2", **named).code == "idempotency_mismatch"


def test_who_may_not_write_gets_no_address(api: Caller, service: FakeService) -> None:
    for who in (principal("acme/bob"), principal("acme/*")):
        assert upload(Caller(service, who), where="scope=acme-corp").status == 403
    assert upload(api, "a b").status == 400


def test_what_is_off_is_kept_and_not_extracted(api: Caller, service: FakeService, desk: Desk) -> None:
    api.send("PUT", "/v1/policy", {"extraction": "off"}, query="scope=acme")
    desk.hand_in(api, line(1))
    drain(service)
    assert (Talk(api).read()["message_count"], api.listed()) == (1, [])
    assert service.model.asked == []


def test_what_was_taken_back_or_is_secret_is_cut_out_of_a_file_too(
    api: Caller, service: FakeService, desk: Desk
) -> None:
    memory = api.remember(LISBON)
    api.retract(memory["id"])
    desk.hand_in(api, "\n".join([line(1), line(2, "My key is AKIAIOSFODNN7EXAMPLE."), line(3, DOG)]))
    said = [message["content"] for message in Talk(api).read()["messages"]]
    assert said == ["[redacted]", "My key is [redacted]", DOG]


def forgotten(service: FakeService, scope_id: str) -> Any:
    """Take a conversation out of the ledger whole, as a forget of the run does."""
    ledger = service.ledgers[scope_id]
    entries = ledger.page(Area.CONVERSATION, limit=1_000)
    ledger.commit(tuple(Delete(ref_of(entry)) for entry in entries))
    return entries
