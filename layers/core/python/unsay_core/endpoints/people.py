"""What people decide and check: reviews, tombstones, receipts, the audit log."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from unsay_core.application.ledger import Waiting
from unsay_core.application.look_up import ListMemories, list_memories
from unsay_core.application.receipts import list_receipts, receipt
from unsay_core.application.review import Decide, Decision, decide, nearest, waiting
from unsay_core.application.tombstones import Lift, lift_tombstone, list_tombstones
from unsay_core.application.verify_audit import list_audit, verify_audit
from unsay_core.contracts import answers, people, requests
from unsay_core.domain.ids import require_digest, require_id
from unsay_core.domain.scope import Action
from unsay_core.endpoints.reply import Reply, changed_reply, page_reply, replayed, start_of_page
from unsay_core.metrics import CHAIN_VERIFIED

if TYPE_CHECKING:
    from unsay_core.application.pages import Page
    from unsay_core.application.ports import OpenScope
    from unsay_core.domain.memory import Memory
    from unsay_core.endpoints.call import Call
    from unsay_core.endpoints.service import Service


def list_reviews(call: Call, service: Service) -> Reply:
    """`GET /v1/reviews`."""
    asked = call.query(people.ReviewsQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.REVIEW, reading=True)
    page = _reviewable(asked, opened, service)
    now, scope = service.world.clock.now(), asked.scope.canonical
    looking = {m.id: service.world.executor.submit(nearest, m, opened) for m in page.entries}

    def render(memory: Memory) -> dict[str, Any]:
        close = looking[memory.id].result()
        return {**answers.memory_answer(memory, scope, now), "nearest": list(close)}

    return page_reply(page, render, asked, opened, service)


def decide_review(call: Call, service: Service) -> Reply:
    """`POST /v1/reviews/{id}`."""
    asked, where = call.body(people.DecisionIn), call.query(requests.ScopeQuery)
    opened = service.open_scope(call.principal, where.scope, Action.REVIEW)
    command = Decide(
        memory_id=require_id(call.id, "mem"),
        version=call.if_match,
        decision=Decision(asked.decision),
        reason=asked.reason,
        note=asked.note,
        idempotency=call.idempotency(opened),
    )
    return changed_reply(decide(command, opened, service.world), opened, service)


def tombstones(call: Call, service: Service) -> Reply:
    """`GET /v1/tombstones`."""
    asked = call.query(requests.PageQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.FORGET)
    page = list_tombstones(opened, after=start_of_page(asked, opened, service), limit=asked.limit)
    return page_reply(page, answers.tombstone_answer, asked, opened, service)


def lift(call: Call, service: Service) -> Reply:
    """`POST /v1/tombstones/{id}/lift`."""
    asked, where = call.body(requests.ReasonIn), call.query(requests.ScopeQuery)
    opened = service.open_scope(call.principal, where.scope, Action.REVIEW)
    command = Lift(require_digest(call.id), asked.reason, asked.note, call.idempotency(opened))
    lifted = lift_tombstone(command, opened, service.world)
    return Reply(200, answers.tombstone_answer(lifted.tombstone), replayed(lifted.replayed))


def get_erasure(call: Call, service: Service) -> Reply:
    """`GET /v1/erasures/{id}`."""
    asked = call.query(requests.ScopeQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.FORGET)
    found = receipt(require_id(call.id, "era"), opened)
    return Reply(200, answers.erasure_answer(found, has_backups=service.has_backups))


def erasures(call: Call, service: Service) -> Reply:
    """`GET /v1/erasures`."""
    asked = call.query(requests.PageQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.FORGET)
    page = list_receipts(opened, after=start_of_page(asked, opened, service), limit=asked.limit)
    shown = partial(answers.erasure_answer, has_backups=service.has_backups)
    return page_reply(page, shown, asked, opened, service)


def audit(call: Call, service: Service) -> Reply:
    """`GET /v1/audit`."""
    asked = call.query(people.AuditQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.AUDIT)
    start = start_of_page(asked, opened, service)
    page = list_audit(opened, after=asked.after, start=start, limit=asked.limit)
    return page_reply(page, answers.event_answer, asked, opened, service)


def verify(call: Call, service: Service) -> Reply:
    """`GET /v1/audit/verify`."""
    asked = call.query(people.VerifyQuery)
    opened = service.open_audit(call.principal, asked.scope)
    found = verify_audit(opened, start=asked.start)
    result = "broken" if not found.ok else "whole" if found.complete else "part"
    service.world.signals.tell(CHAIN_VERIFIED, whose={"scope_id": opened.id}, result=result)
    return Reply(200, answers.verification_answer(found))


def _reviewable(asked: people.ReviewsQuery, opened: OpenScope, service: Service) -> Page[Memory]:
    """What waits; or, for who wants to look at more, what is believed."""
    after = start_of_page(asked, opened, service)
    if asked.state == "active":
        return list_memories(ListMemories(limit=asked.limit, after=after), opened, service.world)
    return waiting(Waiting(asked.state), opened, service.world, after=after, limit=asked.limit)
