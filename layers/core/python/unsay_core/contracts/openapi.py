"""The OpenAPI document, made from the table of operations and the models the handlers use."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from pydantic.json_schema import models_json_schema

from unsay_core.contracts.operations import OPERATIONS, Operation, model_of

_REFUSALS = {
    400: "The request is not valid.",
    401: "Nobody we know, or not any more.",
    403: "The caller's grants do not allow this.",
    404: "There is no such thing in this scope.",
    409: "Its status, a tombstone or what was sent before does not allow this.",
    410: "It was forgotten.",
    412: "It has changed since it was read.",
    413: "A part of the request is over its limit.",
    422: "A credential, or an Idempotency-Key used with another body.",
    428: "If-Match is missing.",
    429: "More than a quota allows: try again after Retry-After seconds.",
    503: "Try again after Retry-After seconds.",
}
_PROBLEM = "schemas.Problem"


def document() -> dict[str, Any]:
    """The API as an OpenAPI 3.1 document."""
    names = {m for op in OPERATIONS for m in (op.body, op.query, op.answer, op.other_answer) if m}
    models = {name: model_of(name) for name in sorted({*names, _PROBLEM}, key=_own_name)}
    refs, schemas = models_json_schema(
        [(model, "validation") for model in models.values()], ref_template="#/components/schemas/{model}"
    )
    named = {name: refs[model, "validation"] for name, model in models.items()}
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, named, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "unsay",
            "version": "1",
            "description": "Agent memory you own, and can take back. Below /iam, every call that needs a "
            "credential takes a request signed with AWS credentials (SigV4, execute-api) instead.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
    }


def _own_name(name: str) -> str:
    return name.rpartition(".")[2]


def _operation(operation: Operation, named: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": _parameters(operation, named, schemas),
        "responses": _responses(operation, named),
    }
    if operation.body:
        content = {"application/json": {"schema": named[operation.body]}}
        described["requestBody"] = {"required": True, "content": content}
    if operation.is_public:
        described["security"] = []
    else:
        described["x-action"] = operation.action
    return described


def _parameters(operation: Operation, named: dict[str, Any], schemas: dict[str, Any]) -> list[Any]:
    names = re.findall(r"{(\w+)}", operation.path)
    found = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
    if operation.query:
        model = schemas["$defs"][named[operation.query]["$ref"].rpartition("/")[2]]
        required = model.get("required", [])
        found += [
            {"name": name, "in": "query", "required": name in required, "schema": schema}
            for name, schema in model["properties"].items()
        ]
    found += [
        {"name": name, "in": "header", "required": False, "schema": {"type": "string"}}
        for name in operation.headers
    ]
    return found


def _responses(operation: Operation, named: dict[str, Any]) -> dict[str, Any]:
    def answer(status: int) -> dict[str, Any]:
        other = operation.other_answer if status in operation.also else None
        schema = named[other or operation.answer]
        return {"description": "Done.", "content": {"application/json": {"schema": schema}}}

    problem = {"application/problem+json": {"schema": named[_PROBLEM]}}
    return {
        str(status): {"description": _REFUSALS[status], "content": problem}
        if status >= 400
        else answer(status)
        for status in operation.statuses
    }


def main() -> None:
    """Print the document, for `docs/openapi.json`."""
    sys.stdout.write(json.dumps(document(), indent=2) + "\n")


if __name__ == "__main__":
    main()
