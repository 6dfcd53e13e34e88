"""What is remembered, put into the prompt of any loop: `Injector(memory, scope=…).inject(messages)`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from unsay.errors import UnsayError
from unsay.tracing import work
from unsay.within import awaited_within, within
from unsay_core.contracts.prompt import MOST_CHARS, fitting, prompt_block

if TYPE_CHECKING:
    from unsay.client import Memory
    from unsay.verbs import Scope
    from unsay_core.contracts.schemas import RecalledOut

_LOG = logging.getLogger(__name__)
_TOOL_BLOCKS = frozenset({"toolResult", "tool_result"})
_QUERY_CHARACTERS = 2_000

Message = Mapping[str, Any]
"""`{"role": …, "content": …}`; the content is a text, or blocks of which some have a `text`."""
Trigger = Literal["user_turn", "every_turn"] | Callable[[Sequence[Message]], bool]
Query = Callable[[Sequence[Message]], "str | None"]
Format = Callable[[Sequence["RecalledOut"]], str]


@dataclass
class InjectionCounts:
    """What became of the calls of an injector, and of the memories they found."""

    calls: int = 0
    skipped: int = 0
    failed: int = 0
    considered: int = 0
    trimmed: int = 0
    injected: int = 0


@dataclass
class Injector:
    """Recalls what fits the conversation, as one block of text to append to the user's message.

    `trigger` says when: on a fresh message of the user, before every call of the model, or as a callback
    says. `query` makes the question; by default it is the last text of the user on a user's turn, and else
    the last of the assistant. When it is None or empty nothing is asked. `format` renders what was found;
    by default an envelope that says it is data, with ids, trust and dates, in at most `max_chars`.

    A service that is down or late (`deadline_seconds`), and a callback that raises, cost the memories and
    never the turn. `counts` tell how often.
    """

    memory: Memory
    scope: Scope
    trigger: Trigger = "user_turn"
    max_entries: int = 5
    query: Query | None = None
    format: Format | None = None
    max_chars: int = MOST_CHARS
    deadline_seconds: float = 2.0
    counts: InjectionCounts = field(default_factory=InjectionCounts)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def inject(self, messages: Sequence[Message]) -> str | None:
        """The text to append, or None where there is none."""
        try:
            asked = self._asked(messages)
            mine = copy_context()
            return asked and within(self.deadline_seconds, lambda: mine.run(self._block, asked))
        except Exception as error:  # noqa: BLE001 whatever goes wrong, the turn goes on
            self._failed(error)
            return None

    async def ainject(self, messages: Sequence[Message]) -> str | None:
        """`inject`, for an event loop."""
        try:
            asked = self._asked(messages)
            mine = copy_context()
            return asked and await awaited_within(self.deadline_seconds, lambda: mine.run(self._block, asked))
        except Exception as error:  # noqa: BLE001 whatever goes wrong, the turn goes on
            self._failed(error)
            return None

    def _asked(self, messages: Sequence[Message]) -> str | None:
        """The question to ask, if it is time for one."""
        self._count(calls=1)
        query = (self.query or last_text)(messages) if self._is_time(messages) else None
        if not query or not query.strip():
            self._count(skipped=1)
            return None
        return query[:_QUERY_CHARACTERS]

    def _is_time(self, messages: Sequence[Message]) -> bool:
        if callable(self.trigger):
            return self.trigger(messages)
        return self.trigger == "every_turn" or is_user_turn(messages)

    def _block(self, query: str) -> str | None:
        with work("inject"):
            return self._found(query)

    def _found(self, query: str) -> str | None:
        deadline_ms = max(50, min(10_000, int(self.deadline_seconds * 1_000)))
        found = self.memory.recall(query, scope=self.scope, limit=self.max_entries, deadline_ms=deadline_ms)
        text, shown = self._rendered(found.items)
        self._count(considered=found.considered, trimmed=len(found.items) - shown, injected=shown)
        return text or None

    def _rendered(self, items: Sequence[RecalledOut]) -> tuple[str, int]:
        if self.format is None:
            text, chosen = prompt_block(
                [item.memory.model_dump(mode="json") for item in items], self.max_chars
            )
            return text, len(chosen)
        text = self.format(items) if items else ""
        return (text, len(items)) if fitting([len(text)], self.max_chars) and text else ("", 0)

    def _failed(self, error: Exception) -> None:
        self._count(failed=1)
        # The type alone: what a callback raises may quote the conversation.
        told = str(error) if isinstance(error, UnsayError) else type(error).__name__
        _LOG.warning("Nothing was injected: %s", told)

    def _count(self, **more: int) -> None:
        with self._lock:
            for name, number in more.items():
                setattr(self.counts, name, getattr(self.counts, name) + number)


def is_user_turn(messages: Sequence[Message]) -> bool:
    """Whether the last message is a user's own, and not the result of a tool."""
    if not messages or messages[-1]["role"] != "user":
        return False
    content = messages[-1]["content"]
    return isinstance(content, str) or not any(
        _TOOL_BLOCKS.intersection(block) or block.get("type") in _TOOL_BLOCKS for block in content
    )


def last_text(messages: Sequence[Message]) -> str | None:
    """The last text of the user on a user's turn, and else the last of the assistant."""
    role = "user" if is_user_turn(messages) else "assistant"
    texts = (_text(message["content"]) for message in reversed(messages) if message["role"] == role)
    return next((text for text in texts if text), None)


def _text(content: str | Sequence[Mapping[str, Any]]) -> str:
    if isinstance(content, str):
        return content.strip()
    return "\n".join(block["text"] for block in content if isinstance(block.get("text"), str)).strip()
