"""Text embeddings from the packaged model, in the shape of Titan's."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from unsay_core.adapters.minilm.encoder import Vector, encoder

# Two single-threaded sessions at most: a query does not wait behind a batch of documents,
# and a burst of ingestion leaves the event loop its share of a small machine.
_POOL = ThreadPoolExecutor(max_workers=2, thread_name_prefix="embedding")


def fit(vector: Vector, dimension: int, *, normalize: bool = True) -> Vector:
    """The vector cut or padded with zeros to `dimension`; padding keeps every distance."""
    fitted = np.zeros(dimension, np.float32)
    width = min(dimension, len(vector))
    fitted[:width] = vector[:width]
    return fitted / np.linalg.norm(fitted) if normalize else fitted


def embed(texts: Sequence[str], dimension: int, *, normalize: bool = True) -> list[Vector]:
    """Embeddings of the texts. Blocks for some 10 ms a text: not for the event loop."""
    return [fit(vector, dimension, normalize=normalize) for vector in encoder().encode(texts)]


async def embed_off_loop(texts: Sequence[str], dimension: int, *, normalize: bool = True) -> list[Vector]:
    """Embeddings of the texts, computed beside the event loop."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_POOL, partial(embed, texts, dimension, normalize=normalize))


async def count_off_loop(text: str) -> int:
    """How many tokens the text has. The first call loads the model, hence beside the event loop."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_POOL, lambda: encoder().tokenizer.count(text))
