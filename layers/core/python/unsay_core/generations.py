"""The generations of the index as a deployment lists them: written by the infrastructure, read by the λs.

Nearly every property of an index is create-only, so another model, dimension or backend is another
generation beside the one there is. All that are listed are kept complete; one of them is read.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class KnowledgeBaseGeneration:
    """A Bedrock knowledge base, which embeds by itself."""

    backend: ClassVar[str] = "knowledge-base"
    number: int
    knowledge_base_id: str
    data_source_id: str


@dataclass(frozen=True, slots=True)
class VectorsGeneration:
    """S3 Vectors directly: a bucket with an index for each root, and the model that λs embed with.

    The roles open one root: the finder's to search it, the indexer's to write it.
    """

    backend: ClassVar[str] = "s3-vectors"
    number: int
    vector_bucket: str
    model: str
    dimension: int
    finder_role_arn: str
    indexer_role_arn: str


Generation: TypeAlias = "KnowledgeBaseGeneration | VectorsGeneration"

_BACKENDS: dict[str, type[Generation]] = {
    each.backend: each for each in (KnowledgeBaseGeneration, VectorsGeneration)
}


def as_plain(generations: Sequence[Generation]) -> list[dict[str, Any]]:
    """What the setting says, as plain values."""
    return [{"backend": each.backend, **asdict(each)} for each in generations]


def parse_generations(setting: str) -> tuple[Generation, ...]:
    """The generations of a setting, the oldest first."""
    listed = [dict(each) for each in json.loads(setting)]
    found = [_BACKENDS[each.pop("backend")](**each) for each in listed]
    return tuple(sorted(found, key=lambda each: each.number))
