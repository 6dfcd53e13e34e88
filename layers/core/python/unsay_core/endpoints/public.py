"""What needs no key: health and the OpenAPI document."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from unsay_core.contracts import openapi
from unsay_core.domain.errors import UnavailableError
from unsay_core.endpoints.reply import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unsay_core.endpoints.call import Call
    from unsay_core.endpoints.service import Service


NO_KEY = "key_none"


def health(_call: Call, service: Service) -> Reply:
    """`GET /v1/health`: one small read through STS and a table, as every call needs them.

    `restored`: a table came from a backup and serves nobody until `unsay-admin restore-check` has run.
    """
    degraded = [name for name, look in _looks(service) if _fails(look)]
    return Reply(200, {"status": "degraded" if degraded else "ok", "degraded": degraded})


def _looks(service: Service) -> Sequence[tuple[str, Callable[[], object]]]:
    return (("tables", lambda: service.keys.find(NO_KEY)), ("restored", service.check_tables))


def _fails(look: Callable[[], object]) -> bool:
    try:
        look()
    except UnavailableError:
        return True
    return False


def openapi_document(_call: Call, _service: Service) -> Reply:
    """`GET /v1/openapi.json`."""
    return Reply(200, _document())


@cache
def _document() -> dict[str, Any]:
    return openapi.document()
