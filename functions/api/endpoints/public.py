"""What needs no key: health and the OpenAPI document."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from functions.api.endpoints.reply import Reply
from unsay_core.contracts import openapi
from unsay_core.domain.errors import UnavailableError

if TYPE_CHECKING:
    from functions.api.call import Call
    from unsay_core.bootstrap.aws import ApiService


NO_KEY = "key_none"


def health(_call: Call, service: ApiService) -> Reply:
    """`GET /v1/health`: one small read through STS and a table, as every call needs them."""
    try:
        service.keys.find(NO_KEY)
    except UnavailableError:
        return Reply(200, {"status": "degraded", "degraded": ["tables"]})
    return Reply(200, {"status": "ok", "degraded": []})


def openapi_document(_call: Call, _service: ApiService) -> Reply:
    """`GET /v1/openapi.json`."""
    return Reply(200, _document())


@cache
def _document() -> dict[str, Any]:
    return openapi.document()
