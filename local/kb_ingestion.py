"""Direct ingestion into knowledge bases: the part of bedrock-agent that the local cloud answers itself.

Documents are ingested and deleted directly, and take effect late, as on AWS. Everything
else of Bedrock's agent API stays with the emulator.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from ministack import app
from ministack.core.responses import get_account_id
from ministack.services import bedrock_agent

from local import faults, kb_creation
from local.aws_json import AwsError, Response, answer, invalid, members, page, parse, refusal, whole_number
from local.embeddings import embed_off_loop
from local.kb_documents import RESERVED_PREFIX, Catalog, Content, Source, Standing
from local.vector_store import STORE

DEFAULT_LAG_SECONDS = 0.4
MAX_DOCUMENTS = 10
MAX_BODY_BYTES = 6 * 1024 * 1024
MAX_CONCURRENT_WRITES = 10

_DOCUMENTS = re.compile(
    r"/knowledgebases/([^/]+)/datasources/([^/]+)/documents(?:/(getDocuments|deleteDocuments))?"
)
_DATA_SOURCE = re.compile(r"/knowledgebases/([^/]+)/datasources/([^/]+)")
_DATA_SOURCES = re.compile(r"/knowledgebases/([^/]+)/datasources/?")
_KNOWLEDGE_BASE = re.compile(r"/knowledgebases/([^/]+)")
_CLIENT_TOKEN = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,256}")

CATALOG = Catalog(
    fails=lambda identifier: identifier in faults.current().kb_fail_ids,
    keeps_answering=lambda: faults.current().kb_keep_answering,
)

_emulator = app.SERVICE_HANDLERS["bedrock-agent"]
_writes: Counter[str] = Counter()


def settle() -> None:
    """Apply every document operation whose lag has passed."""
    CATALOG.settle(lag_seconds())


def lag_seconds() -> float:
    """Seconds until an operation takes effect, at this moment."""
    lag = faults.current().kb_lag_seconds
    return DEFAULT_LAG_SECONDS if lag is None else lag


def index_arn(knowledge_base: str) -> str | None:
    """The vector index of a knowledge base; None when its store is another one."""
    record = bedrock_agent._knowledge_bases.get(knowledge_base)
    if record is None:
        raise _not_found(f"Knowledge base with id {knowledge_base} does not exist.")
    return kb_creation.index_arn(record["StorageConfiguration"] or {})


async def handle(
    method: str, path: str, headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]
) -> Response:
    """Answer one request of bedrock-agent, or leave it to the emulator."""
    try:
        if match := _DOCUMENTS.fullmatch(path):
            response = await _documents(method, match, body)
        else:
            response = _administration(method, path, body)
    except AwsError as error:
        return refusal(error)
    return response or await _emulator(method, path, headers, body, query)


# Knowledge bases and data sources


def _administration(method: str, path: str, body: bytes) -> Response | None:
    if method == "PUT" and path.rstrip("/") == "/knowledgebases":
        return answer({"knowledgeBase": kb_creation.create_knowledge_base(parse(body))}, 202)
    if method == "PUT" and (match := _DATA_SOURCES.fullmatch(path)):
        return answer({"dataSource": kb_creation.create_data_source(unquote(match[1]), parse(body))})
    if method == "DELETE" and (match := _DATA_SOURCE.fullmatch(path)):
        delete_data_source(unquote(match[1]), unquote(match[2]))
        return answer({"knowledgeBaseId": match[1], "dataSourceId": match[2], "status": "DELETING"}, 202)
    if method == "DELETE" and (match := _KNOWLEDGE_BASE.fullmatch(path)):
        delete_knowledge_base(unquote(match[1]))
        return answer({"knowledgeBaseId": match[1], "status": "DELETING"}, 202)
    return None


def delete_data_source(knowledge_base: str, data_source: str) -> None:
    """Remove a data source; with the policy DELETE its vectors go too."""
    key = f"{knowledge_base}/{data_source}"
    record = bedrock_agent._data_sources.get(key)
    if record is None:
        raise _not_found(f"DataSource with id {data_source} does not exist.")
    arn = index_arn(knowledge_base)
    if arn:
        source = Source(knowledge_base, data_source, arn)
        CATALOG.drop_source(source, purge=record["DataDeletionPolicy"] == "DELETE")
    bedrock_agent._delete_ds(knowledge_base, data_source)


def delete_knowledge_base(knowledge_base: str) -> None:
    """Remove a knowledge base with its data sources; the vector index stays, it is not Bedrock's."""
    index_arn(knowledge_base)
    for key in [key for key in bedrock_agent._data_sources if key.startswith(f"{knowledge_base}/")]:
        delete_data_source(knowledge_base, key.split("/")[1])
    bedrock_agent._delete_kb(knowledge_base)


# Documents


async def _documents(method: str, match: re.Match[str], body: bytes) -> Response | None:
    knowledge_base, data_source, verb = unquote(match[1]), unquote(match[2]), match[3]
    arn = index_arn(knowledge_base)
    if arn is None:
        return None
    if f"{knowledge_base}/{data_source}" not in bedrock_agent._data_sources:
        raise _not_found(f"DataSource with id {data_source} does not exist.")
    source = Source(knowledge_base, data_source, arn)
    settle()
    if method == "PUT" and verb is None:
        return await _ingest(source, body)
    if method != "POST":
        return None
    verbs = {None: _list, "getDocuments": _get, "deleteDocuments": _delete}
    return verbs[verb](source, parse(body))


async def _ingest(source: Source, body: bytes) -> Response:
    """Documents keep the place in which they arrived, however long their embedding takes."""
    if len(body) > MAX_BODY_BYTES:
        raise invalid(f"The request must have at most {MAX_BODY_BYTES} bytes.")
    request = parse(body)
    contents = [_content(document) for document in members(request, "documents", MAX_DOCUMENTS)]
    identifiers = [content.identifier for content in contents]
    with _write_slot():
        token = _token("ingest", source, request)
        if token and not CATALOG.first_use(*token):
            return _details(source, identifiers, 202)
        operations = CATALOG.ingest(source, contents, lag_seconds())
        accepted = _details(source, identifiers, 202)
        try:
            dimension = STORE.index_at(source.index_arn).dimension
            vectors = await embed_off_loop([content.text for content in contents], dimension)
        except BaseException:  # Whatever ended the call, a cancellation too: it was not accepted.
            CATALOG.withdraw(source, operations)
            CATALOG.release(*token)
            raise
        CATALOG.complete(operations, vectors)
    return accepted


def _delete(source: Source, request: dict[str, Any]) -> Response:
    identifiers = _identifiers(request)
    with _write_slot():
        token = _token("delete", source, request)
        if not token or CATALOG.first_use(*token):
            CATALOG.delete(source, identifiers, lag_seconds(), dropped=faults.current().kb_drop_deletes)
    return _details(source, identifiers, 202)


def _get(source: Source, request: dict[str, Any]) -> Response:
    return _details(source, _identifiers(request))


def _list(source: Source, request: dict[str, Any]) -> Response:
    size = whole_number(request, "maxResults", 1000, 1000)
    identifiers, token = page(CATALOG.identifiers(source), request.get("nextToken"), size)
    return _details(source, identifiers, token=token)


@contextmanager
def _write_slot() -> Iterator[None]:
    """One of the writes AWS lets an account have under way; its refusal is no throttling error."""
    account = get_account_id()
    if _writes[account] >= MAX_CONCURRENT_WRITES:
        raise invalid(
            "The sum of concurrent IngestKnowledgeBaseDocuments and DeleteKnowledgeBaseDocuments "
            f"requests can't exceed ({MAX_CONCURRENT_WRITES})."
        )
    _writes[account] += 1
    try:
        yield
    finally:
        _writes[account] -= 1


def _token(verb: str, source: Source, request: Mapping[str, Any]) -> tuple[str, ...]:
    """What identifies a call by its client token; empty without one."""
    token = request.get("clientToken")
    if token is None:
        return ()
    if not isinstance(token, str) or not 33 <= len(token) <= 256 or not _CLIENT_TOKEN.fullmatch(token):
        raise invalid("clientToken must be 33 to 256 letters, digits and inner hyphens.")
    return verb, source.knowledge_base, source.data_source, token


def _content(document: Mapping[str, Any]) -> Content:
    content = document.get("content") or {}
    custom = content.get("custom") or {}
    if content.get("dataSourceType") != "CUSTOM" or custom.get("sourceType") != "IN_LINE":
        raise invalid("Only CUSTOM documents with IN_LINE content can be ingested.")
    inline = custom.get("inlineContent") or {}
    text = (inline.get("textContent") or {}).get("data")
    if inline.get("type") != "TEXT" or not isinstance(text, str) or not text:
        raise invalid("Only inline content of type TEXT can be ingested.")
    identifier = _identifier(custom.get("customDocumentIdentifier"))
    return Content(identifier, text, _attributes(document.get("metadata")))


def _identifier(holder: Any) -> str:
    identifier = (holder or {}).get("id")
    if not isinstance(identifier, str) or not 1 <= len(identifier) <= 2048:
        raise invalid("A document id must have length between 1 and 2048.")
    return identifier


def _identifiers(request: Mapping[str, Any]) -> list[str]:
    named = members(request, "documentIdentifiers", MAX_DOCUMENTS)
    if any(identifier.get("dataSourceType") != "CUSTOM" for identifier in named):
        raise invalid("Only CUSTOM document identifiers can be used with this data source.")
    return [_identifier(identifier.get("custom")) for identifier in named]


def _attributes(metadata: Any) -> dict[str, Any]:
    if not metadata:
        return {}
    if metadata.get("type") != "IN_LINE_ATTRIBUTE":
        raise invalid("Only metadata of type IN_LINE_ATTRIBUTE can be ingested.")
    inline = members(metadata, "inlineAttributes", 50)
    return {_attribute_key(attribute): _attribute_value(attribute.get("value") or {}) for attribute in inline}


def _attribute_key(attribute: Mapping[str, Any]) -> str:
    key = attribute.get("key")
    if not isinstance(key, str) or not 1 <= len(key) <= 200:
        raise invalid("A metadata key must have length between 1 and 200.")
    if key.startswith(RESERVED_PREFIX):
        raise invalid(f"The metadata key {key} is reserved.")
    return key


def _attribute_value(value: Mapping[str, Any]) -> Any:
    """The plain value; numbers come back as doubles, as AWS keeps them."""
    match value:
        case {"type": "STRING", "stringValue": str(text)} if 1 <= len(text) <= 2048:
            return text
        case {"type": "BOOLEAN", "booleanValue": bool(flag)}:
            return flag
        case {"type": "NUMBER", "numberValue": int() | float() as number} if not isinstance(number, bool):
            return float(number)
        case {"type": "STRING_LIST", "stringListValue": [*texts]} if 1 <= len(texts) <= 10:
            return [str(text) for text in texts]
    raise invalid("A metadata value does not fit its type.")


def _details(source: Source, identifiers: list[str], status: int = 200, token: str | None = None) -> Response:
    details = [_detail(source, CATALOG.standing(source, identifier)) for identifier in identifiers]
    paged = {"nextToken": token} if token else {}
    return answer({"documentDetails": details, **paged}, status)


def _detail(source: Source, standing: Standing) -> dict[str, Any]:
    detail: dict[str, Any] = {
        "knowledgeBaseId": source.knowledge_base,
        "dataSourceId": source.data_source,
        "status": standing.status,
        "identifier": {"dataSourceType": "CUSTOM", "custom": {"id": standing.identifier}},
        "updatedAt": datetime.fromtimestamp(standing.since, UTC).isoformat(),
    }
    return {**detail, "statusReason": standing.reason} if standing.reason else detail


def _not_found(message: str) -> AwsError:
    return AwsError("ResourceNotFoundException", message, 404)
