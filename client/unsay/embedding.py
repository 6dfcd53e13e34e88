"""The port for a model of one's own that turns texts into vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence


class Embedder(Protocol):
    """A model that turns texts into vectors: anything with these two members.

    A file's vectors are made anew when it is opened with an embedder of another name.
    """

    @property
    def name(self) -> str:
        """What the model is called, its version included."""

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text, all of one length."""


Choice: TypeAlias = "Embedder | Literal['packaged'] | None"
