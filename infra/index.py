"""The generations of the index, as the context lists them; all of them are kept complete, one is read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aws_cdk import Stack

from infra.knowledge_base import KnowledgeBase
from infra.vectors import VectorBucket
from unsay_core.generations import KnowledgeBaseGeneration, VectorsGeneration, as_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from infra.stage import Stage
    from unsay_core.generations import Generation

# What a model embeds to; the index has to fit it.
DIMENSIONS = {
    "amazon.titan-embed-text-v2:0": (256, 512, 1024),
    "amazon.nova-2-multimodal-embeddings-v1:0": (256, 384, 1024, 3072),
}
KNOWLEDGE_BASE, VECTORS = KnowledgeBaseGeneration.backend, VectorsGeneration.backend
BACKENDS = (KNOWLEDGE_BASE, VECTORS)


@dataclass(frozen=True)
class IndexSpec:
    """One generation as `cdk.json` names it; all of it is fixed once it is deployed."""

    generation: int
    backend: str
    model: str
    dimension: int

    def __post_init__(self) -> None:
        if self.generation < 1:
            raise ValueError(f"index: a generation is a number from 1 on, not {self.generation}")
        if self.backend not in BACKENDS:
            raise ValueError(f"index: unknown backend {self.backend!r}: choose one of {', '.join(BACKENDS)}")
        if self.dimension not in DIMENSIONS.get(self.model, ()):
            raise ValueError(f"index: {self.model} does not embed to {self.dimension} dimensions")


def index_specs(context: Any) -> list[IndexSpec]:
    """The generations of the context `index`. Raises `ValueError` for what cannot be deployed."""
    listed = json.loads(context) if isinstance(context, str) else context
    specs = [IndexSpec(**each) for each in listed]
    if not specs or len({spec.generation for spec in specs}) < len(specs):
        raise ValueError("index: list at least one generation, and none twice")
    return specs


class IndexGenerations:
    """Every generation of the index, deployed side by side."""

    def __init__(self, stack: Stack, specs: Sequence[IndexSpec], *, stage: Stage) -> None:
        self._stack = stack
        self.knowledge_bases = [
            KnowledgeBase(
                stack,
                _construct_id(spec),
                stage=stage,
                generation=spec.generation,
                model=spec.model,
                dimension=spec.dimension,
            )
            for spec in specs
            if spec.backend == KNOWLEDGE_BASE
        ]
        self.vector_buckets = [
            VectorBucket(
                stack,
                f"Vectors{spec.generation}",
                stage=stage,
                generation=spec.generation,
                model=spec.model,
                dimension=spec.dimension,
            )
            for spec in specs
            if spec.backend == VECTORS
        ]

    def setting(self, role_arn: Callable[[str], str]) -> str:
        """What the λs are told; `role_arn` gives the ARN of a role by its name."""
        listed: list[Generation] = [
            KnowledgeBaseGeneration(each.generation, each.id, each.data_source_id)
            for each in self.knowledge_bases
        ]
        listed += [
            VectorsGeneration(
                each.generation,
                each.name,
                each.model,
                each.dimension,
                finder_role_arn=role_arn("Finder"),
                indexer_role_arn=role_arn("Indexer"),
            )
            for each in self.vector_buckets
        ]
        listed.sort(key=lambda each: each.number)
        return str(self._stack.to_json_string(as_plain(listed)))


def _construct_id(spec: IndexSpec) -> str:
    """The first is called as it was when there was no other: a new name would replace what is deployed."""
    return "KnowledgeBase" if spec.generation == 1 else f"KnowledgeBase{spec.generation}"
