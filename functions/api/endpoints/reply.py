"""Answers on their way out, and what several endpoints render alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from unsay_core.contracts import answers, cursor, exact_json

if TYPE_CHECKING:
    from unsay_core.application.pages import Page
    from unsay_core.application.ports import OpenScope
    from unsay_core.application.replay import Written
    from unsay_core.bootstrap.aws import ApiService
    from unsay_core.contracts.requests import PageQuery
    from unsay_core.domain.memory import Memory
    from unsay_core.domain.scope import Scope

E = TypeVar("E")


@dataclass(frozen=True)
class Reply:
    """Status, body and headers."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


def memory_reply(memory: Memory, opened: OpenScope, service: ApiService, status: int = 200) -> Reply:
    """One memory, with its version as the entity tag."""
    body = answers.memory_answer(memory, opened.scope.canonical, service.world.clock.now())
    return Reply(status, body, {"ETag": f'"{memory.version}"'})


def written_reply(written: Written, opened: OpenScope, service: ApiService) -> Reply:
    """What a write led to."""
    reply = memory_reply(written.memory, opened, service, status=201 if written.created else 200)
    if written.created:
        reply.headers["Location"] = address("memories", written.memory.id, opened.scope)
    if written.replayed:
        reply.headers["Idempotency-Replayed"] = "true"
    if written.deduplicated:
        reply.body["deduplicated"] = True
    return reply


def address(kind: str, thing_id: str, scope: Scope) -> str:
    """Where a thing is found again."""
    return f"/v1/{kind}/{thing_id}?scope={quote(scope.canonical, safe='')}"


def start_of_page(asked: PageQuery, opened: OpenScope, service: ApiService) -> str | None:
    """Where the page that a cursor names begins; None for the first."""
    if asked.cursor is None:
        return None
    return cursor.open_(service.keyring, opened.id, _listing(asked), asked.cursor)


def page_reply(
    page: Page[E],
    render: Callable[[E], dict[str, Any]],
    asked: PageQuery,
    opened: OpenScope,
    service: ApiService,
) -> Reply:
    """A page, with the cursor of the next."""
    after = page.next_after
    sealed = cursor.seal(service.keyring, opened.id, _listing(asked), after) if after else None
    return Reply(200, {"items": [render(entry) for entry in page.entries], "next_cursor": sealed})


def _listing(asked: PageQuery) -> bytes:
    """What a cursor holds for: the very query it came from, page size apart."""
    stated = asked.model_dump(mode="json", exclude={"scope", "cursor", "limit"})
    return exact_json.canonical([type(asked).__name__, stated])
