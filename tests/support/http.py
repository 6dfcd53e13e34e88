"""The HTTP API without a network: events as the gateway makes them, answers as clients read them."""

from __future__ import annotations

import copy
import json
import re
import time
from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from functions.api.app import Api
from unsay_core.contracts import exact_json
from unsay_core.contracts.operations import OPERATIONS, Operation
from unsay_core.domain.scope import Action, Grant, Principal, PrincipalKind, ScopePattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.fakes import FakeService

EVENTS = Path(__file__).resolve().parents[1] / "events"


def event(name: str) -> dict[str, Any]:
    """An event fixture."""
    value: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return value


_REQUEST = event("api_request")


def principal(
    pattern: str = "*", *actions: Action, kind: PrincipalKind = PrincipalKind.HUMAN, key: str = "key_admin"
) -> Principal:
    """A caller; every action if none is named."""
    return Principal(key, kind, (Grant(ScopePattern.parse(pattern), frozenset(actions or Action)),))


ADMIN = principal()


@dataclass
class Answer:
    """What came back."""

    status: int
    text: str
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def body(self) -> Any:
        return exact_json.loads(self.text, max_depth=100)

    @property
    def code(self) -> str | None:
        """The code of a problem, None for an answer that is none."""
        is_problem = self.headers["Content-Type"] == "application/problem+json"
        return self.body["code"] if is_problem else None

    def __getitem__(self, name: str) -> Any:
        return self.body[name]


class Caller:
    """One principal at the API of a service."""

    def __init__(self, service: FakeService, who: Principal | None = ADMIN) -> None:
        self.service = service
        self.who = who
        self.expires_at = 0
        self.authorizer: dict[str, Any] | None = None  # what the gateway says, where it is not of a key
        self._api = Api(service)  # type: ignore[arg-type]

    def identified(self, authorizer: dict[str, Any]) -> Caller:
        """The same API, with what the gateway says of the caller: `{"lambda": …}` or `{"iam": …}`."""
        caller = Caller(self.service, None)
        caller.authorizer = authorizer
        return caller

    def as_(self, who: Principal | None) -> Caller:
        """Another principal at the same API."""
        return Caller(self.service, who)

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: str | None = None,
        query: str = "",
        base64: bool = False,
        **headers: str,
    ) -> Answer:
        """One request; `raw` is a body as it stands, header names are written with underscores."""
        request = copy.deepcopy(_REQUEST)
        request |= {"routeKey": "$default", "rawPath": path, "rawQueryString": query}
        request["requestContext"]["http"] |= {"method": method, "path": path}
        request["headers"] |= {name.replace("_", "-"): value for name, value in headers.items()}
        text = raw if raw is not None else exact_json.dumps(body) if body is not None else None
        if text is not None:
            request |= {"body": text, "isBase64Encoded": base64}
        if self.authorizer is not None:
            request["requestContext"]["authorizer"] = self.authorizer
        elif self.who is None:
            del request["requestContext"]["authorizer"]
        else:
            found = {"principal": json.dumps(self.who.to_json()), "expires_at": str(self.expires_at)}
            request["requestContext"]["authorizer"] = {"lambda": found}
        answer = self._api(request, None)  # type: ignore[arg-type]
        require_documented(method, path.removeprefix("/iam"), answer["statusCode"])
        return Answer(answer["statusCode"], answer["body"], answer["headers"])

    def remember(
        self, content: str = "Alice lives in Lisbon.", scope: Any = "acme/alice", **fields: Any
    ) -> Answer:
        """`POST /v1/memories`; `headers` are headers."""
        headers = fields.pop("headers", {})
        return self.send("POST", "/v1/memories", {"scope": scope, "content": content, **fields}, **headers)

    def get(self, memory_id: str, scope: str = "acme/alice", **parameters: Any) -> Answer:
        return self.send("GET", f"/v1/memories/{memory_id}", query=_query(scope, parameters))

    def list(self, scope: str = "acme/alice", **parameters: Any) -> Answer:
        return self.send("GET", "/v1/memories", query=_query(scope, parameters))

    def correct(
        self,
        memory_id: str,
        content: str,
        because: str = "changed",
        *,
        version: int | str | None = 1,
        scope: str = "acme/alice",
        headers: dict[str, str] | None = None,
        **fields: Any,
    ) -> Answer:
        body = {"content": content, "because": because, **fields}
        query = f"scope={quoted(scope)}"
        given = _if_match(version) | (headers or {})
        return self.send("POST", f"/v1/memories/{memory_id}/correct", body, query=query, **given)

    def forget(
        self, memory_id: str, reason: str = "user_request", scope: str = "acme/alice", **parameters: str
    ) -> Answer:
        more = "".join(f"&{name}={quoted(value)}" for name, value in parameters.items())
        return self.send(
            "DELETE", f"/v1/memories/{memory_id}", query=f"scope={quoted(scope)}&reason={reason}{more}"
        )

    def recall(
        self, query: str = "Where does Alice live?", scope: Any = "acme/alice", **fields: Any
    ) -> Answer:
        where = {"scopes": scope} if isinstance(scope, list) else {"scope": scope}
        return self.send("POST", "/v1/recall", {**where, "query": query, **fields})

    def batch(self, items: list[Any], scope: str = "acme/alice", **headers: str) -> Answer:
        return self.send("POST", "/v1/memories/batch", {"scope": scope, "items": items}, **headers)

    def edit(
        self, memory_id: str, *, version: int | str | None = 1, scope: str = "acme/alice", **fields: Any
    ) -> Answer:
        """`PATCH /v1/memories/{id}`; `version` is what `If-Match` says, None sends none."""
        return self.send(
            "PATCH",
            f"/v1/memories/{memory_id}",
            fields,
            query=f"scope={quoted(scope)}",
            **_if_match(version),
        )

    def retract(self, memory_id: str, reason: str = "incorrect", **given: Any) -> Answer:
        return self._because(f"/v1/memories/{memory_id}/retract", {"reason": reason}, **given)

    def dispute(self, memory_id: str, reason: str = "incorrect", **given: Any) -> Answer:
        return self._because(f"/v1/memories/{memory_id}/dispute", {"reason": reason}, **given)

    def decide(self, memory_id: str, decision: str = "approve", **given: Any) -> Answer:
        """`POST /v1/reviews/{id}`; `reason` and `note` go into the body."""
        return self._because(f"/v1/reviews/{memory_id}", {"decision": decision}, **given)

    def lift(self, tombstone_id: str, reason: str = "user_request", **given: Any) -> Answer:
        return self._because(f"/v1/tombstones/{tombstone_id}/lift", {"reason": reason}, **given)

    def _because(
        self,
        path: str,
        body: dict[str, Any],
        *,
        version: int | str | None = 1,
        scope: str = "acme/alice",
        headers: dict[str, str] | None = None,
        **fields: Any,
    ) -> Answer:
        query = f"scope={quoted(scope)}"
        given = _if_match(version) | (headers or {})
        return self.send("POST", path, body | fields, query=query, **given)

    def reviews(self, scope: str = "acme/alice", **parameters: Any) -> Answer:
        return self.send("GET", "/v1/reviews", query=_query(scope, parameters))

    def tombstones(self, scope: str = "acme/alice", **parameters: Any) -> Answer:
        return self.send("GET", "/v1/tombstones", query=_query(scope, parameters))

    def history(self, memory_id: str, scope: str = "acme/alice") -> Answer:
        return self.send("GET", f"/v1/memories/{memory_id}/history", query=_query(scope, {}))

    def audit(self, scope: str = "acme/alice", **parameters: Any) -> Answer:
        return self.send("GET", "/v1/audit", query=_query(scope, parameters))

    def statistics(self, scope: str = "acme/alice") -> Answer:
        return self.send("GET", "/v1/stats", query=_query(scope, {}))

    def events(self, scope: str = "acme/alice") -> list[str]:
        """What happened in a scope, by name, in order."""
        return [event["event"] for event in self.audit(scope, limit=100)["items"]]

    def receipt(self, erasure_id: str, scope: str = "acme/alice") -> Answer:
        return self.send("GET", f"/v1/erasures/{erasure_id}", query=f"scope={quoted(scope)}")

    def verify(self, scope: str = "acme/alice", **parameters: Any) -> Answer:
        more = "".join(f"&{name}={value}" for name, value in parameters.items())
        return self.send("GET", "/v1/audit/verify", query=f"scope={quoted(scope)}{more}")

    def recalled(
        self, query: str = "Where does Alice live?", scope: Any = "acme/alice", **fields: Any
    ) -> list[str]:
        """The contents of what is recalled, best first."""
        return [item["memory"]["content"] for item in self.recall(query, scope, **fields)["items"]]

    def listed(self, scope: str = "acme/alice", **parameters: Any) -> list[str]:
        """The contents of the first page of a listing."""
        return [memory["content"] for memory in self.list(scope, **parameters)["items"]]


def operation_at(method: str, path: str) -> Operation | None:
    """The call that a request is, if there is one."""
    for operation in OPERATIONS:
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(operation.path))
        if operation.method == method and re.fullmatch(pattern, path):
            return operation
    return None


def require_documented(method: str, path: str, status: int) -> None:
    """Every answer that a test gets is one that the call documents; our faults are the test's to judge."""
    operation = operation_at(method, path)
    if operation is not None and status not in (405, 500):
        assert status in operation.statuses, f"{operation.name} does not document {status}"


def persistently(call: Callable[[], Answer]) -> Answer:
    """Ask again while the scope is busy, as a client does: a race that a slow machine loses is no refusal."""
    while (answer := call()).status == 503 and answer.code == "busy":
        time.sleep(0.01)
    return answer


def transport_to(caller: Caller) -> httpx.MockTransport:
    """For an `httpx` client: the way to the service in this process, as through the gateway."""

    def answer(request: httpx.Request) -> httpx.Response:
        found = caller.send(
            request.method,
            request.url.raw_path.decode().partition("?")[0],
            raw=b64encode(request.content).decode() or None,
            query=request.url.query.decode(),
            base64=True,
            **{name.replace("-", "_"): value for name, value in request.headers.items()},
        )
        body = httpx.ByteStream(found.text.encode())
        return httpx.Response(found.status, stream=body, headers=found.headers)

    return httpx.MockTransport(answer)


def quoted(value: object) -> str:
    """A query parameter's value, percent-encoded."""
    return quote(str(value), safe="")


def _query(scope: str, parameters: dict[str, Any]) -> str:
    pairs = {"scope": scope, **parameters}.items()
    return "&".join(f"{name}={quoted(value)}" for name, value in pairs)


def _if_match(version: int | str | None) -> dict[str, str]:
    return {} if version is None else {"if_match": f'"{version}"'}
