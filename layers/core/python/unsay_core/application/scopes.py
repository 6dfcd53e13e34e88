"""Which scopes there are: names, kept apart from the memories, for those who may read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from unsay_core.domain.scope import Action, Principal, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 1_000
REMEMBERED = 10_000  # names a process keeps in mind


class ScopeNotes(Protocol):
    """Where the name of a scope is noted."""

    def add(self, scope: Scope) -> None:
        """Note a scope; again does no harm."""


class NotedOnce:
    """Notes each scope once, as far as it remembers: nearly every change is in a scope that is known."""

    def __init__(self, notes: ScopeNotes) -> None:
        self._notes = notes
        self._known: set[str] = set()

    def add(self, scope: Scope) -> None:
        """See `ScopeNotes`."""
        if scope.canonical in self._known:
            return
        self._notes.add(scope)
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known.add(scope.canonical)


class Registry(ScopeNotes, Protocol):
    """The names of scopes that were written to; it may lag, and decides nothing."""

    def roots(self) -> Iterable[str]:
        """Every first segment there is."""

    def below(self, root: str) -> Iterable[Scope]:
        """The scopes that begin with a segment, in the order of their names."""


def known_scopes(principal: Principal, prefix: Scope | None, registry: Registry) -> list[Scope]:
    """The known scopes at or below `prefix` that the principal may read, at most a thousand."""
    roots = [prefix.segments[0]] if prefix else _readable_roots(principal, registry)
    found = (scope for root in roots for scope in registry.below(root))
    wanted = prefix.segments if prefix else ()
    readable = [
        scope
        for scope in found
        if scope.segments[: len(wanted)] == wanted and principal.may(Action.READ, scope)
    ]
    return readable[:MOST]


def _readable_roots(principal: Principal, registry: Registry) -> list[str]:
    """First segments the grants name; all there are, if one of them is everything."""
    patterns = [grant.pattern for grant in principal.grants if Action.READ in grant.actions]
    if any(not pattern.prefix for pattern in patterns):
        return sorted(registry.roots())
    return sorted({pattern.prefix[0] for pattern in patterns})
