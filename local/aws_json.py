"""Requests and answers in the shape of AWS's JSON services."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Response: TypeAlias = tuple[int, dict[str, str], bytes]


class AwsError(Exception):
    """An error that the service answers with: AWS's code, a message, an HTTP status."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status


def invalid(message: str) -> AwsError:
    """The error of a request that breaks a documented rule or limit."""
    return AwsError("ValidationException", message)


def answer(payload: Mapping[str, Any], status: int = 200) -> Response:
    """A successful JSON response."""
    return status, {"Content-Type": "application/json"}, json.dumps(payload).encode()


def refusal(error: AwsError) -> Response:
    """The response for an error; SDKs read the code from the header."""
    headers = {"Content-Type": "application/json", "x-amzn-errortype": error.code}
    return error.status, headers, json.dumps({"message": error.message}).encode()


def parse(body: bytes) -> dict[str, Any]:
    """The JSON object of a request body; an empty body is an empty object."""
    try:
        parsed = json.loads(body or b"{}")
    except ValueError as error:
        raise invalid("Request body is not valid JSON.") from error
    if not isinstance(parsed, dict):
        raise invalid("Request body must be a JSON object.")
    return parsed


def members(request: Mapping[str, Any], name: str, most: int) -> list[Any]:
    """A required list of 1 to `most` members."""
    value = request.get(name)
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        raise invalid(f"Member '{name}' must have length between 1 and {most}.")
    return value


def whole_number(request: Mapping[str, Any], name: str, default: int, most: int, least: int = 1) -> int:
    """An optional integer with its range."""
    value = request.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise invalid(f"Member '{name}' must be an integer between {least} and {most}.")
    return value


def page(keys: Sequence[str], token: str | None, size: int) -> tuple[list[str], str | None]:
    """One page of ordered keys and the token of the next page.

    The token is the last key given out, so keys that come and go between two pages
    never repeat or hide another one.
    """
    after = _open_token(token) if token else None
    rest = [key for key in sorted(keys) if after is None or key > after]
    return rest[:size], _seal_token(rest[size - 1]) if len(rest) > size else None


def _seal_token(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode()


def _open_token(token: str) -> str:
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except ValueError as error:  # Neither base64 nor UTF-8.
        raise invalid("Invalid nextToken.") from error
