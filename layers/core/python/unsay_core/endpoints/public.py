"""What needs no key: health and the OpenAPI document."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from unsay_core.contracts import openapi
from unsay_core.domain.errors import UnavailableError
from unsay_core.endpoints.reply import Reply

if TYPE_CHECKING:
    from unsay_core.endpoints.call import Call
    from unsay_core.endpoints.service import Service


NO_KEY = "key_none"


def health(_call: Call, service: Service) -> Reply:
    """`GET /v1/health`: one small read through STS and a table, as every call needs them."""
    try:
        service.keys.find(NO_KEY)
    except UnavailableError:
        return Reply(200, {"status": "degraded", "degraded": ["tables"]})
    return Reply(200, {"status": "ok", "degraded": []})


def openapi_document(_call: Call, _service: Service) -> Reply:
    """`GET /v1/openapi.json`."""
    return Reply(200, _document())


@cache
def _document() -> dict[str, Any]:
    return openapi.document()
