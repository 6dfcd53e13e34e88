"""What callers send: bodies and query strings, field by field as the API documents them."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

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
from unsay_core.domain.scope import Action, Grant, PrincipalKind, ScopePattern
from unsay_core.domain.timeline import rfc3339

MAX_SEQ = 2**53 - 1


def _member(enum: Any) -> Any:
    """A string that names a member of an enum: JSON has no enums of its own.

    The message lists what is allowed and never repeats what was sent.
    """
    members = {str(member): member for member in enum}

    def parse(value: object) -> object:
        if not isinstance(value, str) or value not in members:
            raise ValueError(f"one of {', '.join(members)}")
        return members[value]

    return BeforeValidator(parse)


KindField = Annotated[Kind, _member(Kind)]
BeliefField = Annotated[Literal[Kind.SEMANTIC, Kind.EPISODIC, Kind.PROCEDURAL], _member(BELIEFS)]
StatusField = Annotated[Status, _member(Status)]
TrustField = Annotated[Trust, _member(Trust)]
ReasonField = Annotated[Reason, _member(Reason)]
BecauseField = Annotated[Because, _member(Because)]
PrincipalKindField = Annotated[PrincipalKind, _member(PrincipalKind)]


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


class DecisionIn(Wire):
    """`POST /v1/reviews/{id}`."""

    decision: Literal["approve", "reject"]
    reason: ReasonField | None = None
    note: Note | None = None

    @model_validator(mode="after")
    def _a_rejection_has_a_reason(self) -> DecisionIn:
        if self.decision == "reject" and self.reason is None:
            raise refuse("reason", "a rejection has a reason")
        return self


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


MOST_IDS = 500


class SelectedFields(Wire):
    """Fields that a memory must have to be forgotten: all of those named. Of `tags`, each one."""

    kind: Annotated[Kind, _member(Kind)] | None = None
    tags: Annotated[Tags, Field(min_length=1)] | None = None
    key: Key | None = None
    path: Path | None = None
    run_id: RunId | None = None
    before: Instant | None = None
    after: Instant | None = None
    metadata: Annotated[Metadata, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _names_something(self) -> SelectedFields:
        if not self.stated():
            raise ValueError("name at least one field; to forget everything, say all and confirm it")
        return self

    def stated(self) -> dict[str, Any]:
        """The fields that were named, as a receipt keeps them."""
        named = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: _as_kept(value) for name, value in named.items() if value is not None}


def _as_kept(value: Any) -> Any:
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Kind) else value


class Selector(Wire):
    """What to forget: exactly one of these."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"filter": {"tags": ["trip"]}}]})

    ids: Annotated[list[MemoryId], Field(min_length=1, max_length=MOST_IDS)] | None = None
    filter: SelectedFields | None = None
    run_id: RunId | None = None
    all: Literal[True] | None = None
    confirm: ScopeField | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Selector:
        ways = (self.ids, self.filter, self.run_id, self.all)
        if sum(way is not None for way in ways) != 1:
            raise ValueError("exactly one of ids, filter, run_id, all")
        if (self.all is None) != (self.confirm is None):
            raise ValueError("all is confirmed by the name of the scope, and nothing else is")
        return self

    def kept(self) -> dict[str, Any]:
        """The selector as a receipt keeps it."""
        if self.ids is not None:
            return {"ids": list(dict.fromkeys(self.ids))}
        if self.filter is not None:
            return {"filter": self.filter.stated()}
        return {"run_id": self.run_id} if self.run_id is not None else {"all": True}


class ForgetIn(Wire):
    """`POST /v1/forget`. A dry run answers with what is selected; `cursor` goes on where one ended."""

    scope: ScopeField
    selector: Selector
    reason: ReasonField
    note: Note | None = None
    tombstone: Literal["value", "id"] = "value"
    dry_run: bool = False
    cursor: str | None = None

    @model_validator(mode="after")
    def _is_confirmed(self) -> ForgetIn:
        confirmed = self.selector.confirm
        if confirmed is not None and confirmed != self.scope:
            raise ValueError("confirm names another scope than the one that would be erased")
        return self


class PruneIn(Wire):
    """`POST /v1/prune`."""

    scope: ScopeField
    note: Note | None = None
    dry_run: bool = False
    cursor: str | None = None


class PageQuery(ScopeQuery):
    """The query string of a listing."""

    limit: page_size(100, parse_query_limit) = 20  # type: ignore[valid-type]
    cursor: str | None = None


class ReviewsQuery(PageQuery):
    """`GET /v1/reviews`."""

    state: Literal["candidate", "disputed", "active"] = "candidate"


def _whole(value: object) -> int:
    """A place in the chain, as a query string writes it."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 12:
        return int(value)
    raise ValueError("a whole number")


class AuditQuery(PageQuery):
    """`GET /v1/audit`: entries after a place in the chain."""

    after: Annotated[int, BeforeValidator(_whole)] = 0


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


class VerifyQuery(ScopeQuery):
    """`GET /v1/audit/verify`."""

    start: Annotated[int, BeforeValidator(_whole), Field(alias="from", ge=1)] = 1


PatternField = Annotated[
    ScopePattern,
    BeforeValidator(ScopePattern.parse),
    WithJsonSchema({"type": "string", "examples": ["acme/users/alice", "acme/*"]}),
]
_GRANT = {
    "type": "object",
    "properties": {
        "scope": {"type": "string", "examples": ["acme/users/alice", "acme/*", "*"]},
        "actions": {"type": "array", "items": {"enum": [str(action) for action in Action]}, "minItems": 1},
    },
    "required": ["scope", "actions"],
    "additionalProperties": False,
}


class KeysQuery(Wire):
    """`GET /v1/keys`."""

    limit: page_size(100, parse_query_limit) = 20  # type: ignore[valid-type]
    cursor: str | None = None


class KeyIn(Wire):
    """`POST /v1/keys`."""

    name: Annotated[str, Field(min_length=1, max_length=128)]
    kind: PrincipalKindField
    grants: Annotated[
        list[Annotated[Grant, BeforeValidator(Grant.from_json), WithJsonSchema(_GRANT)]],
        Field(min_length=1, max_length=50),
    ]
    expires_at: Instant | None = None


class DelegationIn(Wire):
    """`POST /v1/delegations`; no scope is every scope the caller's own grants name."""

    actions: Annotated[
        list[Literal["read", "write", "forget", "audit", "transfer"]], Field(min_length=1, max_length=5)
    ]
    scope: PatternField | None = None
    ttl_seconds: Annotated[int, Field(ge=1, le=3_600)]
