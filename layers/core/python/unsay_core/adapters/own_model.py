"""A model that somebody brings along, as extraction asks one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from unsay_core.application.model import Answer, ModelUnavailableError, Stop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unsay_core.application.model import Question


class Asked(Protocol):
    """See `unsay.embedding.Extractor`."""

    @property
    def name(self) -> str:
        """What the model is called."""

    def ask(self, system: str, text: str, schema: Mapping[str, object]) -> object:
        """The answer to one question."""


class OwnModel:
    """See `Model`. What the other's code raises is an outage: the batch stays, and is tried again."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self.name = asked.name

    def ask(self, question: Question) -> Answer:
        """One call; it may answer with JSON as a value or as text."""
        try:
            found = self._asked.ask(question.system, question.text, question.schema)
        except Exception as fault:  # - whatever another's code raises
            raise ModelUnavailableError("model_failed") from fault
        if isinstance(found, str):
            return Answer(Stop.DONE, None, (found,), self.name, 0)
        return Answer(Stop.DONE, found, (), self.name, 0)
