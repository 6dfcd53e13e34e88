"""The ports for models of one's own: for vectors, and for what is worth remembering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Embedder(Protocol):
    """A model that turns texts into vectors: anything with these two members.

    A file's vectors are made anew when it is opened with an embedder of another name.
    """

    @property
    def name(self) -> str:
        """What the model is called, its version included."""

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text, all of one length."""


class Extractor(Protocol):
    """A language model that finds what is worth remembering: anything with these two members.

    What it says is believed no more than what a service's model says: a fact without a quote of the
    conversation is dropped, and so is what was taken back.
    """

    @property
    def name(self) -> str:
        """What the model is called, its version included."""

    def ask(self, system: str, text: str, schema: Mapping[str, object]) -> object:
        """The answer, in the form of the JSON schema: as a value, or as text with the JSON in it.

        If it raises, the conversation waits for the next change.
        """


Choice: TypeAlias = "Embedder | Literal['packaged'] | None"
