"""Every route, as one caller with all that is another's: nothing of it is shown, nothing of it is changed."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import Any

import pytest

from tests.isolation.cloud import Cloud
from tests.isolation.hostile import IDS, MALFORMED, NOT_STRINGS
from tests.isolation.routes import Built, CannotBuildError, Place, Route, routes
from tests.support.http import Answer, Caller
from unsay_core.contracts import exact_json
from unsay_core.domain.scope import Action, Grant, Principal, PrincipalKind, Scope, ScopePattern

MINE, THEIRS = "acme/alice", "acme/bob"
OF_A_ROOT = {"/v1/policy"}  # what belongs to a first segment as a whole
NAMED_BY_CALLERS = "/v1/conversations/{run_id}"  # what is not there yet is begun
CANARY = "kingfisher"
ROUTES = routes()
SCOPED = [route for route in ROUTES if route.places]
every_route = pytest.mark.parametrize("route", ROUTES, ids=repr)
every_scoped_route = pytest.mark.parametrize("route", SCOPED, ids=repr)


def place_of(route: Route, scope: str) -> str:
    """A scope as a route takes it: some take a first segment alone."""
    return Scope(Scope.parse(scope).segments[-1:]).canonical if route.path in OF_A_ROOT else scope


def owner_of(scope: str, key: str) -> Principal:
    """Who may do everything in a scope, and everything below a root of the same name."""
    patterns = (ScopePattern.parse(scope), ScopePattern(Scope.parse(scope).segments[-1:], below=True))
    return Principal(key, PrincipalKind.HUMAN, tuple(Grant(p, frozenset(Action)) for p in patterns))


class Household:
    """A neighbour with something of every kind, and the ids of it."""

    def __init__(self) -> None:
        self.cloud = Cloud()
        self.service = self.cloud.service()
        self.admin = Caller(self.service)  # type: ignore[arg-type]
        self.mine = self.admin.as_(owner_of(MINE, "key_mine"))
        for scope in (MINE, THEIRS):
            self.service.registry.add(Scope.parse(scope))

    def ids_of(self, scope: str, words: str) -> dict[str, str]:
        """Something of each kind of thing, by the segment that its paths have before it."""
        memory = self.admin.remember(f"The {words} is blue.", scope, tags=[words], metadata={"a": words})
        gone = self.admin.remember(f"The {words} was green.", scope)
        erasure = self.admin.forget(gone["id"], scope=scope)
        graves = self.admin.tombstones(scope, limit=100)["items"]
        key = self.admin.send(
            "POST",
            "/v1/keys",
            {"name": words, "kind": "agent", "grants": [{"scope": scope, "actions": ["read"]}]},
        )
        return {
            "memories": memory["id"],
            "reviews": memory["id"],
            "erasures": erasure["id"],
            "tombstones": next(grave["id"] for grave in graves if grave["kind"] == "value"),
            "keys": key["id"],
            "conversations": re.sub(r"[^A-Za-z0-9]", "-", words),
            "jobs": self.admin.send("POST", "/v1/export", {"scope": scope})["id"],
        }

    @cached_property
    def theirs(self) -> dict[str, str]:
        return self.ids_of(THEIRS, CANARY)

    @cached_property
    def own(self) -> dict[str, str]:
        return self.ids_of(MINE, "teapot")

    def send(self, who: Caller, built: Built) -> Answer:
        return who.send(built.method, built.path, built.body, query=built.query, if_match='"1"')

    def dump(self) -> str:
        """Everything stored for the neighbour."""
        scope_id = self.service.keyring.scope_id(THEIRS)
        tables = self.cloud.tables.values()
        held = [(p, i) for table in tables for p, i in sorted(table.items()) if p.startswith(scope_id) and i]
        return json.dumps(held, sort_keys=True, default=repr)


@pytest.fixture(scope="module")
def household() -> Household:
    found = Household()
    assert found.theirs, found.own
    return found


def shows(answer: Answer, ids: dict[str, str], built: Built) -> set[str]:
    """What of another's an answer shows that the request did not say."""
    said = json.dumps([built.path, built.query, exact_json.dumps(built.body or {})], ensure_ascii=False)
    text = answer.text + repr(answer.headers)
    wanted = {CANARY, THEIRS, "acme%2Fbob", *ids.values()} - {"key_mine"}
    return {each for each in wanted if each in text and each not in said}


@every_route
def test_as_another_with_all_that_is_theirs(household: Household, route: Route) -> None:
    before = household.dump()
    for place in route.places or [None]:
        built = route.request(place_of(route, THEIRS), household.theirs, place)
        answer = household.send(household.mine, built)
        assert shows(answer, household.theirs, built) == set()
        if route.is_public:
            assert answer.status == 200
        elif route.name == "list_scopes":
            assert answer["items"] == [], "names are not told to who may not read them"
        elif place is not None:
            assert (answer.status, answer.code) == (403, "forbidden")
        else:
            assert answer.status in {403, 404} if route.has_id else answer.status < 500
    assert household.dump() == before


@pytest.mark.parametrize("route", [route for route in SCOPED if route.has_id], ids=repr)
def test_in_ones_own_scope_with_an_id_of_theirs(household: Household, route: Route) -> None:
    before = household.dump()
    built = route.request(MINE, household.theirs)
    answer = household.send(household.mine, built)
    begun = route.path.startswith(NAMED_BY_CALLERS) and answer.status in (200, 201, 202)
    assert begun or (answer.status, answer.code) == (404, "not_found")
    assert shows(answer, household.theirs, built) == set()
    assert household.dump() == before


@every_scoped_route
def test_ones_own_is_reached_by_the_same_request(household: Household, route: Route) -> None:
    """The control: the same requests, with what is one's own, are not refused for whose it is."""
    answer = household.send(
        household.mine, route.request(place_of(route, MINE), household.ids_of(MINE, f"cup of {route.name}"))
    )
    assert answer.status not in {401, 403} and answer.status < 500, answer.text
    assert answer.status != 404 or route.path.startswith(NAMED_BY_CALLERS), answer.text
    assert answer.code not in {"invalid_scope", "invalid_request"}, answer.text


@every_scoped_route
def test_without_a_scope_nothing_is_done(household: Household, route: Route) -> None:
    if route.name in ("list_scopes", "delegate"):
        return  # a wish, not an address; and all that is the caller's own
    answer = household.send(household.admin, route.without_scope(household.theirs))
    assert answer.status == 400
    assert shows(answer, household.theirs, route.without_scope(household.theirs)) == set()


@every_route
def test_without_a_principal_nothing_is_done(household: Household, route: Route) -> None:
    built = route.request(THEIRS, household.theirs)
    answer = household.send(household.mine.as_(None), built)
    assert answer.status == (200 if route.is_public else 401)
    assert shows(answer, household.theirs, built) == set()


def bent(route: Route) -> list[tuple[Place, str, Any]]:
    """Every malformed scope that a route's places can be sent."""
    found = []
    for place in route.places:
        wrong = MALFORMED | ({} if place.part == "query" else NOT_STRINGS)
        if place.kind in (
            "pattern",
            "bare pattern",
        ):  # `*` and `acme/*` are patterns, and a pattern is a string
            wrong = {name: value for name, value in wrong.items() if value not in ("*", "acme/*")}
        if not place.required and place.part == "body":
            wrong = {name: value for name, value in wrong.items() if value is not None}
        found += [(place, name, value) for name, value in wrong.items()]
    return found


@every_scoped_route
def test_a_malformed_scope_is_refused_and_never_repaired(household: Household, route: Route) -> None:
    opened = len(household.cloud.issued)
    for place, name, value in bent(route):
        answer = household.send(household.admin, route.request(value, household.theirs, place))
        assert answer.status == 400, (place, name, answer.text)
        assert answer.code in {"invalid_scope", "invalid_request"}, (place, name, answer.text)
    assert len(household.cloud.issued) == opened, "nothing was opened for any of them"


def test_forty_ids_are_forty_scopes_in_every_call_and_come_back_as_they_were() -> None:
    assert len(set(IDS)) == 40
    household = Household()
    marks: dict[str, str] = {}
    for number, segment in enumerate(IDS):
        scope = Scope.parse(["people", segment])
        who = household.admin.as_(owner_of(scope.canonical, f"key_{number}"))
        mark = f"mark{number:02d}x"
        marks[scope.canonical] = mark
        for written in (scope.canonical, ["people", segment]):
            made = who.remember(f"{mark} {type(written).__name__}", written)
            assert (made.status, made["scope"]) == (201, scope.canonical)
            assert Scope.parse(made["scope"]).segments == ("people", segment)
        ids = household.ids_of(scope.canonical, mark)
        for route in SCOPED:
            if route.has_id:  # the route before may have left nothing of the last one
                ids["memories"] = ids["reviews"] = who.remember(f"{mark} {route.name}", written)["id"]
            at = place_of(route, scope.canonical)
            answer = household.send(who, route.request(at, ids))
            assert answer.status not in {401, 403}, (segment, route, answer.text)
            assert answer.status != 404 or route.path.startswith(NAMED_BY_CALLERS), (segment, answer.text)
            assert answer.code not in {"invalid_scope", "invalid_request"}, (segment, route, answer.text)
            assert answer.status < 500
            scopes = set(named(answer))
            assert scopes <= {at}, (segment, route, scopes)
    assert household.cloud.refused == []
    for canonical, mark in marks.items():
        found = household.admin.listed(canonical, limit=100)
        found += household.admin.recalled(" ".join(marks.values()), canonical, limit=50)
        assert {word for text in found for word in text.split() if word.startswith("mark")} == {mark}


def named(answer: Answer) -> list[str]:
    """Every scope an answer names, however deep."""

    def within(value: Any) -> list[str]:
        if isinstance(value, list):
            return [each for member in value for each in within(member)]
        if not isinstance(value, dict):
            return []
        own = [value["scope"]] if isinstance(value.get("scope"), str) else []
        return own + [each for member in value.values() for each in within(member)]

    return within(answer.body)


def test_a_route_that_cannot_be_built_is_an_error_and_not_passed_over() -> None:
    unknown: dict[str, Any] = {
        "operationId": "new",
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
            {"name": "when", "in": "query", "required": True, "schema": {"type": "string", "format": "date"}},
        ],
    }
    route = Route("/v1/novelties/{id}", "get", unknown, {})
    for missing in ({}, {"novelties": "nov_1"}):
        with pytest.raises(CannotBuildError):
            route.request(MINE, missing)


def test_the_walk_knows_the_places_for_scopes() -> None:
    kinds = {(place.name, place.kind) for route in ROUTES for place in route.places}
    assert kinds >= {("scope", "scope"), ("scopes", "scopes"), ("prefix", "scope"), ("grants", "pattern")}
    without = {route.name for route in ROUTES if not route.places and not route.is_public}
    assert without <= UNSCOPED, "a route that names no scope: is it one that lies in none?"


UNSCOPED: set[str] = {"list_keys", "revoke_key"}  # keys lie in no scope
