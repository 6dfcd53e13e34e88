"""Which API operation a request is, named as boto3 names it (`bedrock-agent-runtime.Retrieve`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import botocore.exceptions
import botocore.session

if TYPE_CHECKING:
    from collections.abc import Mapping

# The emulator's router names most services as boto3 does; these differ.
_CLIENT_NAMES = {
    "cognito_idp": "cognito-idp",
    "elasticfilesystem": "efs",
    "elasticloadbalancing": "elbv2",
    "elasticmapreduce": "emr",
    "monitoring": "cloudwatch",
    "states": "stepfunctions",
    "tagging": "resourcegroupstaggingapi",
}
# Two S3 operations share their route with another and are told apart by a header alone.
_COPIES = {"PutObject": "CopyObject", "UploadPart": "UploadPartCopy"}
_COPIED = {copy: plain for plain, copy in _COPIES.items()}
_LABEL = re.compile(r"\{[^}]+\}")


@dataclass(frozen=True)
class _Route:
    method: str
    path: re.Pattern[str]
    query: Mapping[str, str]
    operation: str

    @classmethod
    def of(cls, operation: str, method: str, uri: str) -> _Route:
        path, _, query = uri.partition("?")
        fixed = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
        return cls(method, re.compile(_path_pattern(path)), fixed, operation)

    def matches(self, method: str, path: str, query: Mapping[str, Any]) -> bool:
        return method == self.method and bool(self.path.fullmatch(path)) and self._query_matches(query)

    def _query_matches(self, query: Mapping[str, Any]) -> bool:
        return all(
            name in query and (not value or value in query[name]) for name, value in self.query.items()
        )


def _path_pattern(path: str) -> str:
    pieces, end = [], 0
    for label in _LABEL.finditer(path):
        pieces += [re.escape(path[end : label.start()]), ".+" if label.group().endswith("+}") else "[^/]+"]
        end = label.end()
    return "".join(pieces) + re.escape(path[end:].rstrip("/")) + "/?"


@cache
def services() -> frozenset[str]:
    """Every service name boto3 knows."""
    return frozenset(botocore.session.Session().get_available_services())


@cache
def operations(service: str) -> frozenset[str]:
    """Every operation of a boto3 service; empty for a service boto3 does not know."""
    try:
        return frozenset(botocore.session.Session().get_service_model(service).operation_names)
    except botocore.exceptions.UnknownServiceError:
        return frozenset()


@cache
def _routes(service: str) -> list[_Route]:
    """The REST routes of a service, those that ask most of a request first."""
    model = botocore.session.Session().get_service_model(service)
    found = [
        _Route.of(name, http["method"], http["requestUri"])
        for name in model.operation_names
        if (http := model.operation_model(name).http) and http.get("requestUri")
    ]
    return sorted(found, key=lambda route: (-len(route.query), -len(_LABEL.sub("", route.path.pattern))))


def client_name(service: str, path: str) -> str:
    """The boto3 name of a service the emulator's router named."""
    if service == "apigateway" and path.startswith("/v2/"):
        return "apigatewayv2"
    if service == "ses" and path.startswith("/v2/"):
        return "sesv2"
    return _CLIENT_NAMES.get(service, service)


def operation_of(
    client: str, method: str, path: str, headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]
) -> str | None:
    """The operation a request to a boto3 service performs, or None when it performs none it knows."""
    target = headers.get("x-amz-target", "")
    if target:
        return target.rpartition(".")[2]
    if "/operation/" in path:  # the CBOR protocol names it in the path
        return path.rpartition("/operation/")[2]
    action = _form_action(headers, body, query)
    if action:
        return action
    if not operations(client):
        return None
    return _rest_operation(client, method, path, headers, query)


def _form_action(headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]) -> str | None:
    values = query.get("Action")
    if not values and "x-www-form-urlencoded" in headers.get("content-type", ""):
        values = parse_qs(body.decode("utf-8", "replace")).get("Action")
    return str(values[0]) if values else None


def _rest_operation(
    client: str, method: str, path: str, headers: Mapping[str, str], query: Mapping[str, Any]
) -> str | None:
    route = next((route for route in _routes(client) if route.matches(method, path, query)), None)
    if route is None:
        return None
    if client == "s3" and "x-amz-copy-source" in headers:
        return _COPIES.get(route.operation, route.operation)
    return _COPIED.get(route.operation, route.operation) if client == "s3" else route.operation
