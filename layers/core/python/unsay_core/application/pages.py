"""Pages: a stretch of one area, filtered, with the place to go on from."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from unsay_core.application.fenced import Stretch
from unsay_core.application.ledger import ref_of
from unsay_core.application.ports import UnreadableError
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unsay_core.application.ledger import Area, Entry
    from unsay_core.application.ports import Ledger

E = TypeVar("E")

READ_AT_ONCE = 100
READ_MOST = 1_000  # entries looked at for one page; a rare match goes on with the cursor


@dataclass(frozen=True, slots=True)
class Page(Generic[E]):
    """Some entries; `next_after` is None when there is nothing beyond them.

    `unreadable` are the ids of what lies between them and has lost its form.
    """

    entries: tuple[E, ...]
    next_after: str | None
    unreadable: tuple[str, ...] = ()


def page_of(
    ledger: Ledger,
    area: Area,
    *,
    limit: int,
    after: str | None = None,
    newest_first: bool = False,
    wanted: Callable[[E], bool] | None = None,
    set_aside: bool = False,
) -> Page[E]:
    """Up to `limit` entries of an area that are wanted; may be short before the end.

    Raises `UnreadableError` for an entry that has lost its form, unless such are `set_aside`.
    """
    found: list[E] = []
    damaged: list[str] = []
    looked_at, beyond = 0, after
    read = partial(intact_page, ledger, damaged) if set_aside else ledger.page
    while True:
        entries = read(area, after=beyond, limit=READ_AT_ONCE, newest_first=newest_first)
        for entry in entries:
            looked_at, beyond = looked_at + 1, ref_of(entry).id
            if wanted is None or wanted(cast("E", entry)):
                found.append(cast("E", entry))
            if len(found) == limit or looked_at == READ_MOST:
                return Page(tuple(found), beyond, tuple(damaged))
        if isinstance(entries, Stretch):
            return Page(tuple(found), entries.next_after, tuple(damaged))
        if len(entries) < READ_AT_ONCE:
            return Page(tuple(found), None, tuple(damaged))


def intact_page(
    ledger: Ledger,
    damaged: list[str],
    area: Area,
    *,
    after: str | None = None,
    limit: int,
    newest_first: bool = False,
) -> Sequence[Entry]:
    """A page of a ledger without what has lost its form: its ids are added to `damaged`.

    Where there is such an entry, those before it are read one by one, and then it is passed over.
    """
    found: list[Entry] = []
    beyond, at_once = after, limit
    while True:
        asked = min(at_once, limit - len(found))
        try:
            entries = ledger.page(area, after=beyond, limit=asked, newest_first=newest_first)
        except UnreadableError as unreadable:
            if at_once == 1:
                damaged.append(unreadable.ref.id)
                beyond, at_once = unreadable.ref.id, limit
            else:
                at_once = 1
            continue
        found += entries
        if isinstance(entries, Stretch):
            cut = Stretch(found)
            cut.next_after = entries.next_after
            return cut
        if len(entries) < asked or len(found) == limit:
            return found
        beyond = ref_of(entries[-1]).id
