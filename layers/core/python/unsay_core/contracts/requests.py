"""What callers send: bodies and query strings, field by field as the API documents them."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from unsay_core.contracts.base import (
    Content,
    Data,
    Instant,
    Key,
    MemoryId,
    Metadata,
    Note,
    Path,
    PathText,
    RunId,
    ScopeField,
    Share,
    SlotKey,
    Tag,
    Tags,
    Text,
    Wire,
    page_size,
    parse_query_limit,
    refuse,
)
from unsay_core.contracts.filter import FilterField, FilterText
from unsay_core.contracts.prompt import MOST_CHARS
from unsay_core.domain.memory import (
    BELIEFS,
    SLOT_KEY_FORM,
    Because,
    Fact,
    Kind,
    Reason,
    Status,
    Trust,
    is_slot_key,
)

MAX_SEQ = 2**53 - 1


def member_of(enum: Any) -> Any:
    """A string that names a member of an enum: JSON has no enums of its own.

    The message lists what is allowed and never repeats what was sent.
    """
    members = {str(member): member for member in enum}

    def parse(value: object) -> object:
        if not isinstance(value, str) or value not in members:
            raise ValueError(f"one of {', '.join(members)}")
        return members[value]

    return BeforeValidator(parse)


KindField = Annotated[Kind, member_of(Kind)]
BeliefField = Annotated[Literal[Kind.SEMANTIC, Kind.EPISODIC, Kind.PROCEDURAL], member_of(BELIEFS)]
StatusField = Annotated[Status, member_of(Status)]
TrustField = Annotated[Trust, member_of(Trust)]
ReasonField = Annotated[Reason, member_of(Reason)]
BecauseField = Annotated[Because, member_of(Because)]


class SourceIn(Wire):
    """What the caller says of a memory's origin; the run and its messages need not be stored here."""

    run_id: RunId | None = None
    message_seqs: Annotated[list[Annotated[int, Field(ge=0, le=MAX_SEQ)]], Field(max_length=50)] = Field(
        default_factory=list
    )
    quote: Annotated[str, Field(min_length=1, max_length=2_000)] | None = None


class FactIn(Wire):
    """The parts of a fact that remember and correct share."""

    tags: Tags = ()
    importance: Share = Decimal("0.5")
    data: Data = None
    metadata: Metadata = Field(default_factory=dict)
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    expires_at: Instant | None = None
    ttl_seconds: Annotated[int, Field(ge=1, le=10 * 366 * 86_400)] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> FactIn:
        if self.valid_from and self.valid_to and self.valid_from >= self.valid_to:
            raise refuse("valid_to", "valid_from is not before valid_to")
        if self.expires_at and self.ttl_seconds:
            raise refuse("ttl_seconds", "expires_at and ttl_seconds say the same thing; send one")
        return self

    def expiry(self, now: datetime) -> datetime | None:
        """The instant of expiry, if any."""
        return now + timedelta(seconds=self.ttl_seconds) if self.ttl_seconds else self.expires_at


class ItemIn(FactIn):
    """One fact of `POST /v1/memories/batch`: a belief, or an item, which may have no content at all."""

    content: Text = ""
    kind: KindField = Kind.SEMANTIC
    key: Key | None = None
    path: Path = ()
    derived_from: Annotated[list[MemoryId], Field(max_length=20)] = Field(default_factory=list)
    source: SourceIn = Field(default_factory=SourceIn)

    @model_validator(mode="after")
    def _fits(self) -> ItemIn:
        Fact(self.content, self.kind, self.key, self.path).require_fit()
        return self


class RememberIn(ItemIn):
    """`POST /v1/memories`."""

    scope: ScopeField


class BatchIn(Wire):
    """`POST /v1/memories/batch`; each item is judged on its own, as an `ItemIn`."""

    scope: ScopeField
    items: Annotated[
        list[Any],
        Field(min_length=1, max_length=25),
        WithJsonSchema({"type": "array", "minItems": 1, "maxItems": 25, "items": {"type": "object"}}),
    ]


class EditIn(Wire):
    """`PATCH /v1/memories/{id}`: what is absent stays, null clears."""

    content: Text | None = None
    kind: KindField | None = None
    key: Key | None = None
    tags: Tags | None = None
    importance: Share | None = None
    data: Data = None
    metadata: Metadata | None = None
    expires_at: Instant | None = None
    valid_to: Instant | None = None

    @model_validator(mode="after")
    def _says_something(self) -> EditIn:
        if not self.model_fields_set:
            raise refuse("", "name at least one field to change")
        for name in ("content", "kind"):
            if name in self.model_fields_set and getattr(self, name) is None:
                raise refuse(name, f"a memory has a {name}; it cannot be cleared")
        return self


class NoteIn(Wire):
    """The body that a call takes which needs none."""

    note: Note | None = None


class ReasonIn(Wire):
    """A change that takes something away says why."""

    reason: ReasonField
    note: Note | None = None


class CorrectIn(FactIn):
    """`POST /v1/memories/{id}/correct`; a field that is absent is taken over from the old memory."""

    content: Content
    kind: BeliefField = Kind.SEMANTIC
    key: SlotKey | None = None
    because: BecauseField
    quote: Annotated[str, Field(min_length=1, max_length=2_000)] | None = None
    note: Note | None = None


class RecallIn(Wire):
    """`POST /v1/recall`."""

    scope: ScopeField | None = None
    scopes: Annotated[list[ScopeField], Field(min_length=1, max_length=8)] | None = None
    query: Annotated[str, Field(max_length=2_000)]
    limit: page_size(50) = 5  # type: ignore[valid-type]
    kinds: Annotated[list[KindField], Field(min_length=1, max_length=4)] | None = None
    tags: Tags = ()
    filter: FilterField | None = None
    min_trust: TrustField | None = None
    min_score: Share | None = None
    include: Annotated[list[Literal["candidate", "disputed"]], Field(max_length=2)] = Field(
        default_factory=list
    )
    valid_at: Instant | None = None
    known_at: Instant | None = None
    deadline_ms: Annotated[int, Field(ge=50, le=10_000)] = 3_000
    format: Literal["entries", "prompt"] = "entries"
    max_chars: Annotated[int, Field(ge=1, le=MOST_CHARS)] | None = None

    @model_validator(mode="after")
    def _one_way_to_say_where(self) -> RecallIn:
        if (self.scope is None) == (self.scopes is None):
            raise refuse("scope", "send scope, or scopes with 1 to 8 of them")
        return self


class ScopeQuery(Wire):
    """The query string of a call on one thing in a scope."""

    scope: ScopeField


class GetQuery(ScopeQuery):
    """`GET /v1/memories/{id}`."""

    known_at: Instant | None = None


class ForgetQuery(ScopeQuery):
    """`DELETE /v1/memories/{id}`."""

    reason: ReasonField
    tombstone: Literal["value", "id"] = "value"


class PageQuery(ScopeQuery):
    """The query string of a listing."""

    limit: page_size(100, parse_query_limit) = 20  # type: ignore[valid-type]
    cursor: str | None = None


class ScopesQuery(Wire):
    """`GET /v1/scopes`."""

    prefix: ScopeField | None = None


class ListQuery(PageQuery):
    """`GET /v1/memories`."""

    order: Literal["asc", "desc"] = "desc"
    status: StatusField = Status.ACTIVE
    kind: KindField | None = None
    tag: Tag | None = None
    key: Key | None = None
    path: PathText | None = None
    trust: TrustField | None = None
    run_id: RunId | None = None
    filter: FilterText | None = None
    valid_at: Instant | None = None
    known_at: Instant | None = None

    @model_validator(mode="after")
    def _fits(self) -> ListQuery:
        if self.kind is Kind.ITEM:
            return self
        if self.path is not None:
            raise refuse("path", "only items have paths: ask for kind=item")
        if self.key is not None and not is_slot_key(self.key):
            raise refuse("key", f"{SLOT_KEY_FORM}; for that of an item ask for kind=item")
        return self
