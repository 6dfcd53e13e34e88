"""One scope as a Strands memory store, to read and write or to read alone."""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from unsay.client import blocking, connect
from unsay.errors import ForgottenError, ProblemError, SeqConflictError, TryAgainError, UnsayError
from unsay.explained import explained
from unsay.strands.rendering import entry
from unsay.strands.tools import NAMES, WRITING, tools_of
from unsay.within import awaited_within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from strands.memory import (
        AddMessagesContext,
        ExtractionConfig,
        MemoryEntry,
        MemoryToolConfig,
        SearchOptions,
    )
    from strands.types.content import Message
    from strands.types.tools import AgentTool

    from unsay.client import Memory
    from unsay.verbs import Scope
    from unsay_core.contracts.schemas import ErasureOut, MemoryOut

R = TypeVar("R")
_LOG = logging.getLogger(__name__)
_DEFAULT_RESULTS = 5
_MOST_RESULTS = 50
_MESSAGES = 50
_QUERY_CHARACTERS = 2_000
_DELEGATED_SECONDS = 3_600


class MemoryStoreError(Exception):
    """What a store could not do, in words that a model may read: no memory text, no address."""


class Connect(Protocol):
    """`unsay.connect`, or what stands in its place."""

    def __call__(self, url: str, *, token: str) -> Memory:
        """A service at a URL."""


class _Store:
    """What both stores share: reading, within a deadline of their own."""

    writable = False
    extraction: ExtractionConfig | bool | None = None
    _tools = NAMES - WRITING

    def __init__(
        self,
        memory: Memory,
        *,
        scope: Scope,
        name: str = "unsay",
        description: str | None = None,
        max_search_results: int | None = None,
        deadline_seconds: float = 5.0,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        filter: Mapping[str, Any] | None = None,
        min_trust: str | None = None,
        min_score: float | None = None,
        tools: Mapping[str, MemoryToolConfig | bool] | None = None,
    ) -> None:
        self.memory = blocking(memory)
        self.scope = scope
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self._deadline = deadline_seconds
        self._narrowed: dict[str, Any] = {
            "kinds": kinds,
            "tags": tags,
            "filter": filter,
            "min_trust": min_trust,
            "min_score": min_score,
        }
        if unknown := (tools or {}).keys() - self._tools:
            raise ValueError(f"store {name!r} has no tools {sorted(unknown)}; it has {sorted(self._tools)}")
        self._tool_configs = {each: (tools or {}).get(each, True) for each in sorted(self._tools)}
        self._initialized = False

    async def initialize(self) -> None:
        """See that the credential reaches the scope; raises `MemoryStoreError` if it does not.

        A service that is down or late keeps no agent from starting.
        """
        if self._initialized:
            return
        try:
            await awaited_within(self._deadline, lambda: self.memory.list(scope=self.scope, limit=1))
        except ProblemError as error:
            if not isinstance(error, TryAgainError):
                raise self._told(error) from None
        except (UnsayError, TimeoutError) as error:
            _LOG.warning("store %s could not be looked at: %s", self.name, type(error).__name__)
        else:
            self._initialized = True

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """The memories that answer a query best; `metadata` has id, score, trust and dates.

        Only `max_search_results` of the options is heeded: what narrows a search was said when the store was
        made, and the scope cannot be left.
        """
        wanted = (options or {}).get("max_search_results") or self.max_search_results or _DEFAULT_RESULTS
        found = await self._within(
            lambda: self.memory.recall(
                query[:_QUERY_CHARACTERS],
                scope=self.scope,
                limit=max(1, min(_MOST_RESULTS, wanted)),
                deadline_ms=max(50, min(10_000, int(self._deadline * 1_000))),
                **self._narrowed,
            )
        )
        return [entry(item.memory, item.score) for item in found.items]

    def get_tools(self) -> list[AgentTool]:
        """Tools whose names carry the store's, so that two stores keep theirs apart."""
        return tools_of(self, self._tool_configs)

    async def _within(self, call: Callable[[], R]) -> R:
        try:
            return await awaited_within(self._deadline, call)
        except (UnsayError, TimeoutError) as error:
            raise self._told(error) from None

    def _told(self, error: Exception) -> MemoryStoreError:
        return MemoryStoreError(f"{self.name}: {explained(error)}")


class ReadOnlyUnsayMemoryStore(_Store):
    """A scope to read: no write method, no tool that writes. Give it a credential that may only read."""

    @classmethod
    def delegated(
        cls,
        memory: Memory,
        *,
        scope: Scope,
        ttl_seconds: int = _DELEGATED_SECONDS,
        connect: Connect = connect,
        **options: Any,
    ) -> ReadOnlyUnsayMemoryStore:
        """A store for a sub-agent, with a key that can do no more than read this scope.

        The key ends after `ttl_seconds`, an hour at the most, and with the key it was made from. It cannot
        write even by other means. `options` are those of the store.
        """
        given = memory.delegate(["read"], scope=scope, ttl_seconds=ttl_seconds)
        return cls(connect(memory.url, token=given.secret), scope=scope, **options)


class UnsayMemoryStore(_Store):
    """A scope to read and write: `MemoryManager(stores=[UnsayMemoryStore(memory, scope=…, name=…)])`.

    With `extraction=True` the agent's messages go to the service, which makes memories of them in the
    background; `flush` says whether at once, or when its own policy has them due. `tools` renames, describes
    or leaves out single tools: `{"forget": {"name": "unlearn"}, "history": False}`.

    No call takes longer than `deadline_seconds`. The store belongs to no event loop and no agent.
    """

    writable = True
    _tools = NAMES

    def __init__(
        self,
        memory: Memory,
        *,
        scope: Scope,
        extraction: ExtractionConfig | bool | None = None,
        flush: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(memory, scope=scope, **options)
        self.extraction = extraction
        self._flush = flush
        self._run = _minted()

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> MemoryOut:
        """Remember a fact, once however often it is added.

        Raises `MemoryStoreError` for what was taken back before, for a credential, and for metadata that the
        service does not keep: nothing is dropped in silence.
        """
        return await self._within(lambda: self.memory.remember(content, scope=self.scope, metadata=metadata))

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> None:
        """Hand in messages for extraction, each once: known by this store's run and their number.

        A number that comes back with other words begins another run.
        """
        numbers = context.sequence_numbers if context else None
        said = [_words(message) for message in messages]
        run = self._run if numbers else _batch(said)
        numbered = list(zip(numbers or range(len(said)), said, strict=True))
        try:
            await self._within(lambda: self._converse(run, numbered))
        except _OtherWordsError:
            # Strands counts from 0 again with the next agent, and does not say so.
            self._run = fresh = _minted()
            await self._within(lambda: self._converse(fresh, numbered))

    async def delete(self, memory_id: str, *, reason: str = "user_request") -> ErasureOut | None:
        """Forget a memory and what it replaced; None if that was done before."""

        def forget() -> ErasureOut | None:
            try:
                return self.memory.forget(memory_id, scope=self.scope, reason=reason)
            except ForgottenError:
                return None

        return await self._within(forget)

    def _converse(self, run: str, numbered: Sequence[tuple[int, tuple[str, str]]]) -> None:
        sent = [{"seq": seq, "role": role, "content": text} for seq, (role, text) in numbered if text]
        parts = [sent[at : at + _MESSAGES] for at in range(0, len(sent), _MESSAGES)]
        for part in parts:
            last = part is parts[-1]
            try:
                self.memory.converse(run, part, scope=self.scope, flush=self._flush and last)
            except SeqConflictError as error:
                raise _OtherWordsError from error


class _OtherWordsError(Exception):
    """A number of a run already has other words."""


def _minted() -> str:
    return f"strands-{uuid.uuid4().hex}"


def _batch(said: Sequence[tuple[str, str]]) -> str:
    """The run of messages without numbers: the same for the same messages in the same order."""
    return f"batch-{hashlib.sha256(json.dumps(said).encode()).hexdigest()[:40]}"


def _words(message: Message) -> tuple[str, str]:
    """Who speaks, and the words: what is no text makes no memory."""
    texts = [block["text"] for block in message["content"] if block.get("text", "").strip()]
    return message["role"], "\n".join(texts)
