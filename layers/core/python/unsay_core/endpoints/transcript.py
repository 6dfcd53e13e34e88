"""Messages as callers hand them in, in a request or line by line in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from unsay_core.application.conversations import Said
from unsay_core.application.uploads import TranscriptError
from unsay_core.contracts import exact_json
from unsay_core.contracts.base import BODY_BYTES, DEPTH
from unsay_core.contracts.conversations import MessageIn
from unsay_core.domain.errors import UnsayError

if TYPE_CHECKING:
    from collections.abc import Iterator


def said(message: MessageIn) -> Said:
    """A message as the use cases have it."""
    identity = exact_json.canonical([message.role.value, message.name, message.content])
    return Said(message.seq, message.role, message.content, identity, message.at, message.name)


def read_transcript(file: bytes) -> list[Said]:
    """The messages of a file: each line is one, in JSON, as a request would have it.

    Raises `TranscriptError` naming the first line that is none, never what stands in it.
    """
    return list(_messages(file.removeprefix(b"\xef\xbb\xbf")))


def _messages(file: bytes) -> Iterator[Said]:
    for number, line in enumerate(file.split(b"\n"), 1):
        if not line.strip():
            continue
        if len(line) > BODY_BYTES:
            raise TranscriptError(f"line {number} is too long")
        try:
            yield said(MessageIn.model_validate(exact_json.loads(line, max_depth=DEPTH + 1)))
        except (UnsayError, ValidationError):
            raise TranscriptError(f"line {number} is not a message") from None
