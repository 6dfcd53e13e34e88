"""What is safe to repeat is repeated, when the service says or a little later each time; the rest is not."""

import httpx
import pytest

import unsay
from tests.client.conftest import EMPTY_RECALL, MEMORY, refusal
from unsay.transport import ATTEMPTS, LONGEST_WAIT_SECONDS


def busy(after="2"):
    return refusal(503, "busy", headers={"Retry-After": after} if after else {})


def ok(body=MEMORY):
    return httpx.Response(200, json=body)


READS = {
    "get": (lambda m: m.get("mem_1", scope="a"), MEMORY),
    "list": (lambda m: m.list(scope="a"), {"items": [], "next_cursor": None}),
    "recall": (lambda m: m.recall("who?", scope="a"), EMPTY_RECALL),
}
WRITES = {
    "remember": lambda m: m.remember("x", scope="a"),
    "correct": lambda m: m.correct("mem_1", "y", because="wrong", scope="a", version=1),
}
ONCE = {
    "forget": lambda m: m.forget("mem_1", scope="a", reason="test"),
    "edit": lambda m: m.edit("mem_1", content="y", scope="a", version=1),
}


@pytest.mark.parametrize("verb", READS)
def test_a_read_waits_as_long_as_the_service_says(service, verb):
    call, answer = READS[verb]
    call(service.will(busy("2"), refusal(429, "throttled", headers={"Retry-After": "1"}), ok(answer)))
    assert service.slept == [2.0, 1.0]


@pytest.mark.parametrize("verb", WRITES)
def test_a_write_is_repeated_with_the_same_idempotency_key_and_body(service, verb):
    WRITES[verb](service.will(busy(), busy(), ok()))
    assert len({request.headers["Idempotency-Key"] for request in service.requests}) == 1
    assert len({request.content for request in service.requests}) == 1
    assert len(service.requests) == 3


def test_two_writes_have_two_idempotency_keys_and_a_given_one_is_sent(service):
    memory = service.will(ok(), ok(), ok())
    memory.remember("x", scope="a")
    memory.remember("x", scope="a")
    memory.remember("x", scope="a", idempotency_key="mine")
    first, second, third = (request.headers["Idempotency-Key"] for request in service.requests)
    assert first != second
    assert third == "mine"


@pytest.mark.parametrize("verb", ONCE)
def test_what_is_not_safe_to_repeat_is_sent_once(service, verb):
    with pytest.raises(unsay.BusyError) as caught:
        ONCE[verb](service.will(busy("2")))
    assert caught.value.retry_after == 2.0
    assert service.slept == []


def test_without_a_word_from_the_service_each_wait_is_longer(service):
    with pytest.raises(unsay.ThrottledError):
        gateway = [httpx.Response(429, json={"message": "Too Many Requests"}) for _ in range(ATTEMPTS)]
        service.will(*gateway).get("mem_1", scope="a")
    assert service.slept == [0.25, 0.5, 1.0]


def test_a_wait_that_is_too_long_is_left_to_the_caller(service):
    with pytest.raises(unsay.BusyError) as caught:
        service.will(busy(str(int(LONGEST_WAIT_SECONDS) + 1))).get("mem_1", scope="a")
    assert caught.value.retry_after == LONGEST_WAIT_SECONDS + 1
    assert service.slept == []


def test_a_retry_after_that_is_no_number_counts_as_none(service):
    service.will(busy("Wed, 21 Oct 2026 07:28:00 GMT"), ok()).get("mem_1", scope="a")
    assert service.slept == [0.25]


@pytest.mark.parametrize("status", [400, 404, 409, 500, 502])
def test_a_refusal_that_time_does_not_cure_is_not_repeated(service, status):
    with pytest.raises(unsay.ProblemError):
        service.will(refusal(status, "whatever")).get("mem_1", scope="a")


def test_a_broken_connection_is_tried_again(service):
    service.will(httpx.ConnectError("refused"), httpx.RemoteProtocolError("cut off"), ok()).get(
        "mem_1", scope="a"
    )
    assert service.slept == [0.25, 0.5]


def test_a_connection_that_stays_broken_is_unreachable(service):
    with pytest.raises(unsay.UnreachableError) as caught:
        service.will(*[httpx.ConnectError("refused")] * ATTEMPTS).get("mem_1", scope="a")
    assert not caught.value.timed_out


def test_a_time_out_is_not_waited_for_twice(service):
    with pytest.raises(unsay.UnreachableError) as caught:
        service.will(httpx.ReadTimeout("late")).get("mem_1", scope="a")
    assert caught.value.timed_out
