"""The documents of knowledge bases: accepted at once, applied to the vector index later.

Every ingest and delete is an operation with its place in the order of arrival. An
operation becomes due when its lag has passed, and then takes the ones that arrived
before it along: an older operation that settles late never overtakes a newer one.
Nothing runs in the background: whoever looks first settles what is due.
"""

import itertools
import json
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from local.aws_json import AwsError
from local.vector_store import STORE, VectorStore, json_size

# Through a knowledge base S3 Vectors holds at most this much of a caller's metadata.
MAX_CUSTOM_BYTES = 1024
MAX_CUSTOM_KEYS = 35
REMEMBERED_TOKENS = 10_000

TEXT_KEY = "AMAZON_BEDROCK_TEXT"
SOURCE_KEY = "AMAZON_BEDROCK_METADATA"
RESERVED_PREFIX = "x-amz-bedrock-kb-"


class Status(StrEnum):
    """The statuses AWS gives a document that this cloud makes use of."""

    STARTING = "STARTING"
    IN_PROGRESS = "IN_PROGRESS"
    INDEXED = "INDEXED"
    IGNORED = "IGNORED"
    FAILED = "FAILED"
    DELETING = "DELETING"
    DELETE_IN_PROGRESS = "DELETE_IN_PROGRESS"
    NOT_FOUND = "NOT_FOUND"


class Source(NamedTuple):
    """A data source of a knowledge base, and the vector index it fills."""

    knowledge_base: str
    data_source: str
    index_arn: str


class Content(NamedTuple):
    """What a caller ingests: an id of theirs, a text, attributes to filter by."""

    identifier: str
    text: str
    attributes: Mapping[str, Any]


class Standing(NamedTuple):
    """Where a document stands, as Get reports it."""

    identifier: str
    status: Status
    reason: str
    since: float


@dataclass(eq=False)
class Operation:
    """One accepted ingest or delete. A delete has no content; a dropped one does nothing."""

    sequence: int
    at: float
    lag: float
    content: Content | None = None
    vector: NDArray[np.float32] | None = None
    dropped: bool = False

    @property
    def is_ready(self) -> bool:
        """An ingest waits for its vector."""
        return self.content is None or self.vector is not None

    def is_due(self, now: float, lag: float) -> bool:
        """A lag lowered since counts at once; a raised one does not hold back what was accepted."""
        return self.is_ready and now >= self.at + min(self.lag, lag)

    def status(self, now: float) -> Status:
        """The phase of an operation that is not due."""
        begun = now < self.at + self.lag / 3
        if self.content is None:
            return Status.DELETING if begun else Status.DELETE_IN_PROGRESS
        return Status.STARTING if begun else Status.IN_PROGRESS


@dataclass
class Document:
    """A document: what was last applied, and what is still to come, oldest first."""

    status: Status = Status.NOT_FOUND
    reason: str = ""
    since: float = 0.0
    pending: list[Operation] = field(default_factory=list)


class Catalog:
    """The documents of all knowledge bases."""

    def __init__(
        self,
        store: VectorStore = STORE,
        clock: Callable[[], float] = time.time,
        fails: Callable[[str], bool] = lambda _: False,
        keeps_answering: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store, self._clock, self._fails = store, clock, fails
        self._keeps_answering = keeps_answering
        self._ghosts: set[tuple[Source, str]] = set()
        self._sequence = itertools.count(1)
        self._documents: dict[Source, dict[str, Document]] = {}
        self._unsettled: set[tuple[Source, str]] = set()
        self._tokens: OrderedDict[tuple[str, ...], None] = OrderedDict()

    def ingest(self, source: Source, contents: Iterable[Content], lag: float) -> list[Operation]:
        """Accept documents; each is applied after its lag, and not before it has a vector."""
        return [self._accept(source, content.identifier, lag, content=content) for content in contents]

    def delete(self, source: Source, identifiers: Iterable[str], lag: float, *, dropped: bool) -> None:
        """Accept deletes of the documents that exist; a dropped one is never carried out."""
        held = self._documents.get(source, {})
        for identifier in identifiers:
            if identifier in held:
                self._accept(source, identifier, lag, dropped=dropped)

    def _accept(self, source: Source, identifier: str, lag: float, **what: Any) -> Operation:
        with self._store.lock:
            operation = Operation(next(self._sequence), self._clock(), lag, **what)
            documents = self._documents.setdefault(source, {})
            documents.setdefault(identifier, Document()).pending.append(operation)
            self._unsettled.add((source, identifier))
        return operation

    def complete(self, operations: Iterable[Operation], vectors: Iterable[NDArray[np.float32]]) -> None:
        """Give accepted ingests their vectors."""
        with self._store.lock:
            for operation, vector in zip(operations, vectors, strict=True):
                operation.vector = vector

    def withdraw(self, source: Source, operations: Iterable[Operation]) -> None:
        """Take back operations that were never answered for."""
        with self._store.lock:
            for operation in operations:
                assert operation.content is not None
                document = self._documents.get(source, {}).get(operation.content.identifier)
                if document and operation in document.pending:
                    document.pending.remove(operation)
                    self._forget_if_gone(source, operation.content.identifier)

    def first_use(self, *token: str) -> bool:
        """Whether this client token is new; it counts as used from now on."""
        with self._store.lock:
            new = token not in self._tokens
            self._tokens[token] = None
            while len(self._tokens) > REMEMBERED_TOKENS:
                self._tokens.popitem(last=False)
        return new

    def release(self, *token: str) -> None:
        """Forget a client token whose call failed, so that its retry is not ignored."""
        with self._store.lock:
            self._tokens.pop(token, None)

    def settle(self, lag: float) -> None:
        """Apply everything that is due."""
        with self._store.lock:
            now = self._clock()
            if self._ghosts and not self._keeps_answering():
                for source, key in self._ghosts:
                    self._store.remove(self._store.index_at(source.index_arn), [key])
                self._ghosts.clear()
            for source, identifier in list(self._unsettled):
                self._settle(source, identifier, now, lag)

    def _settle(self, source: Source, identifier: str, now: float, lag: float) -> None:
        document = self._documents[source][identifier]
        due = [operation for operation in document.pending if operation.is_due(now, lag)]
        if not due:
            return
        past = max((operation.sequence for operation in due if not operation.dropped), default=0)
        for operation in document.pending:
            if operation.sequence <= past and operation.is_ready and not operation.dropped:
                self._apply(source, document, operation, identifier)
        document.pending = [
            operation for operation in document.pending if operation.sequence > past and operation not in due
        ]
        self._forget_if_gone(source, identifier)

    def _apply(self, source: Source, document: Document, operation: Operation, identifier: str) -> None:
        document.since = self._clock()
        try:
            document.status = self._write(source, identifier, operation)
            document.reason = ""
        except AwsError as error:
            document.status = Status.FAILED
            document.reason = f"{error.message} (Service: S3Vectors, Status Code: {error.status})"

    def _write(self, source: Source, identifier: str, operation: Operation) -> Status:
        index = self._store.index_at(source.index_arn)
        key = vector_key(source, identifier)
        if operation.content is None:
            if self._keeps_answering():
                self._ghosts.add((source, key))
            else:
                self._store.remove(index, [key])
            return Status.NOT_FOUND
        if self._fails(identifier):
            raise AwsError("InternalServerException", "The document could not be embedded", 500)
        if is_oversize(operation.content.attributes):
            return Status.IGNORED
        metadata = vector_metadata(source, operation.content)
        self._store.put(index, [index.checked(key, operation.vector, metadata)])
        return Status.INDEXED

    def _forget_if_gone(self, source: Source, identifier: str) -> None:
        document = self._documents[source][identifier]
        if document.pending:
            return
        self._unsettled.discard((source, identifier))
        if document.status is Status.NOT_FOUND:
            del self._documents[source][identifier]

    def standing(self, source: Source, identifier: str) -> Standing:
        """Where a document stands; one that was never ingested is NOT_FOUND."""
        now = self._clock()
        document = self._documents.get(source, {}).get(identifier)
        if document is None:
            return Standing(identifier, Status.NOT_FOUND, "", now)
        if document.pending:
            newest = document.pending[-1]
            return Standing(identifier, newest.status(now), "", newest.at)
        return Standing(identifier, document.status, document.reason, document.since)

    def identifiers(self, source: Source) -> list[str]:
        """The ids of all documents of a data source."""
        return list(self._documents.get(source, ()))

    def drop_source(self, source: Source, *, purge: bool) -> None:
        """Forget a deleted data source's documents; `purge` removes their vectors too."""
        with self._store.lock:
            documents = self._documents.pop(source, {})
            self._unsettled -= {(source, identifier) for identifier in documents}
            try:
                index = self._store.index_at(source.index_arn)
            except AwsError:
                return  # The index went first and took the vectors along.
            if purge:
                self._store.remove(index, [vector_key(source, identifier) for identifier in documents])

    def dump(self) -> dict[str, Any]:
        """A snapshot of plain values and bytes. Ingests without a vector were not answered yet."""
        with self._store.lock:
            return {
                "tokens": [list(token) for token in self._tokens],
                "documents": [
                    [list(source), identifier, _dump_document(document)]
                    for source, documents in self._documents.items()
                    for identifier, document in documents.items()
                ],
            }

    def load(self, snapshot: Mapping[str, Any]) -> None:
        """Replace everything by a snapshot."""
        with self._store.lock:
            self._tokens = OrderedDict((tuple(token), None) for token in snapshot["tokens"])
            self._documents, self._unsettled = {}, set()
            for saved_source, identifier, saved in snapshot["documents"]:
                source, document = Source(*saved_source), _load_document(saved)
                self._documents.setdefault(source, {})[identifier] = document
                self._unsettled.add((source, identifier))
                self._forget_if_gone(source, identifier)
            self._sequence = itertools.count(1 + max(self._sequences(), default=0))

    def _sequences(self) -> list[int]:
        documents = itertools.chain.from_iterable(held.values() for held in self._documents.values())
        return [operation.sequence for document in documents for operation in document.pending]


def vector_key(source: Source, identifier: str) -> str:
    """The key of a document's one vector; the same on every ingest, so that the last one replaces."""
    name = f"{source.knowledge_base}/{source.data_source}/{identifier}"
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def vector_metadata(source: Source, content: Content) -> dict[str, Any]:
    """The metadata a knowledge base writes to the vector: the caller's and its own."""
    return {
        **content.attributes,
        TEXT_KEY: content.text,
        SOURCE_KEY: json.dumps({"source": {"sourceType": "CUSTOM", "customDocumentId": content.identifier}}),
        f"{RESERVED_PREFIX}source-uri": content.identifier,
        f"{RESERVED_PREFIX}chunk-id": vector_key(source, content.identifier),
        f"{RESERVED_PREFIX}data-source-id": source.data_source,
        f"{RESERVED_PREFIX}source-file-modality": "TEXT",
    }


def is_oversize(attributes: Mapping[str, Any]) -> bool:
    """Whether a document is quietly ignored for its metadata."""
    return len(attributes) > MAX_CUSTOM_KEYS or json_size(attributes) > MAX_CUSTOM_BYTES


def _dump_document(document: Document) -> dict[str, Any]:
    return {
        "status": str(document.status),
        "reason": document.reason,
        "since": document.since,
        "pending": [
            _dump_operation(operation)
            for operation in document.pending
            if operation.content is None or operation.vector is not None
        ],
    }


def _dump_operation(operation: Operation) -> dict[str, Any]:
    content = operation.content
    vector = None if operation.vector is None else operation.vector.tobytes()
    return {
        **vars(operation),
        "content": [content.identifier, content.text, dict(content.attributes)] if content else None,
        "vector": vector,
    }


def _load_document(saved: Mapping[str, Any]) -> Document:
    pending = [_load_operation(operation) for operation in saved["pending"]]
    return Document(Status(saved["status"]), saved["reason"], saved["since"], pending)


def _load_operation(saved: Mapping[str, Any]) -> Operation:
    content = Content(*saved["content"]) if saved["content"] else None
    vector = None if saved["vector"] is None else np.frombuffer(saved["vector"], np.float32)
    return Operation(**{**saved, "content": content, "vector": vector})
