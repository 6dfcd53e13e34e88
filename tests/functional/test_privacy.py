"""Memory text reaches no log and no error, whatever goes wrong."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from functions.entrypoint import log_fault, logger
from tests.support.fakes import FakeService
from tests.support.http import Caller
from unsay_core.application.ports import SearchError

CANARY = "quokka"


class Everything(logging.Handler):
    """Keeps all that a log record carries, whatever a formatter would print of it."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += repr({**vars(record), "message": record.getMessage()}) + "\n"


@pytest.fixture
def logged() -> Iterator[Everything]:
    """Everything that any logger writes, from the least level up."""
    handler = Everything()
    loggers = [logging.getLogger(), logging.getLogger(logger.name)]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.addHandler(handler)
        each.setLevel(logging.DEBUG)
    yield handler
    for each, level in zip(loggers, levels, strict=True):
        each.removeHandler(handler)
        each.setLevel(level)


def broken(fault: Exception) -> Any:
    """A port that fails in this way."""

    def call(*_: Any, **__: Any) -> Any:
        raise fault

    return call


QUOTING = ClientError(
    {
        "Error": {"Code": "ValidationException", "Message": f"item too large: {CANARY}"},
        "ResponseMetadata": {
            "HTTPStatusCode": 400,
            "RequestId": "",
            "HostId": "",
            "RetryAttempts": 0,
            "HTTPHeaders": {},
        },
    },
    "TransactWriteItems",
)


@pytest.mark.parametrize(
    "fault",
    [ValueError(f"no such thing as {CANARY}"), KeyError(CANARY), QUOTING],
    ids=lambda f: type(f).__name__,
)
@pytest.mark.parametrize("method", ["read", "commit"])
def test_a_fault_that_quotes_the_text_is_answered_and_logged_without_it(
    api: Caller, service: FakeService, logged: Everything, fault: Exception, method: str
) -> None:
    api.remember("control")
    (ledger,) = service.ledgers.values()
    setattr(ledger, method, broken(fault))
    answer = api.remember(f"The {CANARY} is mine.", tags=[CANARY])
    assert (answer.status, answer.code) == (500, "internal")
    assert CANARY not in answer.text
    assert "a request failed" in logged.text
    assert type(fault).__name__ in logged.text
    assert CANARY not in logged.text


def test_every_path_with_its_refusals_leaves_no_text_in_logs_and_problems(
    api: Caller, service: FakeService, logged: Everything
) -> None:
    problems = []
    memory = api.remember(f"The {CANARY} is mine.", metadata={"k": CANARY}, data=CANARY, tags=[CANARY])
    problems += [
        api.remember(CANARY, importance=CANARY),
        api.remember(CANARY, metadata={CANARY: None}),
        api.remember(CANARY, metadata={f"_{CANARY}": 1}),
        api.remember(CANARY, **{f"the {CANARY}": CANARY}),
        api.remember(f"password: {CANARY}{CANARY}{CANARY}{CANARY}1234567"),
        api.remember(f"{CANARY} token=ghp_0123456789abcdefghij0123456789abcdef"),
        api.send("POST", "/v1/memories", raw=f'{{"scope":"a","content":"{CANARY}"'),
        api.send("POST", "/v1/memories", raw=f'{{"scope":"a","the {CANARY}":1,"the {CANARY}":2}}'),
        api.send("POST", "/v1/memories", raw=f'{{"scope":"a","content":"x","data":{{"{CANARY}":1e999}}}}'),
        api.send("GET", "/v1/memories", query=f"scope=a&the%20{CANARY}=1"),
        api.send("GET", "/v1/memories", query=f"scope=a&kind={CANARY}"),
        api.remember(scope=f"{CANARY}//"),
        api.recall(CANARY, limit=0),
        api.correct(memory["id"], CANARY, "changed", version=9),
    ]
    service.knowledge_base.failing = SearchError("knowledge_base_timeout")
    api.recall(CANARY)
    service.knowledge_base.failing = None
    api.forget(memory["id"])
    problems += [api.remember(f"The {CANARY} is mine."), api.forget(memory["id"])]
    assert {answer.status >= 400 for answer in problems} == {True}
    for answer in problems:
        assert CANARY not in answer.text, answer.text
    assert CANARY not in logged.text


def test_a_fault_is_logged_by_type_place_and_operation(logged: Everything) -> None:
    try:
        raise QUOTING
    except ClientError as fault:
        log_fault("it failed", fault)
    for part in ("it failed", "ClientError", "TransactWriteItems", "ValidationException", "test_privacy.py"):
        assert part in logged.text
    assert CANARY not in logged.text
