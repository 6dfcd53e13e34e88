"""The whole service on each ledger, as often as a test wants it anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import boto3
import pytest
from botocore.exceptions import ReadTimeoutError
from moto import mock_aws

from tests.support.clients import OneAtATime
from tests.support.fakes import FakeService
from unsay_core.adapters.dynamodb.items import Place, entry_of_item
from unsay_core.adapters.dynamodb.ledger import DynamoLedger
from unsay_core.adapters.memory_ledger import MemoryLedger
from unsay_core.adapters.sqlite import LedgerFile, SqliteLedger
from unsay_core.application.ledger import Area
from unsay_core.application.ports import Ledger
from unsay_core.domain.errors import UnavailableError

Wrap = Callable[[Any], Any]


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


class Stores(Protocol):
    """Stores of one kind that hold nothing yet, and what a process meets on its way to them."""

    def new(self) -> Callable[[str], Ledger]:
        """A store of its own, and the ledger of each scope in it."""

    def through(self, ledger: Any, wrap: Wrap) -> Ledger:
        """A ledger of this kind with the last thing before its store wrapped."""

    def silence(self) -> Exception:
        """What is seen of a store that does not answer."""

    def everything_in(self, ledger: Any) -> list[Any]:
        """Every entry of a ledger."""


class InMemory:
    """See `Stores`; the ledger itself is wrapped."""

    def new(self) -> Callable[[str], Ledger]:
        return lambda _: MemoryLedger()

    def through(self, ledger: Any, wrap: Wrap) -> Ledger:
        return wrap(ledger)  # type: ignore[no-any-return]

    def silence(self) -> Exception:
        return UnavailableError("the ledger cannot be reached")

    def everything_in(self, ledger: Any) -> list[Any]:
        return [entry for area in Area for entry in ledger.page(area, limit=500)]


class InFiles(InMemory):
    """See `Stores`; the ledger itself is wrapped."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: list[LedgerFile] = []

    def new(self) -> Callable[[str], Ledger]:
        file = LedgerFile(self._folder / f"ledger-{len(self._files)}")
        self._files.append(file)
        return lambda scope_id: SqliteLedger(file, scope_id)

    def close(self) -> None:
        """Close every file."""
        for file in self._files:
            file.close()


class InDynamo:
    """See `Stores`; the client is wrapped, so that every call of AWS is seen.

    A new store takes the place of the one before: the in-process AWS copies all it holds in each transaction.
    """

    TABLES = ("ledger", "record")

    def __init__(self, client: Any) -> None:
        self._client = client

    def new(self) -> Callable[[str], Ledger]:
        there = self._client.list_tables()["TableNames"]
        for name in self.TABLES:
            if name in there:
                self._client.delete_table(TableName=name)
            keys = [("pk", "HASH"), ("sk", "RANGE")]
            self._client.create_table(
                TableName=name,
                KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in keys],
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key, _ in keys],
                BillingMode="PAY_PER_REQUEST",
            )
        return lambda scope_id: DynamoLedger(self._client, Place(scope_id, *self.TABLES))

    def through(self, ledger: Any, wrap: Wrap) -> Ledger:
        return DynamoLedger(wrap(self._client), ledger._place)

    def silence(self) -> Exception:
        return ReadTimeoutError(endpoint_url="https://dynamodb")

    def everything_in(self, ledger: Any) -> list[Any]:
        """Everything in the store: it has no other ledger."""
        found = [self._client.scan(TableName=name)["Items"] for name in self.TABLES]
        return [entry_of_item(item) for items in found for item in items]


@pytest.fixture(scope="session")
def dynamodb() -> Iterator[Any]:
    with mock_aws():
        client = boto3.session.Session("test", "test", region_name="us-east-1").client("dynamodb")
        yield OneAtATime(client)


@pytest.fixture
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """The kind of ledger that the test names: `memory`, `sqlite` or `dynamodb`."""
    match request.param:
        case "memory":
            yield InMemory()
        case "sqlite":
            files = InFiles(tmp_path)
            yield files
            files.close()
        case _:
            yield InDynamo(request.getfixturevalue("dynamodb"))


@pytest.fixture
def new_service(stores: Stores) -> Callable[[], FakeService]:
    """Makes services that hold nothing yet."""
    return lambda: service_on(stores.new())
