"""Trust: assigned by the way a memory came in, never by what it says of itself."""

from __future__ import annotations

from collections.abc import Collection

from unsay_core.domain.errors import WrongStatusError
from unsay_core.domain.memory import Memory, Trust

# What each kind of word may replace on its own; whatever it may not replace, a person decides on.
_MAY_REPLACE: dict[Trust, frozenset[Trust]] = {
    Trust.INFERRED: frozenset({Trust.INFERRED}),
    Trust.ASSERTED: frozenset(Trust),
    Trust.VERIFIED: frozenset(Trust),
    Trust.DISPUTED: frozenset(),
}


def after_edit(trust: Trust, *, is_restated: bool) -> Trust:
    """What an edited memory is worth: who states it anew vouches for it; a dispute does not end that way."""
    return Trust.ASSERTED if is_restated and trust is not Trust.DISPUTED else trust


def after_corroboration(trust: Trust, said: Trust) -> Trust:
    """What a memory is worth that has been said again: as much as the better word for it, unless disputed."""
    return trust if trust is Trust.DISPUTED else max(trust, said, key=lambda each: each.rank)


def may_replace(new: Trust, old: Trust) -> bool:
    """True if a memory of trust `new` may take the place of one of trust `old` without review."""
    return old in _MAY_REPLACE[new]


def require_may_replace(new: Memory, others: Collection[Memory]) -> None:
    """Raise `WrongStatusError` unless a memory may take the place of all of these; of an item, none may."""
    if any(other.fact.is_item for other in others):
        raise WrongStatusError("another item has this key now")
    if not all(may_replace(new.trust, other.trust) for other in others):
        raise WrongStatusError(f"a memory that is {new.trust} cannot take the place of another")
