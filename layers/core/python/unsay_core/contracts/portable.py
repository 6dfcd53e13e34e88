"""One line of an export: a memory as the API shows it, with the versions it had, in our own format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from unsay_core.application.transfers import Form, Portable
from unsay_core.contracts import exact_json
from unsay_core.contracts.answers import memory_answer
from unsay_core.contracts.base import (
    DEPTH,
    Data,
    Instant,
    Key,
    MemoryId,
    Metadata,
    Path,
    RunId,
    Share,
    Tags,
    Text,
    Wire,
)
from unsay_core.contracts.requests import MAX_SEQ, KindField, StatusField, TrustField
from unsay_core.domain.errors import InvalidRequestError
from unsay_core.domain.memory import BELIEFS, Because, Fact, Memory, Review, Source, Status

if TYPE_CHECKING:
    from datetime import datetime

MOST_VERSIONS = 100
_SEQ = Annotated[int, Field(ge=0, le=MAX_SEQ)]


class _Read(Wire):
    """A part of a line: what a later release adds is passed over."""

    model_config = ConfigDict(extra="ignore", strict=True, arbitrary_types_allowed=True, defer_build=True)


class _SourceIn(_Read):
    channel: Annotated[str, Field(max_length=32)] = "import"
    actor: Annotated[str, Field(max_length=256)] = ""
    run_id: RunId | None = None
    message_seqs: Annotated[list[_SEQ], Field(max_length=1_000)] = Field(default_factory=list)
    quote: Annotated[str, Field(min_length=1, max_length=2_000)] | None = None
    model: Annotated[str, Field(max_length=256)] | None = None


class _ReviewIn(_Read):
    reasons: Annotated[list[Annotated[str, Field(pattern=r"^[a-z0-9_]{1,64}$")]], Field(max_length=16)]
    since: Instant


class _MemoryIn(_Read):
    """A version of a memory."""

    id: MemoryId
    content: Text
    kind: KindField
    key: Key | None = None
    path: Path = ()
    tags: Tags = ()
    importance: Share
    data: Data = None
    metadata: Metadata = Field(default_factory=dict)
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    expires_at: Instant | None = None
    status: StatusField
    trust: TrustField
    recorded_at: Instant
    updated_at: Instant
    invalidated_at: Instant | None = None
    version: Annotated[int, Field(ge=1, le=10**9)] = 1
    supersedes: Annotated[list[MemoryId], Field(max_length=100)] = Field(default_factory=list)
    superseded_by: MemoryId | None = None
    superseded_because: Literal["changed", "wrong"] | None = None
    derived_from: Annotated[list[MemoryId], Field(max_length=100)] = Field(default_factory=list)
    source: _SourceIn = Field(default_factory=_SourceIn)
    review: _ReviewIn | None = None

    def memory(self) -> Memory:
        """As the import takes it: without a nonce or a place in a chain, which it will get here."""
        superseded = self.superseded_because
        return Memory(
            id=self.id,
            fact=self._fact(),
            source=Source(**{**self.source.model_dump(), "message_seqs": tuple(self.source.message_seqs)}),
            trust=self.trust,
            recorded_at=self.recorded_at,
            updated_at=self.updated_at,
            nonce="",
            status=self.status,
            invalidated_at=self.invalidated_at,
            version=self.version,
            supersedes=tuple(self.supersedes),
            superseded_by=self.superseded_by,
            superseded_because=Because(superseded) if superseded else None,
            derived_from=tuple(self.derived_from),
            review=Review(tuple(self.review.reasons), self.review.since) if self.review else None,
        )

    def _fact(self) -> Fact:
        fact = Fact(
            content=self.content,
            kind=self.kind,
            key=self.key,
            path=self.path,
            tags=self.tags,
            importance=self.importance,
            data=self.data,
            metadata=self.metadata,
            valid_from=self.valid_from,
            valid_to=self.valid_to,
            expires_at=self.expires_at,
        )
        if self.status in (Status.ACTIVE, Status.CANDIDATE):
            fact.require_fit()
        elif fact.kind in BELIEFS:
            Fact(fact.content, fact.kind, fact.key, fact.path).require_fit()
        return fact


class LineIn(_Read):
    """One line: the memory, and what it was."""

    memory: _MemoryIn
    versions: Annotated[list[_MemoryIn], Field(max_length=MOST_VERSIONS)] = Field(default_factory=list)


def write_line(portable: Portable, scope: str, at: datetime) -> bytes:
    """A memory as a line, its status as of `at`, each version as it stood until the next."""
    following = (*portable.versions[1:], portable.memory) if portable.versions else ()
    versions = [_shown(v, scope, n.updated_at) for v, n in zip(portable.versions, following, strict=True)]
    line: dict[str, Any] = {"memory": _shown(portable.memory, scope, at)}
    if versions:
        line["versions"] = versions
    return exact_json.dumps(line).encode() + b"\n"


def _shown(memory: Memory, scope: str, at: datetime) -> dict[str, Any]:
    shown = memory_answer(memory, scope, at)
    del shown["index"]
    because = memory.superseded_because
    return {**shown, "superseded_because": because.value if because else None}


def read_line(line: bytes) -> Portable:
    """The memory of a line; raises `InvalidRequestError` and its like, which quote nothing."""
    value = exact_json.loads(line, max_depth=DEPTH + 4)
    try:
        read = LineIn.model_validate(value)
    except ValidationError as refused:
        (first, *_) = refused.errors(include_input=False, include_url=False)
    else:
        return Portable(read.memory.memory(), tuple(version.memory() for version in read.versions))
    cause = first.get("ctx", {}).get("error")
    refusal = getattr(cause, "refusal", None)
    raise type(refusal)() if refusal else InvalidRequestError("a line is not a memory of ours")


FORM = Form(write_line, read_line)
