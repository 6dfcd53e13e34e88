"""The knowledge base as the index worker writes it, by direct ingestion of a CUSTOM source."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.bedrock.pushdown import one_of
from unsay_core.adapters.bedrock.search import scope_filter
from unsay_core.adapters.searchable import searchable
from unsay_core.application.ports import DocumentState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from mypy_boto3_bedrock_agent import AgentsforBedrockClient
    from mypy_boto3_bedrock_agent_runtime import AgentsforBedrockRuntimeClient

    from unsay_core.domain.memory import Memory

MOST_EITHER = 5  # members of one "or" in a filter
MOST_SHOWN = 100  # results of one search
_PRESENT = frozenset({"INDEXED", "PARTIALLY_INDEXED", "METADATA_PARTIALLY_INDEXED"})
_FAILED = frozenset({"FAILED", "IGNORED", "METADATA_UPDATE_FAILED"})
_ABSENT = frozenset({"NOT_FOUND"})


class KnowledgeBaseIndex:
    """See `Index`. The document's id is the memory's; its metadata is small, because 1 KB is the limit."""

    def __init__(
        self,
        client: AgentsforBedrockClient,
        search: Callable[[], AgentsforBedrockRuntimeClient],
        knowledge_base_id: str,
        data_source_id: str,
        scope_id: str,
    ) -> None:
        self._client = client
        self._search = search
        self._scope_id = scope_id
        self._source: Any = {"knowledgeBaseId": knowledge_base_id, "dataSourceId": data_source_id}

    def put(self, memories: Sequence[Memory], *, token: str) -> None:
        """One ingest request for up to 10 documents."""
        documents = [_document(self._scope_id, memory) for memory in memories]
        with translated("the knowledge base"):
            self._client.ingest_knowledge_base_documents(
                **self._source, clientToken=_token(token), documents=documents
            )

    def delete(self, memory_ids: Sequence[str], *, token: str) -> None:
        """One delete request for up to 10 documents."""
        with translated("the knowledge base"):
            self._client.delete_knowledge_base_documents(
                **self._source, clientToken=_token(token), documentIdentifiers=_identifiers(memory_ids)
            )

    def states(self, memory_ids: Sequence[str]) -> Mapping[str, DocumentState]:
        """One status request for up to 10 documents."""
        with translated("the knowledge base"):
            answer = self._client.get_knowledge_base_documents(
                **self._source, documentIdentifiers=_identifiers(memory_ids)
            )
        return {
            detail["identifier"]["custom"]["id"]: _state(detail["status"])
            for detail in answer["documentDetails"]
        }

    def still_found(self, memory_ids: Sequence[str]) -> Collection[str]:
        """One search that answers with the whole scope, if there is so little left of it.

        Else one for each few that only these can answer: whatever is asked, one of them is nearest.
        """
        if len(memory_ids) > MOST_EITHER and len(shown := self._answers()) < MOST_SHOWN:
            return {found for found in shown if found in memory_ids}
        stretches = (memory_ids[at : at + MOST_EITHER] for at in range(0, len(memory_ids), MOST_EITHER))
        return {found for some in stretches for found in self._found(some)}

    def _found(self, memory_ids: Sequence[str]) -> list[str]:
        these = one_of([{"equals": {"key": "memory", "value": each}} for each in memory_ids])
        return [found for found in self._answers(these) if found in memory_ids]

    def _answers(self, *narrower: Mapping[str, Any]) -> list[str]:
        with translated("the knowledge base"):
            answer = self._search().retrieve(
                knowledgeBaseId=self._source["knowledgeBaseId"],
                retrievalQuery={"text": "memory"},
                retrievalConfiguration={
                    "vectorSearchConfiguration": {
                        "numberOfResults": MOST_SHOWN,
                        "filter": scope_filter(self._scope_id, *narrower),
                    }
                },
            )
        return [each["location"]["customDocumentLocation"]["id"] for each in answer["retrievalResults"]]


def _state(status: str) -> DocumentState:
    return DocumentState(
        settled=status in _PRESENT | _FAILED | _ABSENT,
        present=status not in _ABSENT,
        failed=status in _FAILED,
    )


def _document(scope_id: str, memory: Memory) -> Any:
    identity = {"id": memory.id}
    return {
        "content": {
            "dataSourceType": "CUSTOM",
            "custom": {
                "customDocumentIdentifier": identity,
                "sourceType": "IN_LINE",
                "inlineContent": {"type": "TEXT", "textContent": {"data": memory.fact.content}},
            },
        },
        "metadata": {"type": "IN_LINE_ATTRIBUTE", "inlineAttributes": _attributes(scope_id, memory)},
    }


def _attributes(scope_id: str, memory: Memory) -> list[Any]:
    return [{"key": key, "value": _value(value)} for key, value in searchable(scope_id, memory).items()]


def _value(value: str | float) -> Any:
    if isinstance(value, str):
        return {"type": "STRING", "stringValue": value}
    return {"type": "NUMBER", "numberValue": value}


def _identifiers(memory_ids: Sequence[str]) -> Any:
    return [{"dataSourceType": "CUSTOM", "custom": {"id": memory_id}} for memory_id in memory_ids]


def _token(name: str) -> str:
    """A request's name in the service's form: 33 to 256 letters and digits."""
    return hashlib.sha256(name.encode()).hexdigest()
