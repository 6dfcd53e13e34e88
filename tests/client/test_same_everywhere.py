"""The same calls on every way to a service: what one answers and refuses, the others do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import unsay
from tests.client.story import Told, differences, tell
from tests.support.http import ADMIN, Caller, transport_to
from tests.support.stack import Stack, eventually
from unsay_core.adapters.world import real_world
from unsay_core.application.ledger import Area
from unsay_core.bootstrap.chores import Chores
from unsay_core.bootstrap.embedded import EmbeddedService, packaged_embedder

ROOT = "sameness"  # which nobody else uses
DIGEST = 52  # characters of a scope's id
GONE_WHEN_DONE = {Area.PENDING, Area.READY}  # markers, which are stored like all else of a scope
# What lies in the access table beside what belongs to a scope.
ACCESS = {"KEYS", "BOOTSTRAP", "ROOTS", "SCOPES", "POLICY", "METER", "RATE", "DELEGATION"}


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
        chores.see_to_new_files()
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


@pytest.fixture(scope="module")
def deployed(stack: Stack) -> list[tuple[str, Any]]:
    """The story as the deployed stack answers it."""
    with unsay.connect(stack.url, token=stack.admin_key) as memory:
        told = Told(memory, lambda look: eventually(look) and None)
        tell(told, ROOT)
    return told.lines


@pytest.mark.stack
def test_the_deployed_stack_answers_as_an_embedded_store_does(
    reference: list[tuple[str, Any]], deployed: list[tuple[str, Any]]
) -> None:
    assert differences(reference, deployed) == []


@pytest.mark.stack
@pytest.mark.usefixtures("deployed")
def test_everything_that_the_deployed_stack_has_stored_says_its_form(stack: Stack) -> None:
    """Of every call of the story, and of whatever other tests had written by then."""
    with unsay.connect(stack.url, token=stack.admin_key) as memory:
        memory.set_policy(scope=ROOT, quotas={"requests_per_minute": 100_000})
        eventually(lambda: memory.list(scope=f"{ROOT}/alice") and "RATE" in sorts_of(stack))
        kept = memory.remember("What is stored says its form.", scope=f"{ROOT}/alice")
        eventually(lambda: memory.get(kept).index.state == "indexed")
        memory.dispute(memory.get(kept), reason="other")
    dynamodb, table = stack.aws("dynamodb"), stack.outputs["LedgerTable"]
    assert silent_items(stack) == []
    assert silent_documents(stack) == []
    assert sorts_of(stack) >= {area.value for area in set(Area) - GONE_WHEN_DONE} | ACCESS
    formless: Any = {"pk": {"S": "nobody#S"}, "sk": {"S": "nothing"}}
    dynamodb.put_item(TableName=table, Item=formless)
    assert silent_items(stack) == [formless], "which would have been seen"
    dynamodb.delete_item(TableName=table, Key=formless)


def stored_items(stack: Stack) -> Iterator[dict[str, Any]]:
    for table in ("LedgerTable", "RecordTable", "AccessTable"):
        pages = stack.aws("dynamodb").get_paginator("scan").paginate(TableName=stack.outputs[table])
        yield from (item for page in pages for item in page["Items"])


def silent_items(stack: Stack) -> list[dict[str, Any]]:
    return [item for item in stored_items(stack) if not int(item.get("schema", {"N": "0"})["N"])]


def silent_documents(stack: Stack) -> list[str]:
    s3, bucket = stack.aws("s3"), stack.outputs["DocumentsBucket"]
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    names = [each["Key"] for page in pages for each in page.get("Contents", [])]
    documents = {name: s3.get_object(Bucket=bucket, Key=name)["Body"].read() for name in names}
    assert documents
    return [name for name, text in documents.items() if not json.loads(text).get("schema")]


def sorts_of(stack: Stack) -> set[str]:
    """What sorts of items are there: areas of scopes, and the beginnings of other partitions."""
    partitions = [item["pk"]["S"].split("#") for item in stored_items(stack)]
    return {parts[-1] if len(parts[0]) == DIGEST else parts[0] for parts in partitions}
