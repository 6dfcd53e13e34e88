"""The isolation evaluation: thousands of probes show nothing of a neighbour; a build that leaks is reported.

The evaluation is only worth something if it finds leaks. So it runs on builds that have one each, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.isolation import cloud as clouds
from tests.isolation.cloud import Cloud
from tests.isolation.probes import SCOPES, Neighbours, Reply, Request, evaluate, text_of
from tests.support.http import Caller
from unsay_core import endpoints
from unsay_core.adapters.dynamodb.items import Place
from unsay_core.adapters.scoped_session import ScopedSessions
from unsay_core.domain.errors import ForbiddenError
from unsay_core.domain.scope import Principal, Scope, ScopePattern
from unsay_core.endpoints import scopes

PROBES = 2_000
FEW = 150  # enough to try each kind of probe several times


def sending(cloud: Cloud) -> Callable[[Request], Reply]:
    """Requests go through the real router, endpoints, use cases, sessions and adapters."""
    api = Caller(cloud.service())  # type: ignore[arg-type]
    for scope in SCOPES:
        api.service.registry.add(Scope.parse(scope))

    def send(request: Request) -> Reply:
        answer = api.as_(request.who).send(
            request.method, request.path, request.body, query=request.query, **request.headers
        )
        return Reply(answer.status, answer.text, repr(answer.headers))

    return send


def neighbours(cloud: Cloud) -> Neighbours:
    found = Neighbours(sending(cloud))
    found.fill()
    cloud.settle()
    return found


def test_two_thousand_probes_show_not_a_byte_of_a_neighbour() -> None:
    cloud = Cloud()
    found = neighbours(cloud)
    before = [found.contents(number) for number in range(found.scopes)]
    assert [sum(contents.values()) for contents in before] == [50] * 20
    findings, tried = evaluate(found, PROBES)
    assert findings == []
    assert sum(tried.values()) >= PROBES
    assert min(tried.values()) >= 20, "each kind of probe was tried"
    assert cloud.refused == [], "nothing even asked for what is not its own"
    for number, contents in enumerate(before):
        assert found.contents(number) >= contents, "and nothing of a neighbour was changed"


def test_what_is_ones_own_is_found_by_the_same_words() -> None:
    """The control: an answer that is empty for everybody would pass every probe."""
    found = neighbours(Cloud())
    for number in range(found.scopes):
        body = {"scope": SCOPES[number], "query": text_of(number, 7), "limit": 5}
        reply = found.send(Request(found.principal_of(number), "POST", "/v1/recall", "", body))
        assert text_of(number, 7) in reply.text


def test_with_a_knowledge_base_that_does_not_filter_nothing_is_shown_either() -> None:
    cloud = Cloud()
    found = neighbours(cloud)
    cloud.filters = False
    findings, _ = evaluate(found, FEW)
    assert findings == []
    assert cloud.refused == []


def nobody_is_asked_for_grants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Principal, "require", lambda *_: None)


def a_prefix_of_the_text_is_granted(monkeypatch: pytest.MonkeyPatch) -> None:
    def covers(self: ScopePattern, scope: Scope) -> bool:
        return scope.canonical.startswith(str(self).removesuffix("/*"))

    monkeypatch.setattr(ScopePattern, "covers", covers)


def the_keys_of_a_scope_do_not_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Place, "partition", lambda _, area: f"#{area.value}")


def an_id_is_looked_up_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if ids were the keys: what was not found in its scope is taken from wherever it is."""
    plain = clouds.Dynamo.batch_get_item

    def anywhere(self: clouds.Dynamo, *, RequestItems: Any) -> Any:
        answer = plain(self, RequestItems=RequestItems)
        for table, asked in RequestItems.items():
            for key in asked["Keys"]:
                area, sort = key["pk"]["S"].rpartition("#")[2], key["sk"]["S"]
                if area != "M" or any(item["sk"]["S"] == sort for item in answer["Responses"][table]):
                    continue
                for partition, items in self._cloud.tables[table].items():
                    if partition.endswith("#M") and sort in items:
                        answer["Responses"][table].append(items[sort])
        return answer

    monkeypatch.setattr(clouds.Dynamo, "batch_get_item", anywhere)


def every_name_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def everything(_principal: Principal, prefix: Scope | None, registry: Any) -> list[Scope]:
        roots = [prefix.segments[0]] if prefix else sorted(registry.roots())
        return [scope for root in roots for scope in registry.below(root)]

    monkeypatch.setattr(scopes, "known_scopes", everything)


def a_refusal_tells_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def telling(call: Any, service: Any) -> Any:
        there = any(call.id in items for items in service.session.tables["ledger_table"].values())
        raise ForbiddenError("it is another's" if there else "there is no such memory")

    monkeypatch.setitem(endpoints.ENDPOINTS, "history", telling)


def one_session_serves_every_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, first = ScopedSessions.assume, {}

    def assume(self: ScopedSessions, role: str, scope_id: str | None) -> Any:
        return plain(self, role, first.setdefault(role, scope_id))

    monkeypatch.setattr(ScopedSessions, "assume", assume)


LEAKS = {
    nobody_is_asked_for_grants: "a marker of",
    a_prefix_of_the_text_is_granted: "a marker of",
    the_keys_of_a_scope_do_not_name_it: "a marker of",
    an_id_is_looked_up_everywhere: "a marker of",
    every_name_is_listed: "the name",
    a_refusal_tells_what_is_there: "a refusal that tells",
    one_session_serves_every_scope: "status 500",
}
BEHIND_THE_WALL = [the_keys_of_a_scope_do_not_name_it, one_session_serves_every_scope]


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_the_same_evaluation_reports_a_build_that_leaks(
    monkeypatch: pytest.MonkeyPatch, leak: Callable[[pytest.MonkeyPatch], None]
) -> None:
    cloud = Cloud(walled=leak is one_session_serves_every_scope)
    found = neighbours(cloud)
    leak(monkeypatch)
    if leak is the_keys_of_a_scope_do_not_name_it:
        for table in cloud.tables.values():
            for partition in list(table):
                table["#" + partition.rpartition("#")[2]] |= table[partition]
    findings, _ = evaluate(found, FEW)
    assert any(finding.what.startswith(LEAKS[leak]) for finding in findings)


@pytest.mark.parametrize("leak", BEHIND_THE_WALL, ids=lambda leak: leak.__name__)
def test_behind_the_wall_such_a_build_fails_and_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, leak: Callable[[pytest.MonkeyPatch], None]
) -> None:
    cloud = Cloud()
    found = neighbours(cloud)
    leak(monkeypatch)
    findings, _ = evaluate(found, FEW)
    assert cloud.refused
    assert {finding.what.partition(" ")[0] for finding in findings} == {"status"}
