"""The index λ: the only one that writes to the knowledge base, ten memories at a time."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from functions.entrypoint import log_fault, logger
from unsay_core.adapters.messaging import body_of_task, task_of_message
from unsay_core.application.index_memories import foreign, index_memories
from unsay_core.bootstrap.aws import IndexService
from unsay_core.settings import IndexSettings
from unsay_core.tracing import TracePlace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aws_lambda_powertools.utilities.typing import LambdaContext

    from unsay_core.application.ports import IndexTask

Place: TypeAlias = "tuple[str, str | None]"
Messages: TypeAlias = "dict[str, tuple[IndexTask, str]]"

service = IndexService(IndexSettings.from_environment())


LONGEST_PAUSE = 60  # seconds between two tries of one message; the queue allows a hundred tries


@logger.inject_lambda_context
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Handle a batch of messages; those that are not done yet come back, at first soon, later seldom."""
    scopes, waiting = _by_scope(event["Records"])
    for (scope_id, root_id), messages in scopes.items():
        waiting.extend(_index(scope_id, root_id, messages))
    service.queue.postpone(
        {r["receiptHandle"]: _pause(r["attributes"]) for r in event["Records"] if r["messageId"] in waiting}
    )
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in waiting]}


def _pause(attributes: dict[str, str]) -> int:
    """Seconds until the next try: doubling, because a knowledge base that is late may be so for long."""
    doubled = 1 << min(int(attributes["ApproximateReceiveCount"]), 6)
    return min(LONGEST_PAUSE, doubled)


def _by_scope(records: list[dict[str, Any]]) -> tuple[dict[Place, Messages], list[str]]:
    """Messages by scope and id; and the ids of those that name no work and could not be set aside."""
    scopes: dict[Place, Messages] = {}
    unread: list[str] = []
    for record in records:
        try:
            task = task_of_message(record["body"])
        except ValueError as fault:
            log_fault("a message names no work", fault)
            if not _set_aside(record["body"], record["messageId"]):
                unread.append(record["messageId"])
            continue
        place = (task.scope_id, task.root_id)
        scopes.setdefault(place, {})[record["messageId"]] = (task, _attempt(record["attributes"]))
    return scopes, unread


def _set_aside(letter: str, message_id: str) -> bool:
    """True once work that no try could do lies with the dead letters; else its message has to come again."""
    try:
        service.dead_letters.set_aside(letter, message_id)
    except Exception as fault:  # noqa: BLE001 - whatever it is, the message must not be lost
        log_fault("a message could not be set aside", fault)
        return False
    return True


@contextmanager
def _spans(tasks: list[IndexTask], attempt: str) -> Iterator[None]:
    """One span in each trace that the batch works for; its calls stand in the last of them."""
    with ExitStack() as spans:
        for trace in dict.fromkeys(task.trace for task in tasks):
            span = spans.enter_context(service.world.tracer.span("index", under=TracePlace.parse(trace)))
            mine = [task for task in tasks if task.trace == trace]
            span.note(scope=mine[0].scope_id, count=len(mine), attempts=attempt.rpartition("/")[2])
        yield


def _attempt(attributes: dict[str, str]) -> str:
    """What names this try: a message that comes back from the dead letters counts its receives anew."""
    return f"{attributes['SentTimestamp']}/{attributes['ApproximateReceiveCount']}"


def _index(scope_id: str, root_id: str | None, messages: Messages) -> list[str]:
    """The ids of the messages that are not done."""
    tasks = list(dict.fromkeys(task for task, _ in messages.values()))
    attempt, clock = max(attempt for _, attempt in messages.values()), service.world.clock
    try:
        scope = service.index_scope(scope_id, root_id)
        strange = foreign(tasks, scope)
        known = [task for task in tasks if task not in strange]
        with _spans(known, attempt):
            left = (
                set(index_memories(known, scope, clock, attempt, service.world.signals)) if known else set()
            )
    except Exception as fault:  # noqa: BLE001 - one scope's trouble must not hold up another's
        log_fault("a scope's memories could not be indexed", fault)
        return list(messages)
    for message_id, (task, _) in messages.items():
        if task in strange and not _set_aside(body_of_task(task), message_id):
            left.add(task)
    return [message_id for message_id, (task, _) in messages.items() if task in left]
