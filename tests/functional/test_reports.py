"""What users of other products reported, and what we answer: filters, pages, time, language, visibility."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.functional.test_list import pages
from tests.functional.test_recall import index_all
from tests.support.fakes import FakeService
from tests.support.http import Caller, principal
from unsay_core.application.recall_load import HYDRATED
from unsay_core.application.recall_sources import BACKLOG
from unsay_core.contracts import exact_json
from unsay_core.domain.scope import Action


class Counted:
    """The ledger of a scope, with its reads counted."""

    def __init__(self, service: FakeService, scope: str = "acme/alice") -> None:
        self.pages: list[int] = []
        self.read = 0
        ledger = service.ledgers[service.keyring.scope_id(scope)]
        page, read = ledger.page, ledger.read

        def counted_page(*given: Any, **how: Any) -> Any:
            self.pages.append(how["limit"])
            return page(*given, **how)

        def counted_read(refs: Any) -> Any:
            self.read += len(refs)
            return read(refs)

        ledger.page, ledger.read = counted_page, counted_read  # type: ignore[method-assign]


def asked(**equal: Any) -> str:
    return exact_json.dumps({"and": [{"eq": [f"metadata.{name}", value]} for name, value in equal.items()]})


def test_any_combination_of_attributes_narrows(api: Caller, service: FakeService) -> None:
    values = {"assistant": ["a1", "a2"], "session_no": [1, 2], "device": ["phone"]}
    every = [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]
    for number, metadata in enumerate(every):
        api.remember(f"Tea number {number}.", metadata=metadata)
    api.remember("Tea of nobody.")
    index_all(service)
    for names in itertools.chain(*(itertools.combinations(values, size) for size in (1, 2, 3))):
        wanted = {name: values[name][-1] for name in names}
        expected = {f"Tea number {n}." for n, m in enumerate(every) if wanted.items() <= m.items()}
        assert set(pages(api, filter=asked(**wanted))) == expected
        parsed = exact_json.loads(asked(**wanted), max_depth=9)
        assert set(api.recalled("tea", limit=50, filter=parsed)) == expected


def test_what_is_absent_is_told_from_what_is_empty(api: Caller) -> None:
    api.remember("With one.", metadata={"assistant": ""})
    api.remember("Without.")
    assert api.listed(filter=asked(assistant="")) == ["With one."]
    assert api.listed(filter='{"exists": ["metadata.assistant", false]}') == ["Without."]


def test_one_row_among_five_hundred_is_found_in_as_many_reads_as_there_are_pages(
    api: Caller, service: FakeService
) -> None:
    api.remember("The one.", metadata={"team": "red"})
    for number in range(499):
        api.remember(f"Another {number}.")
    counted = Counted(service)
    assert pages(api, filter=asked(team="red"), limit=10) == ["The one."]
    assert len(counted.pages) <= 500 / 100 + 1


def test_no_page_that_is_put_together_of_several_reads_leaves_a_gap(api: Caller) -> None:
    for number in range(260):
        api.remember(f"Note {number}.", metadata={"odd": number % 2 == 1})
    odd = [f"Note {number}." for number in range(259, 0, -2)]
    for limit in (7, 10, 100):
        assert pages(api, filter=asked(odd=True), limit=limit) == odd


@pytest.mark.parametrize("route", ["list", "recall"])
def test_a_day_in_utc_is_that_day_wherever_somebody_is(api: Caller, service: FakeService, route: str) -> None:
    for instant in ("2026-04-30T23:59:59Z", "2026-05-01T02:00:00+02:00", "2026-05-01T23:59:59.999999Z"):
        api.remember(f"Tea at {instant}.", valid_from=instant)
    api.remember("Tea the day after.", valid_from="2026-05-02T00:00:00Z")
    service.clock.pass_(days=30)
    index_all(service)
    day = {
        "and": [
            {"gte": ["valid_from", "2026-05-01T00:00:00Z"]},
            {"lt": ["valid_from", "2026-05-02T09:00:00+09:00"]},
        ]
    }
    if route == "list":
        found = api.list(filter=exact_json.dumps(day))["items"]
    else:
        found = [item["memory"] for item in api.recall("tea", filter=day)["items"]]
    assert {m["valid_from"] for m in found} == {"2026-05-01T00:00:00.000000Z", "2026-05-01T23:59:59.999999Z"}


@pytest.mark.parametrize(
    "instant", ["2025-01-01", "2025-01-01T00:00", "2025-01-01T00:00:00", "2025-13-01T00:00:00Z"]
)
def test_a_time_without_a_zone_is_refused_in_a_filter_as_elsewhere(api: Caller, instant: str) -> None:
    assert api.recall("tea", filter={"gte": ["recorded_at", instant]}).code == "invalid_time"
    assert api.recall("tea", valid_at=instant).code == "invalid_time"


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("私は緑茶が好きです。", "緑茶"),
        ("我喜欢喝绿茶。", "绿茶"),
        ("나는 녹차를 좋아한다.", "녹차"),
        ("ฉันชอบชาเขียว", "ชาเขียว"),
    ],
)
def test_two_characters_of_a_script_without_spaces_find_their_memory(
    api: Caller, service: FakeService, text: str, query: str
) -> None:
    for other in ("昨日は雨でした。", "今天下雨了。", "어제 비가 왔다.", "เมื่อวานฝนตก"):
        api.remember(other)
    api.remember(text)
    index_all(service)
    assert api.recalled(query)[0] == text


@pytest.mark.parametrize("query", ["?!", "…", "😀", "—"])
def test_a_query_without_a_word_does_not_match_everything(
    api: Caller, service: FakeService, query: str
) -> None:
    for number in range(10):
        api.remember(f"Tea number {number}.")
    index_all(service)
    answer = api.recall(query, limit=50)
    assert (answer["items"], answer["reasons"]) == ([], ["nothing_relevant"])
    assert len(api.recalled("tea", limit=50)) == 10


def test_what_anybody_wrote_is_found_at_once_by_everybody(api: Caller, service: FakeService) -> None:
    writer = api.as_(principal("acme/alice", Action.WRITE, key="key_writer"))
    reader = api.as_(principal("acme/alice", Action.READ, key="key_reader"))
    tea = writer.remember("Alice drinks green tea.")
    assert reader.recalled("green tea") == ["Alice drinks green tea."]
    writer.correct(tea["id"], "Alice drinks black tea.")
    assert reader.recalled("tea") == ["Alice drinks black tea."]
    service.knowledge_base.intruders = []
    api.forget(reader.recall("tea")["items"][0]["memory"]["id"])
    assert reader.recalled("tea") == []


def test_thousands_that_are_pending_cost_no_more_than_hundreds(api: Caller, service: FakeService) -> None:
    costs = []
    for many in (300, 2_000):
        scope = f"pending/{many}"
        for start in range(0, many, 25):
            items = [{"content": f"Tea number {start + n}."} for n in range(25)]
            api.send("POST", "/v1/memories/batch", {"scope": scope, "items": items})
        newest = api.remember("The newest of all teas.", scope)
        counted = Counted(service, scope)
        answer = api.recall("newest of all teas", scope, limit=1)
        assert answer["items"][0]["memory"]["id"] == newest["id"]
        assert answer["reasons"] == ["index_backlog"]
        costs.append((counted.pages, counted.read))
    assert costs[0] == costs[1]
    assert sum(costs[0][0]) <= BACKLOG + HYDRATED
