"""Which generation of the index is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from unsay_core.domain.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unsay_core.application.ports import Clock

REMEMBERED = 60.0  # seconds for which a process goes on reading the generation it knows of


class ReadPointer(Protocol):
    """Which generation is read: one place, so that every reader turns at once."""

    def current(self) -> int | None:
        """The generation's number; None if nobody has pointed yet."""

    def turn(self, to: int, *, instead_of: int | None) -> None:
        """Point at another; raises `ConflictError` if somebody else has turned it meanwhile."""


def generation_to_read(listed: Sequence[int], pointed: int | None) -> int:
    """The one that is pointed at; the oldest, if that one is not there: it was complete before any other."""
    return pointed if pointed is not None and pointed in listed else min(listed)


class Reading:
    """The generation to read, as a process knows it: with only one there is nothing to ask.

    A pointer that was turned meanwhile, or cannot be read, does no harm: all generations are kept, and the
    oldest is whole.
    """

    def __init__(self, listed: Sequence[int], pointer: ReadPointer, clock: Clock) -> None:
        self._listed = listed
        self._pointer = pointer
        self._clock = clock
        self._known: tuple[float, int] | None = None

    def generation(self) -> int:
        """Its number; asked for once a minute."""
        if len(self._listed) == 1:
            return self._listed[0]
        now = self._clock.monotonic()
        if self._known is None or now - self._known[0] >= REMEMBERED:
            self._known = (now, self._asked())
        return self._known[1]

    def _asked(self) -> int:
        try:
            return generation_to_read(self._listed, self._pointer.current())
        except UnavailableError:
            return self._known[1] if self._known else min(self._listed)
