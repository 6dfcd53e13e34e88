"""Forgetting selections: many memories, a conversation, a whole scope, and what has expired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.application.forget_selection import ForgetSelection, forget_selection, would_forget
from unsay_core.contracts import answers, exact_json, selection
from unsay_core.contracts.cursor import open_, seal
from unsay_core.domain.memory import Reason
from unsay_core.domain.scope import Action
from unsay_core.domain.timeline import rfc3339
from unsay_core.domain.tombstone import TombstoneKind
from unsay_core.endpoints.reply import Reply, address

if TYPE_CHECKING:
    from unsay_core.application.ports import OpenScope
    from unsay_core.endpoints.call import Call
    from unsay_core.endpoints.service import Service


def forget_selected(call: Call, service: Service) -> Reply:
    """`POST /v1/forget`."""
    asked = call.body(selection.ForgetIn)
    opened = service.open_scope(call.principal, asked.scope, Action.FORGET)
    selector = asked.selector.kept()
    if asked.dry_run:
        return _selected(selector, asked.cursor, opened, service)
    command = ForgetSelection(
        selector, asked.reason, TombstoneKind(asked.tombstone), asked.note, call.idempotency(opened)
    )
    return _begun(command, opened, service)


def prune(call: Call, service: Service) -> Reply:
    """`POST /v1/prune`."""
    asked = call.body(selection.PruneIn)
    opened = service.open_scope(call.principal, asked.scope, Action.FORGET)
    selector = {"filter": {"expired_before": rfc3339(service.world.clock.now())}}
    if asked.dry_run:
        return _selected(selector, asked.cursor, opened, service)
    command = ForgetSelection(
        selector, Reason.OUTDATED, TombstoneKind.ID, asked.note, call.idempotency(opened)
    )
    return _begun(command, opened, service)


def _begun(command: ForgetSelection, opened: OpenScope, service: Service) -> Reply:
    erasure = forget_selection(command, opened, service.world)
    where = {"Location": address("erasures", erasure.id, opened.scope)}
    return Reply(202, answers.erasure_answer(erasure, has_backups=service.has_backups), where)


def _selected(selector: dict[str, Any], cursor: str | None, opened: OpenScope, service: Service) -> Reply:
    is_pruning = "expired_before" in selector.get("filter", {})
    listing = exact_json.canonical(["forget", {"expired": True} if is_pruning else selector])
    after = open_(service.keyring, opened.id, listing, cursor) if cursor is not None else None
    page = would_forget(selector, opened, after=after)
    beyond = seal(service.keyring, opened.id, listing, page.next_after) if page.next_after else None
    ids = [memory.id for memory in page.entries]
    return Reply(200, {"matched": len(ids), "ids": ids, "next": beyond})
