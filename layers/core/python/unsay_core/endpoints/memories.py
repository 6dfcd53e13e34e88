"""Writing memories: remember, batch, edit, correct, retract, dispute, forget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.application.correct import Correct, correct
from unsay_core.application.edit import Edit, edit
from unsay_core.application.forget import Forget, forget
from unsay_core.application.remember import Remember, remember, remember_batch
from unsay_core.application.take_back import TakeBack, dispute, retract
from unsay_core.contracts import answers, requests
from unsay_core.domain.errors import UnsayError
from unsay_core.domain.ids import require_id
from unsay_core.domain.memory import Fact
from unsay_core.domain.scope import Action
from unsay_core.domain.tombstone import TombstoneKind
from unsay_core.endpoints.call import validated
from unsay_core.endpoints.problem import count_refusal, problem_document
from unsay_core.endpoints.reply import (
    Reply,
    address,
    changed_reply,
    memory_reply,
    quota_headers,
    written_reply,
)

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.application.ports import OpenScope
    from unsay_core.application.replay import IdempotencyKey, Written
    from unsay_core.endpoints.call import Call
    from unsay_core.endpoints.service import Service


def remember_memory(call: Call, service: Service) -> Reply:
    """`POST /v1/memories`."""
    asked = call.body(requests.RememberIn)
    opened = service.open_scope(call.principal, asked.scope, Action.WRITE)
    command = _remember(asked, service.world.clock.now(), call.idempotency(opened))
    return written_reply(remember(command, opened, service.world), opened, service)


def remember_memories(call: Call, service: Service) -> Reply:
    """`POST /v1/memories/batch`."""
    asked = call.body(requests.BatchIn)
    opened = service.open_scope(call.principal, asked.scope, Action.WRITE)
    parsed = [_parsed(item, number, call, opened, service) for number, item in enumerate(asked.items)]
    commands = [item for item in parsed if isinstance(item, Remember)]
    written = iter(remember_batch(commands, opened, service.world))
    outcomes = [item if isinstance(item, UnsayError) else next(written) for item in parsed]
    results = [_result(outcome, call, opened, service) for outcome in outcomes]
    return Reply(200, {"results": results}, quota_headers(opened))


def edit_memory(call: Call, service: Service) -> Reply:
    """`PATCH /v1/memories/{id}`."""
    asked, where = call.body(requests.EditIn), call.query(requests.ScopeQuery)
    opened = service.open_scope(call.principal, where.scope, Action.WRITE)
    command = Edit(require_id(call.id, "mem"), call.if_match, _stated(asked))
    return memory_reply(edit(command, opened, service.world), opened, service)


def correct_memory(call: Call, service: Service) -> Reply:
    """`POST /v1/memories/{id}/correct`."""
    asked, where = call.body(requests.CorrectIn), call.query(requests.ScopeQuery)
    opened = service.open_scope(call.principal, where.scope, Action.WRITE)
    command = Correct(
        memory_id=require_id(call.id, "mem"),
        version=call.if_match,
        content=asked.content,
        because=asked.because,
        changes=_corrections(asked, service.world.clock.now()),
        quote=asked.quote,
        note=asked.note,
        idempotency=call.idempotency(opened),
    )
    return written_reply(correct(command, opened, service.world), opened, service)


def retract_memory(call: Call, service: Service) -> Reply:
    """`POST /v1/memories/{id}/retract`."""
    opened, command = _taking_back(call, service, Action.FORGET)
    return changed_reply(retract(command, opened, service.world), opened, service)


def dispute_memory(call: Call, service: Service) -> Reply:
    """`POST /v1/memories/{id}/dispute`."""
    opened, command = _taking_back(call, service, Action.WRITE)
    return changed_reply(dispute(command, opened, service.world), opened, service)


def forget_memory(call: Call, service: Service) -> Reply:
    """`DELETE /v1/memories/{id}`."""
    asked, note = call.query(requests.ForgetQuery), call.note
    opened = service.open_scope(call.principal, asked.scope, Action.FORGET)
    command = Forget(require_id(call.id, "mem"), asked.reason, TombstoneKind(asked.tombstone), note=note)
    erasure = forget(command, opened, service.world)
    where = {"Location": address("erasures", erasure.id, opened.scope)}
    return Reply(202, answers.erasure_answer(erasure, has_backups=service.has_backups), where)


def _remember(asked: requests.ItemIn, now: datetime, idempotency: IdempotencyKey | None) -> Remember:
    return Remember(
        fact=Fact(
            content=asked.content,
            kind=asked.kind,
            key=asked.key,
            path=asked.path,
            tags=asked.tags,
            importance=asked.importance,
            data=asked.data,
            metadata=asked.metadata,
            valid_from=asked.valid_from,
            valid_to=asked.valid_to,
            expires_at=asked.expiry(now),
        ),
        run_id=asked.source.run_id,
        message_seqs=tuple(asked.source.message_seqs),
        quote=asked.source.quote,
        derived_from=tuple(asked.derived_from),
        idempotency=idempotency,
    )


def _parsed(item: Any, number: int, call: Call, opened: OpenScope, service: Service) -> Remember | UnsayError:
    """One item of a batch as a command, or what is wrong with it: it does not stop the others."""
    try:
        asked = validated(requests.ItemIn, item)
    except UnsayError as refusal:
        return refusal
    return _remember(asked, service.world.clock.now(), call.idempotency(opened, item=number))


def _result(outcome: Written | UnsayError, call: Call, opened: OpenScope, service: Service) -> dict[str, Any]:
    if isinstance(outcome, UnsayError):
        count_refusal(outcome, service.world.signals)
        return {"status": outcome.status, "problem": problem_document(outcome, call.request_id)}
    reply = written_reply(outcome, opened, service)
    return {"status": reply.status, "memory": reply.body}


def _taking_back(call: Call, service: Service, action: Action) -> tuple[OpenScope, TakeBack]:
    asked, where = call.body(requests.ReasonIn), call.query(requests.ScopeQuery)
    opened = service.open_scope(call.principal, where.scope, action)
    return opened, TakeBack(
        require_id(call.id, "mem"), call.if_match, asked.reason, asked.note, call.idempotency(opened)
    )


def _stated(asked: requests.EditIn) -> dict[str, Any]:
    """The fields an edit names; null gives a field what it has when nobody states it."""
    unstated = Fact("")
    return {
        name: getattr(unstated, name) if (value := getattr(asked, name)) is None else value
        for name in asked.model_fields_set
    }


def _corrections(asked: requests.CorrectIn, now: datetime) -> dict[str, Any]:
    """The fields of a correction that were sent: null clears, absent takes over."""
    stated = {
        name: getattr(asked, name)
        for name in asked.model_fields_set - {"content", "because", "quote", "note", "ttl_seconds"}
    }
    if asked.ttl_seconds:
        stated["expires_at"] = asked.expiry(now)
    return stated
