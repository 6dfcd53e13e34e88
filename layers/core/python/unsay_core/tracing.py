"""Traces: which request some work belongs to, over threads, markers, events and messages.

A trace is told by spans. Its name travels as a W3C `traceparent`; what a span says of itself is one of a few
attributes, none of which can hold a text, a key or the name of a scope.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    Value: TypeAlias = str | int | float

_TRACEPARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})", re.ASCII)
_SAMPLED = 1
# What a span may say: digests, counts, codes and names of models.
ATTRIBUTES = frozenset({"scope", "status", "reason", "attempts", "retries", "model", "tokens", "count"})
_SAFE = re.compile(r"[A-Za-z0-9_.:/ -]{0,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class TracePlace:
    """A place in a trace: the span that what comes next is caused by."""

    trace_id: str
    span_id: str
    is_sampled: bool = True

    @classmethod
    def parse(cls, traceparent: str | None) -> TracePlace | None:
        """The place that a `traceparent` names; None for anything else, as the standard wants it."""
        found = _TRACEPARENT.fullmatch(traceparent or "")
        return cls(found[1], found[2], bool(int(found[3], 16) & _SAMPLED)) if found else None

    def __str__(self) -> str:
        """The place as a `traceparent`."""
        return f"00-{self.trace_id}-{self.span_id}-{int(self.is_sampled):02x}"


class Span:
    """Work that is being done, and what it says of itself; `name` is that of a use case or of a call."""

    def __init__(self, name: str, place: TracePlace | None = None) -> None:
        self.name = name
        self.place = place
        self.attributes: dict[str, Value] = {}

    def note(self, **attributes: Value) -> None:
        """Say something of it; raises `ValueError` for what no span may say."""
        for name, value in attributes.items():
            if name not in ATTRIBUTES or not _SAFE.fullmatch(str(value)):
                raise ValueError(f"no span may say this: {name}")
        self.attributes |= attributes


class Tracer(Protocol):
    """Where spans are told."""

    def span(self, name: str, *, under: TracePlace | None = None) -> AbstractContextManager[Span]:
        """Work that lasts as long as the context, below what this thread does already.

        Or `under` another place, of whichever trace.
        """


class Untraced:
    """See `Tracer`: nobody watches."""

    @contextmanager
    def span(self, name: str, *, under: TracePlace | None = None) -> Iterator[Span]:
        """Work of which nobody is told."""
        yield Span(name)


UNTRACED: Tracer = Untraced()
current: ContextVar[Span | None] = ContextVar("span", default=None)


def here() -> str | None:
    """The `traceparent` of what this thread does, for whoever goes on with it; None outside of any trace."""
    span = current.get()
    return str(span.place) if span and span.place else None


def note(**attributes: Value) -> None:
    """Say something of what this thread does, if it is traced."""
    span = current.get()
    if span is not None:
        span.note(**attributes)
