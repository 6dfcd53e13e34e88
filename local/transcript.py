"""Reads a conversation: JSON Lines of `{role, content, at}`, one turn each.

A line that is no turn costs that line and nothing else: it is refused by number, with the reason and
without its text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unsay_core.contracts import exact_json
from unsay_core.contracts.base import BODY_BYTES, DEPTH, parse_instant
from unsay_core.domain.errors import InvalidRequestError, InvalidTimeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path
    from typing import BinaryIO

ROLES = ("user", "assistant", "system", "tool")
# The service takes no request that is larger, so that a longer line could never be stored.
LONGEST_LINE_BYTES = BODY_BYTES
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said; `at` is None where the line does not tell."""

    line: int
    role: str
    content: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line that could not be used, and why."""

    line: int
    why: str


@dataclass(slots=True)
class Transcript:
    """The turns of a file in their order, and the lines that are none."""

    turns: list[Turn] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)

    def of(self, role: str) -> list[Turn]:
        """The turns of one side."""
        return [turn for turn in self.turns if turn.role == role]


class _NoTurnError(Exception):
    """A line is not a turn; the message says why."""


def read_transcript(path: Path) -> Transcript:
    """Every turn of a file. Blank lines are passed over. Raises `OSError` if it cannot be read."""
    transcript = Transcript()
    with path.open("rb") as file:
        for number, raw in enumerate(_lines(file), start=1):
            line = raw.removeprefix(_BYTE_ORDER_MARK).strip()
            if not line:
                continue
            try:
                transcript.turns.append(_turn(number, line))
            except _NoTurnError as error:
                transcript.refused.append(Refusal(number, str(error)))
    return transcript


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Lines, each cut one byte over the limit: a file without line ends must not fill the memory."""
    while line := file.readline(LONGEST_LINE_BYTES + 1):
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(LONGEST_LINE_BYTES)
        yield line


def _turn(number: int, line: bytes) -> Turn:
    if len(line) > LONGEST_LINE_BYTES:
        raise _NoTurnError(f"longer than {LONGEST_LINE_BYTES:,} bytes")
    value = _parsed(line)
    if not isinstance(value, dict):
        raise _NoTurnError("not a JSON object")
    return Turn(number, _role(value), _content(value), _at(value))


def _parsed(line: bytes) -> object:
    try:
        return exact_json.loads(line, max_depth=DEPTH)
    except InvalidRequestError as error:
        raise _NoTurnError(error.detail.replace("The body", "the line").rstrip(".")) from None


def _role(value: dict[str, Any]) -> str:
    if "role" not in value:
        raise _NoTurnError("has no role")
    if value["role"] not in ROLES:
        raise _NoTurnError(f"the role is none of {', '.join(ROLES)}")
    return str(value["role"])


def _content(value: dict[str, Any]) -> str:
    if "content" not in value:
        raise _NoTurnError("has no content")
    content = value["content"]
    if not isinstance(content, str):
        raise _NoTurnError("the content is not a string")
    if not content.strip():
        raise _NoTurnError("the content is empty")
    return content


def _at(value: dict[str, Any]) -> datetime | None:
    if value.get("at") is None:
        return None
    try:
        return parse_instant(value["at"])
    except InvalidTimeError as error:
        raise _NoTurnError(f"at: {error.detail}") from None
