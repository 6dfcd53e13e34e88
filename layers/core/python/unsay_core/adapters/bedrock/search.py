"""The knowledge base as recall asks it: always within one scope."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from unsay_core.adapters.aws_errors import is_throttled
from unsay_core.adapters.bedrock.pushdown import pushed
from unsay_core.application.ports import Hit, SearchError
from unsay_core.retrieval.filters import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mypy_boto3_bedrock_agent_runtime import AgentsforBedrockRuntimeClient

    from unsay_core.retrieval.filters import All

logger = logging.getLogger(__name__)

MOST_TEXT = 20_000  # characters in one query, of the service
LIVE = {"equals": {"key": "live", "value": 1}}
# What S3 Vectors compares by. An operator it does not know is ignored without a word, and widens.
_COMPARISONS = frozenset(
    {"equals", "greaterThan", "greaterThanOrEquals", "lessThan", "lessThanOrEquals", "orAll"}
)


class KnowledgeBaseSearch:
    """See `Search`: every request is filtered by the scope, and every hit is checked against it.

    The client is made when first asked for, because a write opens a scope without it; it is told how many
    seconds it may wait. `on_foreign` is told how many hits of other scopes an answer held: the knowledge base
    then does not filter, and somebody has to know.
    """

    def __init__(
        self,
        client: Callable[[float], AgentsforBedrockRuntimeClient],
        knowledge_base_id: str,
        scope_id: str,
        on_foreign: Callable[[int], None],
    ) -> None:
        self._client = client
        self._knowledge_base_id = knowledge_base_id
        self._scope_id = scope_id
        self._on_foreign = on_foreign

    def nearest(
        self, query: str, *, limit: int, live_only: bool, timeout: float, wanted: All = EVERYTHING
    ) -> Sequence[Hit]:
        """One Retrieve, without a second try."""
        narrower = [*([LIVE] if live_only else []), *pushed(wanted)]
        with failures_named():
            answer = self._client(timeout).retrieve(
                knowledgeBaseId=self._knowledge_base_id,
                retrievalQuery={"text": query[:MOST_TEXT]},
                retrievalConfiguration={
                    "vectorSearchConfiguration": {
                        "numberOfResults": limit,
                        "filter": scope_filter(self._scope_id, *narrower),
                    }
                },
            )
        return self._checked(answer["retrievalResults"])

    def _checked(self, results: Sequence[Any]) -> list[Hit]:
        """The hits of this scope, best first."""
        return [
            Hit(result["location"]["customDocumentLocation"]["id"], min(1.0, max(0.0, result["score"])))
            for result in of_scope(self._scope_id, results, self._on_foreign)
        ]


@contextmanager
def failures_named() -> Iterator[None]:
    """What can go wrong while an index is asked, as `SearchError` with its reason."""
    try:
        yield
    except ReadTimeoutError:
        raise SearchError("knowledge_base_timeout") from None
    except ClientError as refused:
        reason = "knowledge_base_throttled" if is_throttled(refused) else "knowledge_base_unavailable"
        raise SearchError(reason) from refused
    except BotoCoreError as unreachable:
        raise SearchError("knowledge_base_unavailable") from unreachable


def of_scope(scope_id: str, results: Sequence[Any], on_foreign: Callable[[int], None]) -> list[Any]:
    """The results that lie in the scope; a foreign one is dropped and counted, never shown."""
    own = [result for result in results if result.get("metadata", {}).get("scope") == scope_id]
    if len(own) < len(results):
        logger.error("hits outside the scope were dropped", extra={"dropped": len(results) - len(own)})
        on_foreign(len(results) - len(own))
    return own


def scope_filter(scope_id: str, *narrower: Mapping[str, Any]) -> Any:
    """The filter of every query, made here alone: the scope, AND whatever else is asked.

    However a part is made up, of other scopes too, it can only narrow. Raises `ValueError` for an operator
    that the knowledge base would pass over. `andAll` needs two members, so the scope alone stands bare.
    """
    for part in narrower:
        _require_known(part)
    scope = {"equals": {"key": "scope", "value": scope_id}}
    return {"andAll": [scope, *narrower]} if narrower else scope


def _require_known(part: Mapping[str, Any]) -> None:
    ((operator, operand),) = part.items()
    if operator not in _COMPARISONS:
        raise ValueError(f"not a comparison the knowledge base is sure to make: {operator}")
    if operator == "orAll":
        for member in operand:
            _require_known(member)
