"""What a conversation may not keep: credentials, and what was taken back, wherever it is said again.

A tombstone knows a value by its digest alone. So a text is compared whole, by lines and by sentences; a
value in the middle of a sentence is not recognised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.application.digests import value_digests
from unsay_core.application.ledger import SCOPE_TOMBSTONE, Area, value_tombstone_ref
from unsay_core.application.sentences import sentences
from unsay_core.domain.errors import TooLargeError
from unsay_core.extraction.conversation import Redaction
from unsay_core.extraction.credentials import REDACTED, find_in_json, redact_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from unsay_core.application.draft import Draft
    from unsay_core.application.ports import OpenScope
    from unsay_core.domain.tombstone import Tombstone
    from unsay_core.extraction.conversation import Message

Spans = list[tuple[int, int]]

MOST_PIECES = 4_000  # compared in one request


def without_credentials(blocks: Any) -> tuple[Any, tuple[Redaction, ...]]:
    """A message's content with every credential replaced, and whether there was one."""
    if find_in_json(blocks) is None:
        return blocks, ()
    return redact_json(blocks), (Redaction.CREDENTIAL,)


class Graves:
    """The tombstones that the texts of some messages run into.

    They are read after the head of the draft: one that is dug meanwhile moves the head, and stops the change.
    """

    def __init__(self, draft: Draft, digests: Mapping[str, tuple[str, ...]]) -> None:
        self._draft = draft
        self._digests = digests
        self._of_scope: Tombstone | None = None
        self.hit: dict[str, Tombstone] = {}
        draft.load(*(value_tombstone_ref(d) for of_piece in digests.values() for d in of_piece))

    @classmethod
    def over(cls, texts: Iterable[str], draft: Draft, opened: OpenScope) -> Graves:
        """All of them; raises `TooLargeError` for more pieces than can be compared."""
        if not opened.ledger.page(Area.TOMBSTONE, limit=1):
            return cls(draft, {})
        wanted = {text[start:end] for text in texts for start, end in pieces(text)}
        if len(wanted) > MOST_PIECES:
            raise TooLargeError("these messages have too many sentences for one request: send fewer at once")
        graves = cls(draft, {piece: value_digests(opened.keys, piece) for piece in wanted})
        graves._of_scope = draft.get(SCOPE_TOMBSTONE)
        return graves

    def cleared(self, blocks: Any, said_at: datetime | None) -> tuple[Any, tuple[Redaction, ...]]:
        """A message's content without what was taken back, unless it was said anew after that.

        Nothing is left of what was said before all of the scope was erased.
        """
        if self._of_scope and said_at and said_at <= self._of_scope.at:
            return mapped(blocks, lambda text: REDACTED if text.strip() else text), (Redaction.TOMBSTONE,)
        changed = mapped(blocks, lambda text: blotted(text, self._spans(text, said_at)))
        return changed, (Redaction.TOMBSTONE,) if changed != blocks else ()

    def _spans(self, text: str, said_at: datetime | None) -> Spans:
        return [span for span in pieces(text) if self._forbids(text[slice(*span)], said_at)]

    def _forbids(self, piece: str, said_at: datetime | None) -> bool:
        for digest in self._digests.get(piece, ()):
            grave = self._draft.get(value_tombstone_ref(digest))
            if grave and not grave.lifted and not (said_at and said_at > grave.at):
                self.hit[digest] = grave
                return True
        return False


def redacted(message: Message, graves: Graves) -> Message | None:
    """A stored message without what was taken back; None if it says nothing of it."""
    (blocks, _), why = graves.cleared([message.blocks, message.name], message.dated)
    return message.cleared(blocks, why) if why else None


def pieces(text: str) -> Iterator[tuple[int, int]]:
    """The stretches of a text that are compared with what was taken back, the longest first."""
    seen: set[tuple[int, int]] = set()
    for span in (*_whole(text), *_lines(text), *sentences(text)):
        if span not in seen:
            seen.add(span)
            yield span


def blotted(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with some stretches replaced."""
    parts, at = [], 0
    for start, end in sorted(spans):
        if start >= at:
            parts += [text[at:start], REDACTED]
        at = max(at, end)
    return "".join([*parts, text[at:]])


def mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with each of its strings changed; names stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: mapped(child, change) for name, child in value.items()}
    return [mapped(child, change) for child in value] if isinstance(value, list) else value


def strings(value: Any) -> Iterator[str]:
    """Every string of a JSON value, names apart."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from strings(child)


def _whole(text: str) -> Iterator[tuple[int, int]]:
    if text.strip():
        yield len(text) - len(text.lstrip()), len(text.rstrip())


def _lines(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for line in text.splitlines(keepends=True):
        yield from ((at + start, at + end) for start, end in _whole(line))
        at += len(line)
