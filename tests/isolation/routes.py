"""Every route of the OpenAPI document with a request that fits it: a new route is covered by being in there.

What the document does not say how to build raises `CannotBuildError`, which fails the tests: whoever adds the
route then sees that it has to be describable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote

from pydantic import TypeAdapter

from unsay_core.contracts import exact_json
from unsay_core.contracts.access import PatternField
from unsay_core.contracts.base import ScopeField
from unsay_core.contracts.openapi import document

METHODS = ("get", "post", "put", "patch", "delete")
A_SCOPE = TypeAdapter(ScopeField).json_schema()["anyOf"]
A_PATTERN = TypeAdapter(PatternField).json_schema()
SCOPE, SCOPES, PATTERN, BARE_PATTERN = "scope", "scopes", "pattern", "bare pattern"


class CannotBuildError(Exception):
    """The document does not say enough to build a request for a route."""


@dataclass(frozen=True)
class Place:
    """Where a route takes a scope: in its query or body, bare, in a list, or as the pattern of a grant."""

    part: str
    name: str
    kind: str
    required: bool

    def holding(self, scope: Any) -> Any:
        """The value of this place that names one scope."""
        match self.kind:
            case "scopes":
                return [scope]
            case "pattern":
                return [{"scope": scope, "actions": ["read"]}]
        return scope


@dataclass(frozen=True)
class Built:
    """A request, all but who sends it."""

    method: str
    path: str
    query: str
    body: Any


class Route:
    """One operation of a document."""

    def __init__(self, path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> None:
        self.path, self.method, self.name = path, method.upper(), operation["operationId"]
        self.is_public = operation.get("security") == []
        self.action = operation.get("x-action")
        self._parameters = operation["parameters"]
        self._schemas = schemas
        content = operation.get("requestBody", {}).get("content", {})
        self._body = self._resolved(content["application/json"]["schema"]) if content else None

    def __repr__(self) -> str:
        return f"{self.method} {self.path}"

    @cached_property
    def places(self) -> list[Place]:
        """Every place for a scope."""
        asked = [(p["in"], p["name"], p["schema"], p["required"]) for p in self._parameters]
        if self._body is not None:
            required = self._body.get("required", [])
            asked += [("body", n, s, n in required) for n, s in self._body.get("properties", {}).items()]
        kinds = [(part, name, self._kind(schema), required) for part, name, schema, required in asked]
        return [Place(part, name, kind, required) for part, name, kind, required in kinds if kind]

    @property
    def has_id(self) -> bool:
        """True if the path names a thing."""
        return "{" in self.path

    def request(self, scope: Any, ids: dict[str, str], place: Place | None = None, **more: Any) -> Built:
        """A request that names one scope, in one place or in each that is required, and things by their kind.

        `ids` are by the segment before the parameter: `{"memories": "mem_…"}`.
        """
        if place is not None:
            places = [place]
        else:
            places = [p for p in self.places if p.required] or self.places[:1]
        return self._built({p: p.holding(scope) for p in places}, ids, more)

    def without_scope(self, ids: dict[str, str]) -> Built:
        """The same request, and no scope in it at all."""
        return self._built({}, ids, {})

    def _built(self, scopes: dict[Place, Any], ids: dict[str, str], more: dict[str, Any]) -> Built:
        query = {p.name: value for p, value in scopes.items() if p.part == "query"}
        for parameter in self._parameters:
            name, schema = parameter["name"], parameter["schema"]
            if parameter["in"] == "query" and parameter["required"] and not self._kind(schema):
                query[name] = self._sample(schema)
        return Built(self.method, self._filled(ids), _encoded(query), self._filled_body(scopes, more))

    def _filled(self, ids: dict[str, str]) -> str:
        parts = self.path.split("/")
        for at, part in enumerate(parts):
            if part.startswith("{"):
                if parts[at - 1] not in ids:
                    raise CannotBuildError(f"{self}: what is a thing of {parts[at - 1]!r}?")
                parts[at] = ids[parts[at - 1]]
        return "/".join(parts)

    def _filled_body(self, scopes: dict[Place, Any], more: dict[str, Any]) -> Any:
        if self._body is None:
            return None
        properties, required = self._body.get("properties", {}), self._body.get("required", [])
        plain = {name: schema for name, schema in properties.items() if not self._kind(schema)}
        wanted = [name for name, schema in plain.items() if name in required or _is_text(schema)]
        if not required and plain and not scopes.keys() & {p for p in self.places if p.part == "body"}:
            wanted = [next(iter(plain))]  # a body that may leave out anything still has to say something
        body = {name: self._sample(plain[name]) for name in wanted}
        return body | {p.name: value for p, value in scopes.items() if p.part == "body"} | more

    def _kind(self, schema: dict[str, Any]) -> str | None:
        """What kind of place for a scope a schema describes, if any."""
        options = [self._resolved(option) for option in schema.get("anyOf", [schema])]
        if options[: len(A_SCOPE)] == A_SCOPE:
            return SCOPE
        if options[0] == A_PATTERN:
            return BARE_PATTERN
        items = next((self._resolved(o["items"]) for o in options if o.get("type") == "array"), {})
        if "anyOf" in items and self._kind(items) == SCOPE:
            return SCOPES
        if items.get("properties", {}).keys() == {"scope", "actions"}:
            return PATTERN
        return None

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        return self._schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def _sample(self, schema: dict[str, Any]) -> Any:  # noqa: C901 - one line per kind of schema
        schema = self._resolved(schema)
        if "examples" in schema:
            return schema["examples"][0]
        for options in ("anyOf", "oneOf"):
            if options in schema:
                return self._sample(schema[options][0])
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][0]
        match schema.get("type"):
            case "string" if "pattern" not in schema and "format" not in schema:
                return "word" * max(1, -(-schema.get("minLength", 1) // 4))
            case "integer" | "number":
                return schema.get("minimum", 1)
            case "boolean":
                return False
            case "array":
                return [self._sample(schema["items"])] * schema.get("minItems", 0)
            case "object":
                needed = schema.get("required", [])
                return {name: self._sample(schema["properties"][name]) for name in needed}
        raise CannotBuildError(f"{self}: no value is known for {schema}")


def routes() -> list[Route]:
    """Every operation there is."""
    described = document()
    return [
        Route(path, method, operation, described["components"]["schemas"])
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
        if method in METHODS
    ]


def _is_text(schema: dict[str, Any]) -> bool:
    """True for free text: it may be left out, and some requests say too little without it."""
    return schema.get("type") == "string" and not schema.keys() & {"enum", "pattern", "format", "const"}


def _encoded(query: dict[str, Any]) -> str:
    pairs = ((n, v if isinstance(v, str) else exact_json.dumps(v)) for n, v in query.items())
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs)
