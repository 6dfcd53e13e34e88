"""A vector index as recall asks it: always within one scope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from unsay_core.adapters.bedrock.pushdown import pushed
from unsay_core.adapters.bedrock.search import LIVE, failures_named, of_scope, scope_filter
from unsay_core.adapters.s3vectors.index import is_missing
from unsay_core.application.ports import Hit
from unsay_core.retrieval.filters import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from unsay_core.adapters.bedrock.embedding import BedrockEmbedding
    from unsay_core.adapters.s3vectors.index import RootIndex
    from unsay_core.retrieval.filters import All

_GROUPS = {"andAll": "$and", "orAll": "$or"}
_OPERATORS = {
    "equals": "$eq",
    "greaterThan": "$gt",
    "greaterThanOrEquals": "$gte",
    "lessThan": "$lt",
    "lessThanOrEquals": "$lte",
}


class VectorSearch:
    """See `Search`: every request is filtered by the scope, and every hit is checked against it.

    IAM keeps the index of another root out of reach; within a root this filter does. Client and model are
    made when first asked for, and told how many seconds they may wait. `on_foreign` is told how many hits of
    other scopes an answer held.
    """

    def __init__(
        self,
        client: Callable[[float], Any],
        embedding: Callable[[float], BedrockEmbedding],
        place: RootIndex,
        scope_id: str,
        on_foreign: Callable[[int], None],
    ) -> None:
        self._client = client
        self._place = place
        self._embedding = embedding
        self._scope_id = scope_id
        self._on_foreign = on_foreign

    def nearest(
        self, query: str, *, limit: int, live_only: bool, timeout: float, wanted: All = EVERYTHING
    ) -> Sequence[Hit]:
        """One call of the model, unless the query is known, and one QueryVectors."""
        narrower = [*([LIVE] if live_only else []), *pushed(wanted)]
        with failures_named():
            try:
                answer = self._client(timeout).query_vectors(
                    **self._place.named,
                    topK=limit,
                    queryVector={"float32": list(self._embedding(timeout).of_query(query))},
                    filter=translated(scope_filter(self._scope_id, *narrower)),
                    returnMetadata=True,
                    returnDistance=True,
                )
            except ClientError as refused:
                if is_missing(refused):
                    return []
                raise
        own = of_scope(self._scope_id, answer["vectors"], self._on_foreign)
        return [Hit(each["key"], min(1.0, max(0.0, 1 - each["distance"]))) for each in own]


def translated(condition: Mapping[str, Any]) -> Any:
    """A knowledge base's filter as S3 Vectors has it: one place makes them, and it begins with the scope."""
    ((operator, operand),) = condition.items()
    if operator in _GROUPS:
        return {_GROUPS[operator]: [translated(member) for member in operand]}
    return {operand["key"]: {_OPERATORS[operator]: operand["value"]}}
