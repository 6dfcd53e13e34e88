"""Conversations and the policy of a root, on the wire: the shapes of what is sent and answered."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from unsay_core.contracts.base import Instant, ScopeField, Wire, page_size, parse_query_limit
from unsay_core.contracts.consolidation import Threshold
from unsay_core.contracts.requests import MAX_SEQ, PageQuery
from unsay_core.contracts.schemas import Answer
from unsay_core.domain.quota import Quotas
from unsay_core.extraction.conversation import BatchState, Cadence, Role, UploadState
from unsay_core.extraction.steering import COSINE, WORDS, Consolidation, Mode, Retention, Steering

CHARACTERS_PER_TOKEN = 4  # as a rule of thumb; a batch need not be cut to the token
MOST_BLOCKS = 100
# Composing takes quadratic time over runs of marks; no word is this long.
_WORD = re.compile(r"\S{1,512}")


def _composed(text: str) -> str:
    return _WORD.sub(lambda word: unicodedata.normalize("NFC", word[0]), text)


def parse_message_content(value: object) -> object:
    """A text, or blocks as the Converse API has them; words in NFC."""
    if isinstance(value, str) and value:
        return _composed(value)
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_BLOCKS:
        raise ValueError(f"a text that is not empty, or a list of 1 to {MOST_BLOCKS} blocks")
    return [_parse_block(block) for block in value]


def _parse_block(block: object) -> object:
    if not isinstance(block, dict) or not block:
        raise ValueError('a block is an object, such as {"text": …}')
    if "text" not in block:
        return block
    if not isinstance(block["text"], str):
        raise ValueError("the text of a block is a string")
    return {**block, "text": _composed(block["text"])}


def _parse_role(value: object) -> object:
    if not isinstance(value, str) or value not in list(Role):
        raise ValueError(f"one of {', '.join(Role)}")
    return Role(value)


Content = Annotated[
    Any,
    BeforeValidator(parse_message_content),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "minItems": 1, "maxItems": MOST_BLOCKS, "items": {"type": "object"}},
            ]
        }
    ),
]


class MessageIn(Wire):
    """One message of `POST /v1/conversations/{run_id}/messages`."""

    seq: Annotated[int, Field(ge=0, le=MAX_SEQ)]
    role: Annotated[Role, BeforeValidator(_parse_role), WithJsonSchema({"enum": list(Role)})]
    content: Content
    at: Instant | None = None
    name: Annotated[str, Field(min_length=1, max_length=128)] | None = None


class MessagesIn(Wire):
    """`POST /v1/conversations/{run_id}/messages`."""

    scope: ScopeField
    messages: Annotated[list[MessageIn], Field(min_length=1, max_length=50)]
    flush: bool = False


class ConversationQuery(PageQuery):
    """`GET /v1/conversations/{run_id}`: which of its messages."""

    limit: page_size(100, parse_query_limit) = 100  # type: ignore[valid-type]


class ExtractionOut(Answer):
    """How far a conversation is extracted: messages that wait, and batches that are not done."""

    state: Literal["off", "idle", "waiting", "queued"]
    waiting: int
    batches: list[str]


class RecordedOut(Answer):
    """What became of the messages of a request."""

    accepted: int
    duplicates: int
    high_water: int
    extraction: ExtractionOut


class HandedOut(Answer):
    """A conversation whose messages were handed to the extractor."""

    run_id: str
    high_water: int
    extraction: ExtractionOut


class MessageOut(Answer):
    """A message as it is kept; `redacted` says why words are missing."""

    seq: int
    role: Role
    content: Any
    at: datetime | None
    stored_at: datetime
    name: str | None
    redacted: list[str]


class DroppedOut(Answer):
    """How many facts came to nothing, and why."""

    reason: str
    count: int


class BatchStateOut(Answer):
    """Messages that are extracted together, and what came of them."""

    id: str
    from_seq: int
    to_seq: int
    state: BatchState
    attempts: int
    created: list[str]
    merged: list[str]
    dropped: list[DroppedOut]
    error: str | None


class UploadOut(Answer):
    """Where a transcript is put: one `PUT` of its lines, each a message, with exactly these headers."""

    id: str
    run_id: str
    method: Literal["PUT"]
    url: str
    headers: dict[str, str]
    expires_at: datetime
    max_bytes: int


class UploadStateOut(Answer):
    """A transcript that was asked for, and what became of it."""

    id: str
    asked_at: datetime
    state: UploadState
    error: str | None


class RunOut(Answer):
    """A conversation, without its messages."""

    run_id: str
    started_at: datetime
    last_at: datetime
    message_count: int
    high_water: int
    extracted_through: int | None
    waiting: int
    failed: int


class RunsOut(Answer):
    """A page of conversations."""

    items: list[RunOut]
    next_cursor: str | None


class ConversationOut(RunOut):
    """A conversation with a page of its messages, and its batches: those not done, and the newest."""

    messages: list[MessageOut]
    next_cursor: str | None
    batches: list[BatchStateOut]
    uploads: list[UploadStateOut]


def _mode(value: object) -> object:
    if not isinstance(value, str) or value not in list(Mode):
        raise ValueError(f"one of {', '.join(Mode)}")
    return Mode(value)


class CadenceIn(Wire):
    """When messages are extracted: after so many turns of the user, or so many tokens, about.

    Or once nobody has said anything for so many seconds; null for never.
    """

    user_turns: Annotated[int, Field(ge=1, le=50)] = 5
    tokens: Annotated[int, Field(ge=500, le=20_000)] = 8_000
    idle_seconds: Annotated[int, Field(ge=60, le=604_800)] | None = 1_800


_Instruction = Annotated[str, Field(min_length=1, max_length=2_000)]


class InstructionsIn(Wire):
    """What the model is told to keep, and never to keep."""

    keep: _Instruction | None = None
    never_keep: _Instruction | None = None


class BudgetIn(Wire):
    """What the model may be asked in a day (UTC), in tokens; null for as much as there is."""

    daily_tokens: Annotated[int, Field(ge=1, le=10**12)] | None = None


_Quota = Annotated[int, Field(ge=1, le=10**12)] | None


class QuotasIn(Wire):
    """What each scope below the root may hold, and each caller ask; null for as much as there is."""

    memories: _Quota = None
    bytes: _Quota = None
    messages_per_day: _Quota = None
    requests_per_minute: _Quota = None


class ConsolidationIn(Wire):
    """How often near duplicates are merged by themselves, in days; null for never.

    By the same measure as `POST /v1/consolidate`, where the longest says all that the others do. `text` tells
    who words what is merged: the longest of it, or the model, in their words alone.
    """

    every_days: Annotated[int, Field(ge=1, le=365)] | None = 7
    threshold: Threshold = WORDS
    cosine: Threshold | None = COSINE
    text: Literal["longest", "model"] = "longest"


Days = Annotated[int, Field(ge=1, le=36_500)]


class RetentionIn(Wire):
    """For how many days memories are kept, and the words of messages; null for ever."""

    memories_days: Days | None = None
    messages_days: Days | None = None


class PolicyIn(Wire):
    """`PUT /v1/policy`: what is absent is as by default."""

    extraction: Annotated[Mode, BeforeValidator(_mode), WithJsonSchema({"enum": list(Mode)})] = Mode.AUTO
    cadence: CadenceIn = Field(default_factory=CadenceIn)
    secrets: Literal["refuse", "allow"] = "refuse"
    instructions: InstructionsIn = Field(default_factory=InstructionsIn)
    budget: BudgetIn = Field(default_factory=BudgetIn)
    quotas: QuotasIn = Field(default_factory=QuotasIn)
    consolidation: ConsolidationIn = Field(default_factory=ConsolidationIn)
    retention: RetentionIn = Field(default_factory=RetentionIn)

    def steering(self) -> Steering:
        """The policy as the use cases have it."""
        return Steering(
            mode=self.extraction,
            cadence=Cadence(
                self.cadence.user_turns,
                self.cadence.tokens * CHARACTERS_PER_TOKEN,
                self.cadence.idle_seconds,
            ),
            keep=self.instructions.keep,
            never_keep=self.instructions.never_keep,
            daily_tokens=self.budget.daily_tokens,
            allows_secrets=self.secrets == "allow",
            quotas=Quotas(**self.quotas.model_dump()),
            consolidation=Consolidation(
                self.consolidation.every_days,
                self.consolidation.threshold,
                self.consolidation.cosine,
                self.consolidation.text == "model",
            ),
            retention=Retention(self.retention.memories_days, self.retention.messages_days),
        )


class ConsolidationOut(Answer):
    """How often near duplicates are merged by themselves, by which measure, and who words what is merged."""

    every_days: int | None
    threshold: float
    cosine: float | None
    text: Literal["longest", "model"]


class PolicyOut(Answer):
    """The policy of a root."""

    extraction: Mode
    secrets: Literal["refuse", "allow"]
    cadence: dict[str, int | None]
    instructions: dict[str, str | None]
    budget: dict[str, int | None]
    quotas: dict[str, int | None] = Field(default_factory=dict)
    consolidation: ConsolidationOut
    retention: dict[str, int | None]


def _run_id(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.:-]{1,128}", value, re.ASCII):
        raise ValueError("1 to 128 letters, digits, and _ . : -")
    return value


class RunPath(Wire):
    """The conversation a path names."""

    run_id: Annotated[str, AfterValidator(_run_id)]
