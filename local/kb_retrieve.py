"""Retrieve of the local cloud's knowledge bases: a semantic query over their vector index.

As on AWS with S3 Vectors, HYBRID falls back to semantic search. What is not emulated
(reranking, guardrails, implicit filters, image queries) is refused, never ignored.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from ministack import app

from local import faults, kb_ingestion
from local.aws_json import AwsError, Response, answer, invalid, parse, refusal, whole_number
from local.embeddings import embed_off_loop
from local.kb_documents import SOURCE_KEY, TEXT_KEY
from local.retrieval_filter import translate
from local.vector_filter import Predicate, compile_filter, match_all
from local.vector_store import STORE, Hit, Index

DEFAULT_RESULTS = 5
MAX_RESULTS = 100
MAX_QUERY_LENGTH = 20_000

_RETRIEVE = re.compile(r"/knowledgebases/([^/]+)/retrieve")
_SOURCE_URI = "x-amz-bedrock-kb-source-uri"
_NOT_EMULATED = ("rerankingConfiguration", "implicitFilterConfiguration")

_emulator = app.SERVICE_HANDLERS["bedrock-agent-runtime"]


async def handle(
    method: str, path: str, headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]
) -> Response:
    """Answer Retrieve on S3 Vectors, or leave the request to the emulator."""
    match = _RETRIEVE.fullmatch(path)
    if match is None or method != "POST":
        return await _emulator(method, path, headers, body, query)
    try:
        arn = kb_ingestion.index_arn(unquote(match[1]))
        if arn is None:
            return await _emulator(method, path, headers, body, query)
        return answer({"retrievalResults": await _retrieve(arn, parse(body))})
    except AwsError as error:
        return refusal(error)


async def _retrieve(arn: str, request: Mapping[str, Any]) -> list[dict[str, Any]]:
    index = STORE.index_at(arn)
    search = _search_configuration(request)
    wanted = whole_number(search, "numberOfResults", DEFAULT_RESULTS, MAX_RESULTS)
    matches = _matches(index, search.get("filter"))
    vector = (await embed_off_loop([_query_text(request)], index.dimension))[0]
    kb_ingestion.settle()
    with STORE.lock:
        hits = index.nearest(vector, matches)[:wanted]
    return [_result(hit, index.metric) for hit in hits]


def _search_configuration(request: Mapping[str, Any]) -> Mapping[str, Any]:
    if request.get("guardrailConfiguration"):
        raise invalid("Guardrails are not available in the local cloud.")
    if request.get("nextToken"):
        raise invalid("Invalid nextToken.")
    configuration = request.get("retrievalConfiguration") or {}
    if "managedSearchConfiguration" in configuration:
        raise invalid("managedSearchConfiguration is for knowledge bases of type MANAGED.")
    search: Mapping[str, Any] = configuration.get("vectorSearchConfiguration") or {}
    for name in _NOT_EMULATED:
        if search.get(name):
            raise invalid(f"{name} is not available in the local cloud.")
    if search.get("overrideSearchType", "SEMANTIC") not in ("SEMANTIC", "HYBRID"):
        raise invalid("overrideSearchType must be HYBRID or SEMANTIC.")
    return search


def _query_text(request: Mapping[str, Any]) -> str:
    text = (request.get("retrievalQuery") or {}).get("text")
    if not isinstance(text, str) or not text:
        raise invalid("retrievalQuery must have a text.")
    if len(text) > MAX_QUERY_LENGTH:
        raise invalid(f"retrievalQuery.text must have length less than or equal to {MAX_QUERY_LENGTH}.")
    return text


def _matches(index: Index, document: Any) -> Predicate:
    """The filter's predicate; a broken filter is refused even while filters are ignored."""
    if document is None:
        return match_all
    predicate = compile_filter(translate(document), frozenset(index.non_filterable))
    return match_all if faults.current().kb_ignore_filters else predicate


def _result(hit: Hit, metric: str) -> dict[str, Any]:
    shown = {key: value for key, value in hit.vector.metadata.items() if key not in (TEXT_KEY, SOURCE_KEY)}
    return {
        "content": {"type": "TEXT", "text": hit.vector.metadata.get(TEXT_KEY, "")},
        "location": {"type": "CUSTOM", "customDocumentLocation": {"id": shown.get(_SOURCE_URI, "")}},
        "metadata": shown,
        "score": 1 - hit.distance if metric == "cosine" else 1 / (1 + hit.distance),
    }
