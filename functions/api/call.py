"""One HTTP request as the endpoints see it, and how it is read."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from functions.entrypoint import UNDECIDED, bearer_of
from unsay_core.application.authenticate import Identity
from unsay_core.application.replay import IdempotencyKey
from unsay_core.contracts import exact_json, query_string, requests
from unsay_core.contracts.base import BODY_BYTES, DEPTH, FieldRefusedError
from unsay_core.domain.errors import (
    FieldError,
    ForbiddenError,
    InvalidRequestError,
    TooLargeError,
    UnauthenticatedError,
    UnsayError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
    from pydantic_core import ErrorDetails

    from unsay_core.application.authenticate import Authenticator
    from unsay_core.application.ports import OpenScope
    from unsay_core.domain.scope import Principal

M = TypeVar("M", bound=BaseModel)

MOST_ERRORS = 20  # named in one answer: the rest is found when these are mended

_IF_MATCH = re.compile(r'"([1-9][0-9]{0,8})"|([1-9][0-9]{0,8})', re.ASCII)
_VISIBLE = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)
_FIELD = re.compile(r"[A-Za-z_]{1,32}|[0-9]{1,4}", re.ASCII)


@dataclass
class Call:
    """A request that came at `now`; `id` is the path parameter, where the path has one."""

    event: APIGatewayProxyEventV2
    route: str
    now: datetime
    authenticator: Callable[[], Authenticator]
    id: str = ""

    @cached_property
    def identity(self) -> Identity:
        """Who calls, as the gateway or its authorizer found; nothing in the request can say otherwise."""
        found = self._found()
        # The gateway keeps the authorizer's answer for a minute; a key may have expired since.
        if found is None or (found.expires_at is not None and found.expires_at <= self.now):
            raise UnauthenticatedError
        return found

    def _found(self) -> Identity | None:
        told = self.event.raw_event["requestContext"].get("authorizer") or {}
        if "iam" in told:
            role = self.authenticator().role(told["iam"].get("userArn") or "")
            if role is None:
                raise ForbiddenError("nothing is granted here to this role")
            return role
        authorizer = told.get("lambda") or {}
        if UNDECIDED in authorizer:
            return self.authenticator().bearer(bearer_of(self.event.headers) or "")
        return Identity.from_context(authorizer) if authorizer.get("principal") else None

    @property
    def principal(self) -> Principal:
        """Who calls, and what they may do."""
        return self.identity.principal

    @cached_property
    def payload(self) -> dict[str, Any]:
        """The body, without a digit lost."""
        text = self.event.body or ""
        body = b64decode(text) if self.event.is_base64_encoded else text.encode("utf-8", "surrogatepass")
        if len(body) > BODY_BYTES:
            raise TooLargeError(f"the body is larger than {BODY_BYTES} bytes")
        value = exact_json.loads(body, max_depth=DEPTH + 1)
        if not isinstance(value, dict):
            raise InvalidRequestError("the body is a JSON object")
        return value

    def body(self, model: type[M]) -> M:
        """The body as a model; raises `InvalidRequestError` naming every field that is wrong."""
        return validated(model, self.payload)

    def query(self, model: type[M]) -> M:
        """The query string as a model."""
        return validated(model, query_string.parse(self.event.raw_query_string or ""))

    def check(self, *, has_query: bool) -> None:
        """Refuse what no call takes, before anything is opened or looked up."""
        if self.event.raw_query_string and not has_query:
            raise InvalidRequestError("this call takes no query string")
        _ = self.if_match, self.idempotency_key

    @property
    def note(self) -> str | None:
        """The note of a call that needs no other body."""
        return self.body(requests.NoteIn).note if self.event.body else None

    @property
    def if_match(self) -> int | None:
        """The version the caller saw, or None if they did not say."""
        given = self.event.headers.get("if-match")
        if given is None:
            return None
        match = _IF_MATCH.fullmatch(given.strip())
        if match is None:
            raise InvalidRequestError.at("If-Match", 'If-Match is a version, such as "1"')
        return int(match[1] or match[2])

    @property
    def idempotency_key(self) -> str | None:
        """What the caller calls this request, or None."""
        key = self.event.headers.get("idempotency-key")
        if key is not None and not _VISIBLE.fullmatch(key):
            raise InvalidRequestError.at("Idempotency-Key", "1 to 255 visible ASCII characters")
        return key

    @property
    def request_id(self) -> str:
        """What the gateway calls this request."""
        return str(self.event.request_context.request_id)

    def idempotency(self, opened: OpenScope, item: int | None = None) -> IdempotencyKey | None:
        """The request's idempotency key, bound to the principal, the route and what was asked.

        Each item of a batch has its own, so that a retry finds what became of it.
        """
        key = self.idempotency_key
        if key is None:
            return None
        name = exact_json.canonical([self.principal.id, self.route, key, item])
        asked = exact_json.canonical([self.id, self.payload])
        return IdempotencyKey(opened.keys.request_digest(name), opened.keys.request_digest(asked))


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
