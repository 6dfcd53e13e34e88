"""A deployed build as the conformance run sees it: over HTTP, and its raw stores by code of its own."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tests.support.raw import raw_stores
from tests.support.stack import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from tests.support.stack import Stack

PATIENCE = 120.0


class Skipped(Exception):
    """This cannot be shown here, and why."""


@dataclass
class Product:
    """One deployed build. Every check names scopes of its own under `root`."""

    stack: Stack
    root: str = "conformance"
    key: str | None = None
    restart: Callable[[], Stack] | None = None
    _client: httpx.Client | None = field(default=None, repr=False)

    @property
    def client(self) -> httpx.Client:
        if self._client is None:
            self._client = self.stack.client(self.key)
        return self._client

    def as_(self, *grants: dict[str, Any], kind: str = "agent") -> Product:
        """Somebody else at the same build."""
        made = self.call(
            "POST", "/v1/keys", {"name": "conformance", "kind": kind, "grants": [*grants]}, expect=201
        )
        return Product(self.stack, self.root, made["secret"])

    def restarted(self) -> None:
        """Stop the cloud and start it on the same state."""
        if self.restart is None:
            raise Skipped("the cloud of this run is shared, and not restarted")
        self.stack, self._client = self.restart(), None

    def send(self, method: str, path: str, body: Any = None, **given: Any) -> httpx.Response:
        """One request; a busy scope is asked again, as a client does."""
        headers = {name.replace("_", "-"): value for name, value in given.pop("headers", {}).items()}
        named = {name: value for name, value in given.items() if value is not None}
        if named:  # a space is %20 here, and a plus is a plus
            path += "?" + "&".join(f"{name}={quote(str(value), safe='')}" for name, value in named.items())
        give_up = time.monotonic() + PATIENCE
        while True:
            answer = self.client.request(method, path, json=body, headers=headers)
            if answer.status_code not in (429, 503) or time.monotonic() > give_up:
                return answer
            time.sleep(0.1)

    def call(self, method: str, path: str, body: Any = None, *, expect: int = 200, **given: Any) -> Any:
        """The answer's body; fails on another status."""
        answer = self.send(method, path, body, **given)
        assert answer.status_code == expect, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
        return answer.json()

    def remember(self, scope: str, content: str, **more: Any) -> Any:
        return self.call("POST", "/v1/memories", {"scope": scope, "content": content, **more}, expect=201)

    def tried(self, scope: str, content: str, **more: Any) -> tuple[int, str | None]:
        """Status and code of an attempt to remember."""
        answer = self.send("POST", "/v1/memories", {"scope": scope, "content": content, **more})
        return answer.status_code, answer.json().get("code")

    def get(self, scope: str, memory_id: str) -> Any:
        return self.call("GET", f"/v1/memories/{memory_id}", scope=scope)

    def recall(self, scope: str, query: str, **more: Any) -> Any:
        return self.call("POST", "/v1/recall", {"scope": scope, "query": query, **more})

    def recalled(self, scope: str, query: str, **more: Any) -> list[str]:
        more.setdefault("limit", 50)
        return [item["memory"]["content"] for item in self.recall(scope, query, **more)["items"]]

    def prompt(self, scope: str, query: str, **more: Any) -> str:
        more.setdefault("limit", 50)
        return str(self.recall(scope, query, format="prompt", **more)["prompt"])

    def memories(self, scope: str, status: str = "active", **more: Any) -> list[Any]:
        found: list[Any] = []
        cursor: str | None = None
        while True:
            page = self.call(
                "GET", "/v1/memories", scope=scope, status=status, limit=100, cursor=cursor, **more
            )
            found += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    def listed(self, scope: str, status: str = "active", **more: Any) -> list[str]:
        return [memory["content"] for memory in self.memories(scope, status, **more)]

    def on(self, verb: str, scope: str, memory: Any, **body: Any) -> httpx.Response:
        """`correct`, `retract`, `dispute` of a memory, in the version it has."""
        version = self.get(scope, memory["id"])["version"]
        path = f"/v1/memories/{memory['id']}/{verb}"
        return self.send("POST", path, body, scope=scope, headers={"If_Match": f'"{version}"'})

    def correct(self, scope: str, memory: Any, content: str, because: str, **more: Any) -> Any:
        answer = self.on("correct", scope, memory, content=content, because=because, **more)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def retract(self, scope: str, memory: Any) -> None:
        answer = self.on("retract", scope, memory, reason="incorrect")
        assert answer.status_code == 200, answer.text

    def dispute(self, scope: str, memory: Any) -> None:
        answer = self.on("dispute", scope, memory, reason="incorrect")
        assert answer.status_code == 200, answer.text

    def decide(self, scope: str, memory_id: str, decision: str, **more: Any) -> httpx.Response:
        version = self.get(scope, memory_id)["version"]
        body = {"decision": decision, **more}
        return self.send(
            "POST", f"/v1/reviews/{memory_id}", body, scope=scope, headers={"If_Match": f'"{version}"'}
        )

    def edit(self, scope: str, memory: Any, **changes: Any) -> httpx.Response:
        version = self.get(scope, memory["id"])["version"]
        path = f"/v1/memories/{memory['id']}"
        return self.send("PATCH", path, changes, scope=scope, headers={"If_Match": f'"{version}"'})

    def forget(self, scope: str, memory_id: str, **more: Any) -> Any:
        given = {"scope": scope, "reason": "user_request", **more}
        return self.call("DELETE", f"/v1/memories/{memory_id}", expect=202, **given)

    def completed(self, scope: str, receipt: Any) -> Any:
        """The receipt, once every store is proven empty."""
        path = f"/v1/erasures/{receipt['id']}"

        def look() -> Any:
            found = self.call("GET", path, scope=scope)
            return found if found["state"] == "complete" else None

        return eventually(look, within=PATIENCE)

    def settled(self, *scopes: str) -> None:
        """Wait until the index has all that is active."""

        def look() -> bool:
            found = [memory for scope in scopes for memory in self.memories(scope)]
            return all(memory["index"]["state"] == "indexed" for memory in found)

        eventually(look, within=PATIENCE)

    def say(self, scope: str, run: str, *texts: str, first: int = 1, **more: Any) -> Any:
        """What a user said, and what was made of it: the conversation once nothing of it waits."""
        messages = [
            {"seq": first + at, "role": "user", "content": text, **more} for at, text in enumerate(texts)
        ]
        body = {"scope": scope, "messages": messages, "flush": True}
        self.call("POST", f"/v1/conversations/{run}/messages", body, expect=202)

        def look() -> Any:
            found = self.call("GET", f"/v1/conversations/{run}", scope=scope)
            over = all(batch["state"] in ("done", "failed") for batch in found["batches"])
            return found if over and found["batches"] else None

        return eventually(look, within=PATIENCE)

    def reviews(self, scope: str, state: str = "candidate") -> list[Any]:
        return list(self.call("GET", "/v1/reviews", scope=scope, state=state)["items"])

    def events(self, scope: str) -> list[Any]:
        found: list[Any] = []
        cursor: str | None = None
        while True:
            page = self.call("GET", "/v1/audit", scope=scope, limit=100, cursor=cursor)
            found += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    def verified(self, scope: str) -> Any:
        return self.call("GET", "/v1/audit/verify", scope=scope)

    def job(self, scope: str, job_id: str) -> Any:
        """A job once it is over."""

        def look() -> Any:
            found = self.call("GET", f"/v1/jobs/{job_id}", scope=scope)
            return found if found["state"] in ("complete", "failed") else None

        return eventually(look, within=PATIENCE)

    def export(self, scope: str, *include: str) -> list[Any]:
        """The lines of an export, fetched by its links."""
        import httpx

        body = {"scope": scope, "include": [*include] or ["active"]}
        made = self.job(scope, self.call("POST", "/v1/export", body, expect=202)["id"])
        assert made["state"] == "complete", made
        texts = [
            httpx.get(part["url"], timeout=60).raise_for_status().text for part in made["result"]["parts"]
        ]
        return [json.loads(line) for text in texts for line in text.splitlines()]

    def bring(self, scope: str, lines: list[Any], **more: Any) -> Any:
        """An import of lines, once it is over."""
        body = {"scope": scope, "items": lines, "on_conflict": "skip", **more}
        return self.job(scope, self.call("POST", "/v1/import", body, expect=202)["id"])

    def raw(self) -> dict[str, str]:
        """Everything that lies in any store, by the store's name; objects with all their versions."""
        return raw_stores(self.stack)

    def index_state(self, memory_id: str) -> str:
        """What the knowledge base says of one document."""
        agent = self.stack.aws("bedrock-agent")
        asked = [{"dataSourceType": "CUSTOM", "custom": {"id": memory_id}}]
        answer = agent.get_knowledge_base_documents(**self.stack.knowledge_base, documentIdentifiers=asked)
        return str(answer["documentDetails"][0]["status"])

    def nearest(self, text: str) -> list[str]:
        """The ids the knowledge base proposes for a text to whoever asks without a filter."""
        runtime = self.stack.aws("bedrock-agent-runtime")
        found = runtime.retrieve(
            knowledgeBaseId=self.stack.knowledge_base["knowledgeBaseId"],
            retrievalQuery={"text": text},
            retrievalConfiguration={"vectorSearchConfiguration": {"numberOfResults": 100}},
        )
        return [each["location"]["customDocumentLocation"]["id"] for each in found["retrievalResults"]]
