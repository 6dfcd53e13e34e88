"""A JSON document from the web: small, soon, and from where it was asked for."""

from __future__ import annotations

import json
import time
import urllib.request
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from http.client import HTTPResponse

SECONDS = 2.0
BYTES = 512 * 1024
_CHUNK = 64 * 1024


class FetchError(Exception):
    """The document could not be had, or is not one."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What was asked for lies where it was asked for, or nowhere."""

    def redirect_request(self, *_: Any) -> None:
        """A redirect is an error."""


_opener = urllib.request.build_opener(_NoRedirect)


def fetch_json(url: str) -> dict[str, Any]:
    """The JSON object at an address; raises `FetchError` for anything else, after 2 s at the latest or so."""
    deadline = time.monotonic() + SECONDS
    try:
        with _opener.open(url, timeout=SECONDS) as response:
            value = json.loads(_body(response, deadline))
    except (OSError, HTTPException, ValueError, RecursionError) as failure:
        raise FetchError(type(failure).__name__) from failure
    if not isinstance(value, dict):
        raise FetchError("not an object")
    return value


def _body(response: HTTPResponse, deadline: float) -> bytes:
    body = b""
    while chunk := response.read1(_CHUNK):
        body += chunk
        if len(body) > BYTES or time.monotonic() > deadline:
            raise FetchError("too long")
    return body
