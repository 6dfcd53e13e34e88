"""The language model as extraction needs it: one question, one answer, and what may go wrong with either."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class Stop(StrEnum):
    """Why a model stopped."""

    DONE = "done"
    TRUNCATED = "truncated"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked, and the form its answer has to have: a JSON schema of one tool's input.

    `tool` is what that is called, and `purpose` what the model is told that it is for.
    """

    system: str
    text: str
    schema: Mapping[str, Any]
    tool: str
    purpose: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered: the tool's input, if it used it, and whatever it wrote beside it.

    Of `tokens` it wrote `written`, which cost more than those it read.
    """

    stop: Stop
    tool_input: Any
    texts: tuple[str, ...]
    model: str
    tokens: int
    seconds: float = 0.0
    written: int = 0


class ModelUnavailableError(Exception):
    """The model gave no answer: it is throttled, slow, away or not allowed; the question is not to blame."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class UnusableReplyError(Exception):
    """The model answered, and nothing can be made of it; `reason` goes to whoever looks at the batch."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Model(Protocol):
    """A language model."""

    @property
    def name(self) -> str:
        """What it is called; faults are counted under this name."""

    def ask(self, question: Question) -> Answer:
        """One request; raises `ModelUnavailableError`, and `UnusableReplyError` for a question it rejects."""
