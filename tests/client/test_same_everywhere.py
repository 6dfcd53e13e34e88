"""The same calls on every way to a service: what one answers and refuses, the others do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import unsay
from tests.client.story import Told, differences, tell
from tests.support.http import ADMIN, Caller, transport_to
from tests.support.stack import eventually
from unsay_core.adapters.world import real_world
from unsay_core.bootstrap.embedded import Chores, EmbeddedService, packaged_embedder

ROOT = "sameness"  # which nobody else uses


def at_once(look: Callable[[], bool]) -> None:
    """A store of one's own owes nothing once it has answered."""
    assert look()


class Awaited:
    """The asynchronous client, called like the other."""

    def __init__(self, memory: unsay.AsyncMemory) -> None:
        self._memory = memory

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *given, **named: asyncio.run(getattr(self._memory, name)(*given, **named))


@pytest.fixture(scope="module")
def reference() -> list[tuple[str, Any]]:
    """The story as memory:// answers it."""
    with unsay.connect("memory://") as memory:
        told = Told(memory, at_once)
        tell(told, ROOT)
    return told.lines


def test_the_story_has_every_verb_and_answers_of_all_sorts(reference: list[tuple[str, Any]]) -> None:
    assert len(reference) > 80
    refused = [line for _, line in reference if isinstance(line, list)]
    assert len({line[0] for line in refused}) > 10, "refusals of many kinds"
    assert dict(reference)["recall 'Where does Alice live?'"]["items"][0]["memory"]["key"] == "home_city"
    assert not any(line.get("degraded") for _, line in reference if isinstance(line, dict))


def test_a_file_answers_as_memory_does(reference: list[tuple[str, Any]], tmp_path: Path) -> None:
    with unsay.connect(f"sqlite:///{tmp_path}/memory.db") as memory:
        told = Told(memory, at_once)
        tell(told, ROOT)
    assert differences(reference, told.lines) == []


def test_the_awaited_client_answers_as_the_other_does(reference: list[tuple[str, Any]]) -> None:
    memory = Awaited(unsay.connect_async("memory://"))
    told = Told(memory, at_once)
    tell(told, ROOT)
    memory.close()
    assert differences(reference, told.lines) == []


@pytest.fixture
def through_the_gateway() -> Iterator[unsay.Memory]:
    """The same service behind the api λ's adapter, asked over HTTP in this process."""
    service = EmbeddedService(None, packaged_embedder(), real_world())
    service.authenticator
    chores = Chores(service)
    caller = Caller(service, ADMIN)  # type: ignore[arg-type]
    sent = caller.send

    def send(method: str, *given: Any, **named: Any) -> Any:
        answer = sent(method, *given, **named)
        chores.run()
        return answer

    caller.send = send  # type: ignore[method-assign]
    with unsay.connect("https://x.example", token="t", transport=transport_to(caller)) as memory:
        yield memory
    service.close()


def test_over_http_it_is_the_same(
    reference: list[tuple[str, Any]], through_the_gateway: unsay.Memory
) -> None:
    told = Told(through_the_gateway, at_once)
    tell(told, ROOT)
    assert differences(reference, told.lines) == []


@pytest.mark.stack
def test_the_deployed_stack_answers_as_an_embedded_store_does(
    reference: list[tuple[str, Any]], stack: Any
) -> None:
    with unsay.connect(stack.url, token=stack.admin_key) as memory:
        told = Told(memory, lambda look: eventually(look) and None)
        tell(told, ROOT)
    assert differences(reference, told.lines) == []
