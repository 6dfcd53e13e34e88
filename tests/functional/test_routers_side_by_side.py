"""Routers in several threads of one process each answer their own request."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from functions.api.app import Api
from tests.support.fakes import FakeService
from tests.support.http import ADMIN, event


def ask(service: FakeService, scope: str) -> Any:
    """For a memory that is not there, under a request id of its own."""
    request = event("api_request")
    path = "/v1/memories/mem_00000000000000000000000001"
    request |= {"rawPath": path, "rawQueryString": f"scope={scope}", "body": None}
    request["requestContext"]["http"] |= {"method": "GET", "path": path}
    request["requestContext"]["requestId"] = f"request-{scope}"
    request["requestContext"]["authorizer"] = {"lambda": {"principal": json.dumps(ADMIN.to_json())}}
    return json.loads(Api(service)(request, None)["body"])  # type: ignore[arg-type]


def test_a_request_that_is_held_up_is_still_answered_as_itself(service: FakeService) -> None:
    held, go = threading.Event(), threading.Event()
    opened = service.open_scope

    def slowly(principal: Any, scope: Any, *given: Any, **more: Any) -> Any:
        if scope.canonical == "slow":
            held.set()
            go.wait(60)
        return opened(principal, scope, *given, **more)

    service.open_scope = slowly  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(ask, service, "slow")
        assert held.wait(60)
        assert ask(service, "quick")["request_id"] == "request-quick"
        go.set()
        assert (slow.result()["code"], slow.result()["request_id"]) == ("not_found", "request-slow")
