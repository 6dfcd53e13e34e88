"""The whole service on each ledger, as often as a test wants it anew."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from tests.support.clients import OneAtATime
from tests.support.fakes import FakeService
from unsay_core.adapters.dynamodb.items import Place
from unsay_core.adapters.dynamodb.ledger import DynamoLedger
from unsay_core.adapters.memory_ledger import MemoryLedger
from unsay_core.adapters.sqlite import LedgerFile, SqliteLedger
from unsay_core.application.ports import Ledger

BACKENDS = ("memory", "sqlite", "dynamodb")


class LedgersOf(dict[str, Ledger]):
    """A ledger for each scope, made when it is first asked for."""

    def __init__(self, make: Callable[[str], Ledger]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, scope_id: str) -> Ledger:
        self[scope_id] = self._make(scope_id)
        return self[scope_id]


def service_on(make: Callable[[str], Ledger]) -> FakeService:
    """The whole service over ledgers of one kind."""
    service = FakeService()
    service.ledgers = LedgersOf(make)  # type: ignore[assignment]
    return service


@pytest.fixture(scope="session")
def dynamodb() -> Iterator[OneAtATime]:
    with mock_aws():
        client = boto3.session.Session("test", "test", region_name="us-east-1").client("dynamodb")
        for table in ("ledger", "record"):
            client.create_table(
                TableName=table,
                KeySchema=[
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                AttributeDefinitions=[
                    {"AttributeName": "pk", "AttributeType": "S"},
                    {"AttributeName": "sk", "AttributeType": "S"},
                ],
                BillingMode="PAY_PER_REQUEST",
            )
        yield OneAtATime(client)


@pytest.fixture
def new_service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], FakeService]]:
    """Makes services that hold nothing yet; the test names the ledger by its parameter `backend`."""
    made: list[LedgerFile] = []
    numbers = itertools.count(1)

    def on_sqlite() -> FakeService:
        made.append(LedgerFile(tmp_path / f"ledger-{next(numbers)}"))
        return service_on(lambda scope_id, file=made[-1]: SqliteLedger(file, scope_id))  # type: ignore[misc]

    match request.getfixturevalue("backend"):
        case "memory":
            yield lambda: service_on(lambda _: MemoryLedger())
        case "sqlite":
            yield on_sqlite
        case _:
            client = request.getfixturevalue("dynamodb")

            def on_dynamodb() -> FakeService:
                run = f"{id(request)}-{next(numbers)}"
                return service_on(
                    lambda scope_id: DynamoLedger(client, Place(f"{run}-{scope_id}", "ledger", "record"))
                )

            yield on_dynamodb
    for file in made:
        file.close()
