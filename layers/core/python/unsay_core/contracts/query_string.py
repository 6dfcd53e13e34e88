"""Query parameters, from the query string as it was sent.

A gateway's own parameter map joins repeated parameters with commas and reads `+` as a space: two ways for
a request to mean something other than what was checked.
"""

from __future__ import annotations

import re

from unsay_core.domain.errors import FieldError, InvalidRequestError, InvalidScopeError

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_SHOWN_CHARACTERS = 64


def parse(raw: str) -> dict[str, str]:
    """Name → value, each name once. `+` is a plus; a name without `=` has an empty value.

    Raises `InvalidRequestError` for a repeated parameter, naming it, and for bytes that are not UTF-8, or
    `InvalidScopeError` where they stand for a scope.
    """
    parameters: dict[str, str] = {}
    for pair in filter(None, raw.split("&")):
        encoded_name, _, encoded_value = pair.partition("=")
        name = _decode(encoded_name)
        value = _scope(encoded_value) if name == "scope" else _decode(encoded_value)
        if name in parameters:
            shown = name[:_SHOWN_CHARACTERS]
            raise InvalidRequestError(
                "A query parameter is given more than once.",
                errors=(FieldError(shown, "given more than once"),),
            )
        parameters[name] = value
    return parameters


def _decode(encoded: str) -> str:
    if _BAD_ESCAPE.search(encoded):
        raise InvalidRequestError("The query string has a % that starts no escape.")
    try:
        return _ESCAPE.sub(_byte, encoded.encode("utf-8")).decode("utf-8")
    except UnicodeError:
        raise InvalidRequestError("The query string is not UTF-8.") from None


def _scope(encoded: str) -> str:
    try:
        return _decode(encoded)
    except InvalidRequestError as wrong:
        raise InvalidScopeError(wrong.detail, errors=(FieldError("scope", "not UTF-8"),)) from None


def _byte(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 16)])
