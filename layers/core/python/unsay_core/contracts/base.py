"""What every wire model shares: unknown fields are refused, and types are not bent."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    field_validator,
)

from unsay_core.contracts import exact_json
from unsay_core.domain import labels
from unsay_core.domain.errors import (
    InvalidLimitError,
    InvalidRequestError,
    InvalidTimeError,
    ReservedKeyError,
    TooLargeError,
    UnsayError,
)
from unsay_core.domain.memory import is_blank
from unsay_core.domain.scope import Scope

CONTENT_BYTES = 16_384
DATA_BYTES = 32 * 1024
METADATA_BYTES = 4 * 1024
BODY_BYTES = 256 * 1024
KEY_BYTES = 512
PATH_LABELS = 32
PATH_BYTES = 2 * 1024
DEPTH = 32

_RFC3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_METADATA_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
# Names that say who or where elsewhere; as a caller's metadata they would only ever mislead.
_RESERVED = frozenset(
    "id memory_id scope scope_id tenant tenant_id user user_id actor actor_id agent_id session_id run_id "
    "text content live version status trust".split()
)


class Wire(BaseModel):
    """A request or answer. Strict: `"1"` is not a number, and an unknown field is an error."""

    # Built when first used: a process that starts for one call needs one model, and waits for no other.
    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True, defer_build=True)

    @field_validator("*", mode="wrap")
    @classmethod
    def _located(cls, value: Any, parse: ValidatorFunctionWrapHandler) -> Any:
        """Let a refusal with a code of its own be collected with the others, and with its place."""
        try:
            return parse(value)
        except UnsayError as refusal:
            raise FieldRefusedError(refusal) from None


class FieldRefusedError(ValueError):
    """What a field was refused for; it travels through the validation of the whole."""

    def __init__(self, refusal: UnsayError) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal


def parse_instant(value: object) -> datetime:
    """An RFC 3339 time with an offset, in UTC; raises `InvalidTimeError`. Digits beyond micro are dropped."""
    if not isinstance(value, str) or not _RFC3339.fullmatch(value):
        raise InvalidTimeError("a time is written as RFC 3339 with an offset, such as 2026-05-01T09:30:00Z")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidTimeError("there is no such time") from None


def parse_limit(value: object, most: int) -> int:
    """A page size; raises `InvalidLimitError`, never clamps."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidLimitError(f"limit is a whole number from 1 to {most}")
    return value


def parse_query_limit(value: object, most: int) -> int:
    """A page size as a query string writes it."""
    digits = isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value)
    return parse_limit(int(str(value)) if digits else None, most)


def parse_text(value: object) -> str:
    """A memory's words or an item's, in NFC, and maybe none; raises `TooLargeError` over the limit."""
    if not isinstance(value, str):
        raise ValueError("content is a string")
    # Before NFC, which takes quadratic time over runs of combining marks and leaves a third at the least.
    if len(value.encode()) > 3 * CONTENT_BYTES:
        raise TooLargeError(f"content is longer than {CONTENT_BYTES} bytes")
    text = unicodedata.normalize("NFC", value)
    if len(text.encode()) > CONTENT_BYTES:
        raise TooLargeError(f"content is longer than {CONTENT_BYTES} bytes")
    return text


def parse_content(value: object) -> str:
    """A memory's words, in NFC; raises `TooLargeError` over the limit."""
    text = parse_text(value)
    if is_blank(text):
        raise ValueError("content is empty")
    return text


def parse_key(value: object) -> str:
    """A key, in NFC; that of a belief has a stricter form, which only its kind tells."""
    return _label(value, "a key")


def parse_path(value: object) -> tuple[str, ...]:
    """Labels, in NFC: any text, as long as a query string can name them all."""
    if not isinstance(value, list) or len(value) > PATH_LABELS:
        raise ValueError(f"path is a list of at most {PATH_LABELS} labels")
    path = tuple(_label(label, "a label") for label in value)
    if sum(len(label.encode()) for label in path) > PATH_BYTES:
        raise ValueError(f"the labels of a path have at most {PATH_BYTES} bytes together")
    return path


def parse_path_text(value: object) -> tuple[str, ...]:
    """A path as a query string names it: labels joined by `/`, as the segments of a scope; or none."""
    if not isinstance(value, str):
        raise ValueError("a path is text here")
    return parse_path(labels.parted(value) if value else [])


def _label(value: object, what: str) -> str:
    if not isinstance(value, str) or len(value.encode()) > 3 * KEY_BYTES:  # before NFC, as with content
        raise ValueError(f"{what} is text of 1 to {KEY_BYTES} bytes")
    label = unicodedata.normalize("NFC", value)
    if not 1 <= len(label.encode()) <= KEY_BYTES:
        raise ValueError(f"{what} is text of 1 to {KEY_BYTES} bytes")
    return label


def parse_data(value: object) -> object:
    """Any JSON within the limits."""
    if len(exact_json.dumps(value).encode()) > DATA_BYTES:
        raise TooLargeError(f"data is larger than {DATA_BYTES} bytes")
    return value


def parse_metadata(value: object) -> dict[str, Any]:
    """Flat attributes; raises `ReservedKeyError` for a name of ours."""
    if not isinstance(value, dict):
        raise ValueError("metadata is an object")
    if len(value) > 32:
        raise ValueError("metadata has at most 32 keys")
    for key, member in value.items():
        _check_metadata_key(key)
        _check_metadata_value(member)
    if len(exact_json.dumps(value).encode()) > METADATA_BYTES:
        raise TooLargeError(f"metadata is larger than {METADATA_BYTES} bytes")
    return value


def _check_metadata_key(key: str) -> None:
    folded = key.casefold()
    if key.startswith("_") or folded in _RESERVED or folded.startswith("x-amz-"):
        raise ReservedKeyError("a metadata key is a name the service keeps for itself")
    if not _METADATA_KEY.fullmatch(key):
        raise ValueError("a metadata key is 1 to 64 letters, digits, dots, dashes and underscores")


def _check_metadata_value(value: object) -> None:
    if isinstance(value, list):
        if len(value) > 20 or not all(isinstance(member, str) for member in value):
            raise ValueError("a list in metadata has at most 20 strings")
    elif not isinstance(value, str | bool | int | Decimal):
        raise ValueError("a metadata value is a string, a number, a boolean or a list of strings")


def parse_share(value: object) -> Decimal:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return Decimal(value)


def parse_tags(value: object) -> tuple[str, ...]:
    """Up to 32 tags of 1 to 64 characters, in NFC."""
    if not isinstance(value, list) or len(value) > 32 or not all(isinstance(tag, str) for tag in value):
        raise ValueError("tags is a list of at most 32 strings")
    if any(len(tag) > 4 * 64 for tag in value):  # before NFC; no character is composed of more than four
        raise ValueError("a tag has 1 to 64 characters")
    tags = tuple(dict.fromkeys(unicodedata.normalize("NFC", tag) for tag in value))
    if not all(1 <= len(tag) <= 64 and tag.strip() for tag in tags):
        raise ValueError("a tag has 1 to 64 characters")
    return tags


def parse_tag(value: object) -> str:
    """One tag, as it is compared with those of a memory."""
    return parse_tags([value])[0]


def _schema(**schema: Any) -> WithJsonSchema:
    return WithJsonSchema(schema)


ScopeField = Annotated[
    Scope,
    BeforeValidator(Scope.parse),
    _schema(
        anyOf=[
            {"type": "string", "maxLength": 512, "examples": ["acme/users/alice"]},
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 8},
        ]
    ),
]
Instant = Annotated[datetime, BeforeValidator(parse_instant), _schema(type="string", format="date-time")]
Content = Annotated[
    str, BeforeValidator(parse_content), _schema(type="string", minLength=1, maxLength=CONTENT_BYTES)
]
Text = Annotated[str, BeforeValidator(parse_text), _schema(type="string", maxLength=CONTENT_BYTES)]
Key = Annotated[str, BeforeValidator(parse_key), _schema(type="string", minLength=1, maxLength=KEY_BYTES)]
Path = Annotated[
    tuple[str, ...],
    BeforeValidator(parse_path),
    _schema(
        type="array",
        items={"type": "string", "minLength": 1, "maxLength": KEY_BYTES},
        maxItems=PATH_LABELS,
    ),
]
PathText = Annotated[
    tuple[str, ...],
    BeforeValidator(parse_path_text),
    _schema(
        type="string",
        maxLength=3 * PATH_BYTES,
        description="Labels joined by `/`; inside one, `/` is `%2F` and `%` is `%25`. Empty for no labels.",
        examples=["users/alice", "files/a%2Fb.txt", ""],
    ),
]
Data = Annotated[Any, AfterValidator(parse_data), _schema(description="any JSON of at most 32 KiB")]
Metadata = Annotated[
    dict[str, Any], BeforeValidator(parse_metadata), _schema(type="object", maxProperties=32)
]
Share = Annotated[Decimal, BeforeValidator(parse_share), _schema(type="number", minimum=0, maximum=1)]
Tags = Annotated[
    tuple[str, ...],
    BeforeValidator(parse_tags),
    _schema(type="array", items={"type": "string", "minLength": 1, "maxLength": 64}, maxItems=32),
]
Tag = Annotated[str, BeforeValidator(parse_tag), _schema(type="string", minLength=1, maxLength=64)]
SlotKey = Annotated[str, Field(pattern=r"^[a-z0-9_.-]{1,64}$")]
MemoryId = Annotated[str, Field(pattern=r"^mem_[0-9a-hjkmnp-tv-z]{26}$")]
RunId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,128}$")]
Note = Annotated[str, Field(min_length=1, max_length=500)]


def page_size(most: int, parse: Callable[[object, int], int] = parse_limit) -> Any:
    """The type of a `limit` up to `most`."""
    return Annotated[
        int,
        BeforeValidator(lambda value: parse(value, most)),
        _schema(type="integer", minimum=1, maximum=most),
    ]


def refuse(path: str, message: str) -> InvalidRequestError:
    """The error of one field that only several fields together show."""
    return InvalidRequestError.at(path, message)
