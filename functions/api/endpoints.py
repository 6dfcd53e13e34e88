"""One function per operation: read the request, call the use case, render the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from unsay_core.application.access import MakeKey, make_key
from unsay_core.application.correct import Correct, correct
from unsay_core.application.forget import Forget, forget
from unsay_core.application.look_up import ListMemories, get, list_memories
from unsay_core.application.recall import Recall, recall
from unsay_core.application.receipts import receipt
from unsay_core.application.remember import Remember, remember
from unsay_core.application.verify_audit import verify_audit
from unsay_core.contracts import answers, cursor, exact_json, openapi, requests
from unsay_core.domain.ids import require_id
from unsay_core.domain.ledger import TombstoneKind
from unsay_core.domain.memory import Fact
from unsay_core.domain.scope import Action

if TYPE_CHECKING:
    from collections.abc import Callable

    from functions.api.call import Call
    from unsay_core.application.ports import OpenScope
    from unsay_core.application.replay import Written
    from unsay_core.bootstrap.aws import ApiService
    from unsay_core.domain.scope import Scope


@dataclass(frozen=True)
class Reply:
    """An answer on its way out."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


def remember_memory(call: Call, service: ApiService) -> Reply:
    """`POST /v1/memories`."""
    asked = call.body(requests.RememberIn)
    opened = service.open_scope(call.principal, asked.scope, Action.WRITE)
    now = service.world.clock.now()
    command = Remember(
        fact=Fact(
            content=asked.content,
            kind=asked.kind,
            key=asked.key,
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
        idempotency=call.idempotency(opened),
    )
    return _written(remember(command, opened, service.world), opened, service)


def correct_memory(call: Call, service: ApiService) -> Reply:
    """`POST /v1/memories/{id}/correct`."""
    asked, where = call.body(requests.CorrectIn), call.query(requests.ScopeQuery)
    opened = service.open_scope(call.principal, where.scope, Action.WRITE)
    command = Correct(
        memory_id=require_id(call.id, "mem"),
        version=call.if_match,
        content=asked.content,
        because=asked.because,
        changes=_changes(asked, service),
        quote=asked.quote,
        note=asked.note,
        idempotency=call.idempotency(opened),
    )
    return _written(correct(command, opened, service.world), opened, service)


def forget_memory(call: Call, service: ApiService) -> Reply:
    """`DELETE /v1/memories/{id}`."""
    asked = call.query(requests.ForgetQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.FORGET)
    command = Forget(require_id(call.id, "mem"), asked.reason, TombstoneKind(asked.tombstone))
    erasure = forget(command, opened, service.world)
    where = f"/v1/erasures/{erasure.id}?scope={quote(asked.scope.canonical, safe='')}"
    return Reply(202, answers.erasure_answer(erasure), {"Location": where})


def get_memory(call: Call, service: ApiService) -> Reply:
    """`GET /v1/memories/{id}`."""
    asked = call.query(requests.ScopeQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.READ)
    memory = get(require_id(call.id, "mem"), opened)
    body = answers.memory_answer(memory, asked.scope.canonical, service.world.clock.now())
    return Reply(200, body, {"ETag": f'"{memory.version}"'})


def list_all(call: Call, service: ApiService) -> Reply:
    """`GET /v1/memories`."""
    asked = call.query(requests.ListQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.READ)
    # A cursor holds for the very query it came from, page size apart.
    listing = exact_json.canonical(asked.model_dump(mode="json", exclude={"scope", "cursor", "limit"}))
    query = ListMemories(
        limit=asked.limit,
        after=cursor.open_(service.keyring, opened.id, listing, asked.cursor) if asked.cursor else None,
        oldest_first=asked.order == "asc",
        status=asked.status,
        kind=asked.kind,
        tag=asked.tag,
        key=asked.key,
        trust=asked.trust,
        run_id=asked.run_id,
        valid_at=asked.valid_at,
    )
    found = list_memories(query, opened, service.world)
    now = service.world.clock.now()
    after = found.next_after
    body = {
        "items": [answers.memory_answer(m, asked.scope.canonical, now) for m in found.memories],
        "next_cursor": cursor.seal(service.keyring, opened.id, listing, after) if after else None,
    }
    return Reply(200, body)


def recall_memories(call: Call, service: ApiService) -> Reply:
    """`POST /v1/recall`."""
    started = service.world.clock.monotonic()
    asked = call.body(requests.RecallIn)
    scopes = list(dict.fromkeys([asked.scope] if asked.scope else asked.scopes or []))
    for scope in scopes:
        call.principal.require(Action.READ, scope)
    opened = list(service.world.executor.map(lambda scope: _read(call, service, scope), scopes))
    query = Recall(
        query=asked.query,
        limit=asked.limit,
        kinds=tuple(asked.kinds or ()),
        tags=asked.tags,
        min_trust=asked.min_trust,
        min_score=float(asked.min_score or 0),
        include=frozenset(asked.include),
        valid_at=asked.valid_at,
        deadline=asked.deadline_ms / 1000,
    )
    found = recall(query, opened, service.world)
    took = service.world.clock.monotonic() - started
    return Reply(200, answers.recollection_answer(found, service.world.clock.now(), took))


def get_erasure(call: Call, service: ApiService) -> Reply:
    """`GET /v1/erasures/{id}`."""
    asked = call.query(requests.ScopeQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.FORGET)
    return Reply(200, answers.erasure_answer(receipt(require_id(call.id, "era"), opened)))


def verify(call: Call, service: ApiService) -> Reply:
    """`GET /v1/audit/verify`."""
    asked = call.query(requests.VerifyQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.AUDIT)
    return Reply(200, answers.verification_answer(verify_audit(opened, start=asked.start)))


def make_api_key(call: Call, service: ApiService) -> Reply:
    """`POST /v1/keys`."""
    asked = call.body(requests.KeyIn)
    command = MakeKey(asked.name, asked.kind, tuple(asked.grants), asked.expires_at)
    made = make_key(command, call.principal, service.keys, service.keyring, service.world)
    return Reply(201, answers.key_answer(made))


def health(_call: Call, _service: ApiService) -> Reply:
    """`GET /v1/health`."""
    return Reply(200, {"status": "ok", "degraded": []})


def openapi_document(_call: Call, _service: ApiService) -> Reply:
    """`GET /v1/openapi.json`."""
    return Reply(200, _document())


@cache
def _document() -> dict[str, Any]:
    return openapi.document()


def _read(call: Call, service: ApiService, scope: Scope) -> OpenScope:
    return service.open_scope(call.principal, scope, Action.READ)


def _changes(asked: requests.CorrectIn, service: ApiService) -> dict[str, Any]:
    """The fields of a correction that were sent: null clears, absent takes over."""
    stated = {
        name: getattr(asked, name)
        for name in asked.model_fields_set - {"content", "because", "quote", "note", "ttl_seconds"}
    }
    if asked.ttl_seconds:
        stated["expires_at"] = asked.expiry(service.world.clock.now())
    return stated


def _written(written: Written, opened: OpenScope, service: ApiService) -> Reply:
    memory, scope = written.memory, opened.scope.canonical
    body = answers.memory_answer(memory, scope, service.world.clock.now())
    headers = {"ETag": f'"{memory.version}"'}
    if written.created:
        headers["Location"] = f"/v1/memories/{memory.id}?scope={quote(scope, safe='')}"
    if written.replayed:
        headers["Idempotency-Replayed"] = "true"
    if written.deduplicated:
        body["deduplicated"] = True
    return Reply(201 if written.created else 200, body, headers)


ENDPOINTS: dict[str, Callable[[Call, ApiService], Reply]] = {
    "remember": remember_memory,
    "list": list_all,
    "get": get_memory,
    "correct": correct_memory,
    "forget": forget_memory,
    "recall": recall_memories,
    "erasure": get_erasure,
    "verify_audit": verify,
    "make_key": make_api_key,
    "health": health,
    "openapi": openapi_document,
}
