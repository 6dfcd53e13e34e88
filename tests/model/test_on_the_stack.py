"""A few sequences of calls on the deployed stack answer as the model says, and keep what is promised."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar

import httpx
import pytest

from tests.model.machine import LedgerMachine, run
from tests.support.http import Answer, Caller
from tests.support.stack import Stack
from unsay_core.adapters.dynamodb.items import Place
from unsay_core.adapters.dynamodb.ledger import DynamoLedger
from unsay_core.adapters.records import to_record
from unsay_core.application.keys import Keyring
from unsay_core.application.ledger import Area
from unsay_core.contracts import exact_json

pytestmark = pytest.mark.stack

PATIENCE = 120.0  # seconds that a client goes on asking while a scope is busy

# What the calls write; the workers note on memories and receipts, and of what is owed, how far they are.
WRITTEN = (
    Area.HEAD,
    Area.VERSION,
    Area.DUPLICATE,
    Area.SLOT,
    Area.OUTCOME,
    Area.REVIEW,
    Area.TOMBSTONE,
    Area.AUDIT,
)
NOTED = ("index_state", "indexed_at")


class HttpCaller(Caller):
    """The same calls over HTTP; every scope lies below a root of this caller's own."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self.root = f"model-{uuid.uuid4()}"

    def named(self, scope: str) -> str:
        """A scope of the model as the service knows it."""
        return scope.replace("acme/", f"{self.root}/")

    def send(self, method: str, path: str, body: Any = None, *, query: str = "", **headers: Any) -> Answer:
        """One request, and again while the scope is busy."""
        asked = body and {**body, **({"scope": self.named(body["scope"])} if "scope" in body else {})}
        give_up = time.monotonic() + PATIENCE
        while True:
            answer = self._client.request(
                method,
                f"{path}?{query}".replace("acme%2F", f"{self.root}%2F"),
                content=None if asked is None else exact_json.dumps(asked),
                headers={name.replace("_", "-"): value for name, value in headers.items()},
            )
            if answer.status_code != 503 or time.monotonic() > give_up:
                names = ("Content-Type", "Idempotency-Replayed")
                found = {name: answer.headers[name] for name in names if name in answer.headers}
                return Answer(answer.status_code, answer.text, found)
            time.sleep(float(answer.headers["Retry-After"]))


class Deployed(LedgerMachine):
    """In real time: nothing expires, and what lies in the tables is read as their owner reads it."""

    stack: ClassVar[Stack]
    client: ClassVar[httpx.Client]

    def __init__(self) -> None:
        pepper = self.stack.aws("secretsmanager").get_secret_value(
            SecretId=self.stack.outputs["PepperSecretArn"]
        )
        self.keyring = Keyring.from_pepper(pepper["SecretString"])
        self.tables = [self.stack.outputs[name] for name in ("LedgerTable", "RecordTable")]
        self.dynamodb = self.stack.aws("dynamodb")
        self.api: HttpCaller = HttpCaller(self.client)
        super().__init__()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def moment(self) -> datetime:
        return datetime.now(UTC)

    def scope_id(self, scope: str) -> str:
        return self.keyring.scope_id(self.api.named(scope))

    def ledger(self, scope: str) -> DynamoLedger:
        return DynamoLedger(self.dynamodb, Place(self.scope_id(scope), *self.tables))

    def dump(self, scope: str) -> list[Any]:
        ledger = self.ledger(scope)
        written = [to_record(entry) for area in WRITTEN for entry in ledger.page(area, limit=1000)]
        memories = [to_record(memory) for memory in ledger.page(Area.MEMORY, limit=1000)]
        return [*written, *({k: v for k, v in m.items() if k not in NOTED} for m in memories)]

    def sayable(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if name != "expires_at"}


@pytest.fixture
def client(stack: Stack) -> Iterator[httpx.Client]:
    with stack.client() as found:
        yield found


def test_a_few_sequences_of_calls_answer_as_the_model_says(stack: Stack, client: httpx.Client) -> None:
    Deployed.stack, Deployed.client = stack, client
    run(Deployed, examples=2, steps=7)
