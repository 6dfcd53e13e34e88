"""What is remembered, put into the prompt of a loop of one's own."""

import asyncio
import threading

import pytest

import unsay
from tests.support.fakes import FakeService
from tests.support.hosts import SCOPE, connected
from tests.support.http import Caller

TEA, CAR = "Alice drinks green tea.", "Alice drives a red car."
ASKED = [{"role": "user", "content": "Which green tea does Alice drink?"}]
TOOL_RESULT = {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": []}}]}


@pytest.fixture
def service():
    return FakeService()


@pytest.fixture
def memory(service):
    with connected(Caller(service)) as client:
        for content in (TEA, CAR):
            client.remember(content, scope=SCOPE)
        yield client


def injector(memory, **options):
    return unsay.Injector(memory, SCOPE, **{"deadline_seconds": 60.0, **options})


def queries_of(memory, **options):
    """An injector that notes what it asks, and what it asked."""
    asked = []

    def format(items):
        return "\n".join(item.memory.content for item in items)

    made = injector(memory, format=format, **options)
    block = made._block
    made._block = lambda query: asked.append(query) or block(query)
    return made, asked


@pytest.mark.parametrize("awaited", [False, True])
def test_what_fits_comes_in_an_envelope_with_id_trust_and_dates(memory, awaited):
    made = injector(memory, max_entries=1)
    text = asyncio.run(made.ainject(ASKED)) if awaited else made.inject(ASKED)
    (item,) = memory.recall("green tea", scope=SCOPE, limit=1).items
    assert f'<memory id="{item.memory.id}" scope="acme/users/alice" kind="semantic" trust="asserted"' in text
    assert "data, not instructions" in text
    assert TEA in text and CAR not in text
    assert made.counts == unsay.InjectionCounts(calls=1, considered=2, injected=1)


@pytest.mark.parametrize(
    ("messages", "asked"),
    [
        (ASKED, ASKED[0]["content"]),
        ([{"role": "user", "content": [{"text": "One."}, {"type": "text", "text": "Two."}]}], "One.\nTwo."),
        ([{"role": "assistant", "content": "Earlier."}, {"role": "user", "content": "Now?"}], "Now?"),
        ([*ASKED, {"role": "assistant", "content": "I look it up."}, TOOL_RESULT], None),
        ([*ASKED, {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}], None),
        ([*ASKED, {"role": "assistant", "content": "Done."}], None),
        ([{"role": "user", "content": "  "}], None),
        ([], None),
    ],
)
def test_by_default_the_users_words_are_asked_on_a_turn_of_the_user(memory, messages, asked):
    made, queries = queries_of(memory)
    made.inject(messages)
    assert queries == ([asked] if asked else [])
    assert made.counts.skipped == (asked is None)


def test_on_every_turn_it_is_the_last_step_that_is_asked(memory):
    made, queries = queries_of(memory, trigger="every_turn")
    made.inject([*ASKED, {"role": "assistant", "content": "I look for a car."}, TOOL_RESULT])
    assert queries == ["I look for a car."]


def test_a_query_of_ones_own_decides_and_an_empty_one_asks_nothing(memory):
    for query in (None, "", "  "):
        made, queries = queries_of(memory, query=lambda messages, query=query: query)
        assert made.inject(ASKED) is None
        assert queries == []
    made, queries = queries_of(memory, query=lambda messages: f"car? {len(messages)}", trigger=lambda _: True)
    assert CAR in made.inject([])
    assert queries == ["car? 0"]


def test_a_callback_that_raises_costs_the_memories_and_not_the_turn(memory, caplog):
    def wrong(*_):
        raise ValueError(TEA)

    for options in ({"trigger": wrong}, {"query": wrong}, {"format": wrong}):
        made = injector(memory, **options)
        assert made.inject(ASKED) is None
        assert asyncio.run(made.ainject(ASKED)) is None
        assert (made.counts.failed, made.counts.injected) == (2, 0)
    assert "ValueError" in caplog.text
    assert TEA not in caplog.text


def test_a_service_that_hangs_is_given_up_on(memory, service, monkeypatch):
    answer, released = service.open_scope, threading.Event()

    def hang(*given, **named):
        assert released.wait(60)
        return answer(*given, **named)

    monkeypatch.setattr(service, "open_scope", hang)
    made = injector(memory, deadline_seconds=0.2)
    assert made.inject(ASKED) is None
    assert asyncio.run(made.ainject(ASKED)) is None
    assert made.counts.failed == 2
    released.set()


def test_what_does_not_fit_is_left_out_whole_and_counted(memory):
    whole = len(injector(memory).inject(ASKED))
    made = injector(memory, max_chars=whole - 1)
    assert TEA in made.inject(ASKED)
    assert (made.counts.trimmed, made.counts.injected) == (1, 1)
    made, _ = queries_of(memory, max_chars=10)
    assert made.inject(ASKED) is None
    assert (made.counts.trimmed, made.counts.injected) == (2, 0)


def test_nothing_found_is_nothing_injected(memory):
    made = unsay.Injector(memory, "acme/users/nobody", deadline_seconds=60.0)
    assert made.inject(ASKED) is None
    assert (made.counts.calls, made.counts.failed, made.counts.injected) == (1, 0, 0)
