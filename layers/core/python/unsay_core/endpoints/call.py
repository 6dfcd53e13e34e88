"""One request as the endpoints see it, and how it is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from unsay_core.application.replay import IdempotencyKey
from unsay_core.contracts import exact_json, query_string, requests
from unsay_core.contracts.base import BODY_BYTES, DEPTH, FieldRefusedError
from unsay_core.domain.errors import (
    FieldError,
    InvalidRequestError,
    InvalidScopeError,
    TooLargeError,
    UnauthenticatedError,
    UnsayError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic_core import ErrorDetails

    from unsay_core.application.identity import Identity
    from unsay_core.application.ports import OpenScope
    from unsay_core.domain.scope import Principal

M = TypeVar("M", bound=BaseModel)

MOST_ERRORS = 20  # named in one answer: the rest is found when these are mended

_IF_MATCH = re.compile(r'"([1-9][0-9]{0,8})"|([1-9][0-9]{0,8})', re.ASCII)
_VISIBLE = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)
_FIELD = re.compile(r"[A-Za-z_]{1,32}|[0-9]{1,4}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Request:
    """A request, whatever brought it: path and query as they were sent, headers by lower-case names.

    `who` finds out who calls: None for nobody. It is asked once the rest of the request is in order.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    id: str
    who: Callable[[], Identity | None]


@dataclass
class Call:
    """A request that came at `now`; `id` is the path parameter, where the path has one."""

    request: Request
    route: str
    now: datetime
    id: str = ""

    @cached_property
    def identity(self) -> Identity:
        """Who calls; nothing that the endpoints read of the request can say otherwise."""
        found = self.request.who()
        # Whoever found that may have kept it for a while; a key may have expired since.
        if found is None or (found.expires_at is not None and found.expires_at <= self.now):
            raise UnauthenticatedError
        return found

    @property
    def principal(self) -> Principal:
        """Who calls, and what they may do."""
        return self.identity.principal

    @cached_property
    def payload(self) -> dict[str, Any]:
        """The body, without a digit lost."""
        if len(self.request.body) > BODY_BYTES:
            raise TooLargeError(f"the body is larger than {BODY_BYTES} bytes")
        try:
            value = exact_json.loads(self.request.body, max_depth=DEPTH + 1)
        except InvalidRequestError as wrong:
            raise InvalidScopeError(errors=wrong.errors) if _is_no_scope(wrong) else wrong from None
        if not isinstance(value, dict):
            raise InvalidRequestError("the body is a JSON object")
        return value

    def body(self, model: type[M]) -> M:
        """The body as a model; raises `InvalidRequestError` naming every field that is wrong."""
        return validated(model, self.payload)

    def query(self, model: type[M]) -> M:
        """The query string as a model."""
        return validated(model, query_string.parse(self.request.query))

    def check(self, *, has_query: bool) -> None:
        """Refuse what no call takes, before anything is opened or looked up."""
        if self.request.query and not has_query:
            raise InvalidRequestError("this call takes no query string")
        _ = self.if_match, self.idempotency_key

    @property
    def note(self) -> str | None:
        """The note of a call that needs no other body."""
        return self.body(requests.NoteIn).note if self.request.body else None

    @property
    def if_match(self) -> int | None:
        """The version the caller saw, or None if they did not say."""
        given = self.request.headers.get("if-match")
        if given is None:
            return None
        match = _IF_MATCH.fullmatch(given.strip())
        if match is None:
            raise InvalidRequestError.at("If-Match", 'If-Match is a version, such as "1"')
        return int(match[1] or match[2])

    @property
    def idempotency_key(self) -> str | None:
        """What the caller calls this request, or None."""
        key = self.request.headers.get("idempotency-key")
        if key is not None and not _VISIBLE.fullmatch(key):
            raise InvalidRequestError.at("Idempotency-Key", "1 to 255 visible ASCII characters")
        return key

    @property
    def request_id(self) -> str:
        """What this request is called in the log and in what it is refused with."""
        return self.request.id

    def idempotency(self, opened: OpenScope, item: int | None = None) -> IdempotencyKey | None:
        """The request's idempotency key, bound to the principal, the route and what was asked.

        Each item of a batch has its own, so that a retry finds what became of it.
        """
        key = self.idempotency_key
        if key is None:
            return None
        name = exact_json.canonical([self.principal.id, self.route, key, item])
        asked = exact_json.canonical([self.id, self.payload if self.request.body else None])
        return IdempotencyKey(opened.keys.request_digest(name), opened.keys.request_digest(asked))


def _is_no_scope(wrong: InvalidRequestError) -> bool:
    """True for a scope that is no text: the parser refuses it before anything knows it for a scope."""
    return any(e.message == exact_json.HALF and "scope" in e.path.split(".") for e in wrong.errors)


def validated(model: type[M], value: object) -> M:
    """A value as a model; raises the first refusal with a code of its own, else `InvalidRequestError`.

    Either names every field that is wrong.
    """
    try:
        return model.model_validate(value)
    except ValidationError as refused:
        found = refused.errors(include_input=False, include_url=False)[:MOST_ERRORS]
        refusals = [_refusal(error) for error in found]
        errors = [_field_errors(error, refusal) for error, refusal in zip(found, refusals, strict=True)]
    # Outside the except block, for the validation error quotes the input.
    first = next(filter(None, refusals), None) or InvalidRequestError("some fields are not valid")
    raise type(first)(first.detail, errors=tuple(chain.from_iterable(errors)))


def _refusal(error: ErrorDetails) -> UnsayError | None:
    cause = error.get("ctx", {}).get("error")
    return cause.refusal if isinstance(cause, FieldRefusedError) else None


def _field_errors(error: ErrorDetails, refusal: UnsayError | None) -> tuple[FieldError, ...]:
    if refusal and refusal.errors:
        return refusal.errors
    message = refusal.detail if refusal else error["msg"].removeprefix("Value error, ")
    return (FieldError(_path(error["loc"]), message),)


def _path(location: tuple[int | str, ...]) -> str:
    """Where, in our names; what a caller made up as a name is not repeated."""
    return ".".join(str(part) if _FIELD.fullmatch(str(part)) else "?" for part in location)
