"""A deployed stack in an account, as the kit talks to it: as a caller over HTTP, and with AWS credentials."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar

import boto3
import httpx

from tests.support.stack import ROOT
from unsay_core.adapters.world import real_world
from unsay_core.admin.stack import Stack
from unsay_core.domain.scope import Scope

T = TypeVar("T")
PAUSE = 0.5  # seconds between two looks: a knowledge base answers five a second
DAYS_MOST = 900.0  # seconds the kit waits for anything that has no promised end


class NeverCameError(Exception):
    """What was waited for did not come in the time there was."""


@dataclass
class Account:
    """One deployed stack; `key` is an admin's."""

    stack: Stack
    key: str
    url: str
    patience: float = DAYS_MOST
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))

    @classmethod
    def of(cls, name: str, key: str, *, url: str = "", patience: float = DAYS_MOST) -> Account:
        """The stack of a name in the account that the AWS credentials are of."""
        found = Stack.named(name)
        return cls(found, key, url or found.outputs["ApiUrl"], patience)

    @property
    def session(self) -> boto3.session.Session:
        """The AWS credentials the kit runs with."""
        return self.stack.session

    @cached_property
    def http(self) -> httpx.Client:
        """The API, as the admin."""
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    @cached_property
    def operator(self) -> Any:
        """The service for whoever has these credentials."""
        return self.stack.operator(real_world())

    def scope_id(self, scope: str) -> str:
        """What a scope is called in the index."""
        return str(self.operator.keyring.scope_id(Scope.parse(scope).canonical))

    def call(self, method: str, path: str, **given: Any) -> dict[str, Any]:
        """One call; raises for a refusal."""
        answer = self.http.request(method, path, **given)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    @property
    def knowledge_base(self) -> dict[str, str] | None:
        """The base and source of the first generation on a knowledge base; None if there is none."""
        for each in self.operator.generations.values():
            if hasattr(each, "knowledge_base_id"):
                return {"knowledgeBaseId": each.knowledge_base_id, "dataSourceId": each.data_source_id}
        return None

    def retrieved(self, text: str, condition: dict[str, Any]) -> list[str]:
        """The ids that the knowledge base itself proposes under a filter, whatever the service would say."""
        base = self.knowledge_base or {}
        answer = self.session.client("bedrock-agent-runtime").retrieve(
            knowledgeBaseId=base["knowledgeBaseId"],
            retrievalQuery={"text": text},
            retrievalConfiguration={
                "vectorSearchConfiguration": {"numberOfResults": 10, "filter": condition}
            },
        )
        places = [each["location"]["customDocumentLocation"]["id"] for each in answer["retrievalResults"]]
        return [str(place) for place in places]

    def document_status(self, memory_id: str) -> str:
        """What the knowledge base says of one document."""
        identifier = {"dataSourceType": "CUSTOM", "custom": {"id": memory_id}}
        answer = self.session.client("bedrock-agent").get_knowledge_base_documents(
            **(self.knowledge_base or {}), documentIdentifiers=[identifier]
        )
        details = answer["documentDetails"]
        return str(details[0]["status"]) if details else "NOT_FOUND"

    def until(self, look: Callable[[], T]) -> tuple[T, float]:
        """What `look` returns once it is true, and after how many seconds; raises `NeverCameError`."""
        begun = time.monotonic()
        while True:
            found, passed = look(), time.monotonic() - begun
            if found:
                return found, passed
            if passed > self.patience:
                raise NeverCameError(f"not within {self.patience:.0f} s")
            time.sleep(PAUSE)


def cdk(*arguments: str) -> float:
    """Run the CDK's command line; returns the seconds it took, raises with what it said."""
    begun = time.monotonic()
    subprocess.run(["npx", "--no-install", "cdk", *arguments], cwd=ROOT, check=True)
    return time.monotonic() - begun
