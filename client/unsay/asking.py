"""One question to the service as the verbs put it, before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import ValidationError

from unsay.errors import UnexpectedAnswerError
from unsay_core.contracts.schemas import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, slots=True)
class Ask(Generic[A]):
    """What to send under `/v1`, and the model of the answer.

    `repeatable` says that sending it twice does no more than once: a read, or a write that carries an
    idempotency key or the version it is meant for.
    """

    answer: type[A]
    method: str
    path: tuple[str, ...]
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False

    def read(self, answer: object) -> A:
        """The answer as its model; raises `UnexpectedAnswerError`, which repeats nothing of it."""
        try:
            return self.answer.model_validate(answer)
        except ValidationError as error:
            fields = ", ".join(sorted({".".join(map(str, e["loc"])) for e in error.errors()})[:5])
        # Outside the except block, for the validation error quotes memory text.
        raise UnexpectedAnswerError(
            f"an answer that is not a {self.answer.__name__}, in: {fields or 'all of it'}"
        )
