"""Answers on their way out, and what several endpoints render alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote

from unsay_core.application.ledger import ref_of
from unsay_core.contracts import answers, cursor, exact_json
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.application.ledger import Entry
    from unsay_core.application.pages import Page
    from unsay_core.application.ports import OpenScope
    from unsay_core.application.replay import Written
    from unsay_core.contracts.requests import PageQuery
    from unsay_core.domain.memory import Memory
    from unsay_core.domain.scope import Scope
    from unsay_core.endpoints.service import Service

E = TypeVar("E")

ANSWER_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Reply:
    """Status, body and headers."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


def memory_reply(
    memory: Memory, opened: OpenScope, service: Service, *, status: int = 200, at: datetime | None = None
) -> Reply:
    """One memory as it stands, or stood `at` a time, with its version as the entity tag."""
    body = answers.memory_answer(memory, opened.scope.canonical, at or service.world.clock.now())
    return Reply(status, body, {"ETag": f'"{memory.version}"', **quota_headers(opened)})


def quota_headers(opened: OpenScope) -> dict[str, str]:
    """What a write left of each quota of its scope; nothing where there is none."""
    headers: dict[str, str] = {}
    for name, left in opened.allowance.left.items():
        headers |= quota_header(name, left.limit, left.remaining)
    return headers


def quota_header(name: str, limit: int, remaining: int) -> dict[str, str]:
    """One quota, and what is left of it."""
    stem = f"X-Quota-{name.capitalize()}"
    return {f"{stem}-Limit": str(limit), f"{stem}-Remaining": str(remaining)}


def replayed(again: bool) -> dict[str, str]:
    """What tells an answer that was given before."""
    return {"Idempotency-Replayed": "true"} if again else {}


def changed_reply(written: Written, opened: OpenScope, service: Service) -> Reply:
    """What became of a memory."""
    reply = memory_reply(written.memory, opened, service, status=201 if written.created else 200)
    reply.headers.update(replayed(written.replayed))
    return reply


def written_reply(written: Written, opened: OpenScope, service: Service) -> Reply:
    """What a write led to: a memory that is new, or that said the same before."""
    reply = changed_reply(written, opened, service)
    if written.created:
        reply.headers["Location"] = address("memories", written.memory.id, opened.scope)
    if written.deduplicated:
        reply.body["deduplicated"] = True
    return reply


def address(kind: str, thing_id: str, scope: Scope) -> str:
    """Where a thing is found again."""
    return f"/v1/{kind}/{thing_id}?scope={quote(scope.canonical, safe='')}"


def start_of_page(asked: PageQuery, opened: OpenScope, service: Service) -> str | None:
    """Where the page that a cursor names begins; None for the first."""
    if asked.cursor is None:
        return None
    return cursor.open_(service.keyring, opened.id, _listing(asked), asked.cursor)


def page_reply(
    page: Page[E],
    render: Callable[[E], dict[str, Any]],
    asked: PageQuery,
    opened: OpenScope,
    service: Service,
) -> Reply:
    """A page, with the cursor of the next; shorter than it might be where its entries are long."""
    items = within_size([render(entry) for entry in page.entries])
    cut = len(items) < len(page.entries)
    after = ref_of(cast("Entry", page.entries[len(items) - 1])).id if cut else page.next_after
    sealed = cursor.seal(service.keyring, opened.id, _listing(asked), after) if after else None
    damaged = {"unreadable": [*page.unreadable]} if page.unreadable else {}
    return Reply(200, {"items": items, "next_cursor": sealed, **damaged})


def within_size(items: list[dict[str, Any]]) -> list[exact_json.Written]:
    """The first items that an answer can carry, one at the least: Lambda answers 6 MB at the most."""
    written = [exact_json.Written(exact_json.dumps(item)) for item in items]
    sizes = accumulate(len(item.text.encode()) for item in written)
    return written[: max(1, sum(size <= ANSWER_BYTES for size in sizes))]


def _listing(asked: PageQuery) -> bytes:
    """What a cursor holds for: the very query it came from, page size apart."""
    stated = asked.model_dump(mode="json", exclude={"scope", "cursor", "limit"})
    return exact_json.canonical([type(asked).__name__, stated])
