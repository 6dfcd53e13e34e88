"""Pages: a stretch of one area, filtered, with the place to go on from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast

from unsay_core.application.fenced import Stretch
from unsay_core.application.ledger import ref_of
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from unsay_core.application.ledger import Area
    from unsay_core.application.ports import Ledger

E = TypeVar("E")

READ_AT_ONCE = 100
READ_MOST = 1_000  # entries looked at for one page; a rare match goes on with the cursor


@dataclass(frozen=True, slots=True)
class Page(Generic[E]):
    """Some entries; `next_after` is None when there is nothing beyond them."""

    entries: tuple[E, ...]
    next_after: str | None


def page_of(
    ledger: Ledger,
    area: Area,
    *,
    limit: int,
    after: str | None = None,
    newest_first: bool = False,
    wanted: Callable[[E], bool] | None = None,
) -> Page[E]:
    """Up to `limit` entries of an area that are wanted; may be short before the end."""
    found: list[E] = []
    looked_at, beyond = 0, after
    while True:
        entries = ledger.page(area, after=beyond, limit=READ_AT_ONCE, newest_first=newest_first)
        for entry in entries:
            looked_at, beyond = looked_at + 1, ref_of(entry).id
            if wanted is None or wanted(cast("E", entry)):
                found.append(cast("E", entry))
            if len(found) == limit or looked_at == READ_MOST:
                return Page(tuple(found), beyond)
        if isinstance(entries, Stretch):
            return Page(tuple(found), entries.next_after)
        if len(entries) < READ_AT_ONCE:
            return Page(tuple(found), None)
