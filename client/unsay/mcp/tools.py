"""The tools, once, for every way in: what they are called, what they take, what they are known to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from unsay import verbs
from unsay.errors import ForgottenError, UnsayError
from unsay.explained import explained
from unsay.mcp.answers import Forgotten, History, Memories, Memory, One, event_of, memory_of
from unsay_core.domain.memory import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from unsay.asking import A, Ask
    from unsay.mcp.server import Opened

READING = frozenset({"recall", "list", "get", "history"})
WRITING = frozenset({"remember", "correct"})
FORGETTING = frozenset({"forget"})
REVIEWING = frozenset({"reviews", "approve", "reject"})

Id = Annotated[str, Field(description="The id of a memory, as recall and list show it")]
Kind = Literal["semantic", "episodic", "procedural"]
KindField = Annotated[Kind, Field(description="A fact, an event, or an instruction or preference")]
ReasonField = Annotated[Reason, Field(strict=False)]  # its name is what comes over the wire
Tags = Annotated[list[str], Field(max_length=32)]
Kinds = list[Kind] | None
Filter = Annotated[
    dict[str, Any] | None,
    Field(description='Narrows it: {"eq": ["metadata.team", "red"]}; also and, or, not, gt, in, exists'),
]
Limit = Annotated[int, Field(ge=1, le=50)]
Note = Annotated[str | None, Field(max_length=500, description="Why, in a few words")]
_DAY = 86_400


class Tools:
    """Every tool on the scope that is open for the call."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def remember(
        self,
        content: Annotated[str, Field(description="One fact, as a sentence that can stand alone")],
        kind: KindField = "semantic",
        tags: Tags = [],  # noqa: B006 the SDK shows the default, and nothing changes it
        importance: Annotated[float, Field(ge=0, le=1)] = 0.5,
        ttl_days: Annotated[
            float | None, Field(gt=0, le=3_650, description="Forget it after so many days")
        ] = None,
        key: Annotated[
            str | None,
            Field(pattern=r"^[a-z0-9_.-]{1,64}$", description="A slot that holds one memory, as home_city"),
        ] = None,
    ) -> One:
        """Remember a fact about the user or the work, for later conversations.

        A fact that is there already is not stored twice. What was forgotten may be refused.
        """
        seconds = None if ttl_days is None else max(1, round(ttl_days * _DAY))
        fields: dict[str, Any] = {"kind": kind, "tags": tags, "importance": importance, "key": key}
        opened = self._opened()
        made = _ask(opened, verbs.remember(content, scope=opened.scope, ttl_seconds=seconds, **fields))
        return One(memory=memory_of(made), deduplicated=made.deduplicated)

    def recall(
        self,
        query: Annotated[
            str, Field(max_length=2_000, description="What to look for, as a question or in words")
        ],
        limit: Limit = 5,
        kinds: Kinds = None,
        tags: Tags = [],  # noqa: B006 the SDK shows the default, and nothing changes it
        filter: Filter = None,
    ) -> Memories:
        """Look for what is remembered that answers a question. Use it before you answer from memory."""
        opened = self._opened()
        narrowed: dict[str, Any] = {"kinds": kinds, "tags": tags, "filter": filter}
        found = _ask(opened, verbs.recall(query, scope=opened.scope, limit=limit, **narrowed))
        memories = [memory_of(item.memory, item.score) for item in found.items]
        return Memories(memories=memories, degraded=found.degraded, reasons=found.reasons)

    def list(
        self,
        limit: Limit = 20,
        kind: Kind | None = None,
        tag: str | None = None,
        filter: Filter = None,
        cursor: Annotated[str | None, Field(description="next_cursor of the page before")] = None,
    ) -> Memories:
        """List what is remembered, newest first."""
        opened = self._opened()
        narrowed: dict[str, Any] = {"kind": kind, "tag": tag, "filter": filter, "cursor": cursor}
        page = _ask(opened, verbs.list(scope=opened.scope, limit=limit, **narrowed))
        return Memories(memories=[memory_of(found) for found in page.items], next_cursor=page.next_cursor)

    def get(self, memory_id: Id) -> One:
        """Look at one memory, whatever its status."""
        return One(memory=self._get(memory_id))

    def correct(
        self,
        memory_id: Id,
        content: Annotated[str, Field(description="The whole of what is true, as a sentence")],
        because: Annotated[
            Literal["changed", "wrong"],
            Field(description="changed: it was true until now. wrong: it never was"),
        ],
    ) -> One:
        """Replace a memory that is no longer true, or never was. The old one is not recalled any more."""
        opened = self._opened()
        current = _ask(opened, verbs.get(memory_id, scope=opened.scope))
        return One(memory=memory_of(_ask(opened, verbs.correct(current, content, because=because))))

    def forget(
        self,
        memory_id: Id,
        reason: Annotated[ReasonField, Field(description="Why it goes")] = Reason.USER_REQUEST,
    ) -> Forgotten:
        """Erase a memory and what it replaced, for good; it is not learned again. Only when the user asks."""
        opened = self._opened()
        try:
            receipt = opened.ask(verbs.forget(memory_id, scope=opened.scope, reason=reason.value))
        except ForgottenError:
            return Forgotten(memory_id=memory_id, erasure_id=None, state="forgotten before")
        except UnsayError as error:
            raise ToolError(explained(error)) from None
        return Forgotten(memory_id=memory_id, erasure_id=receipt.id, state=receipt.state)

    def history(self, memory_id: Id) -> History:
        """Show what a memory said before and what happened to it; of a forgotten one, without words."""
        opened = self._opened()
        found = _ask(opened, verbs.history(memory_id, scope=opened.scope))
        versions = [memory_of(version) for version in found.versions]
        return History(versions=versions, events=[event_of(event) for event in found.events])

    def reviews(
        self,
        state: Literal["candidate", "disputed"] = "candidate",
        limit: Limit = 20,
        cursor: str | None = None,
    ) -> Memories:
        """List what waits for a person to decide whether it is believed."""
        opened = self._opened()
        page = _ask(opened, verbs.reviews(scope=opened.scope, state=state, limit=limit, cursor=cursor))
        return Memories(memories=[memory_of(found) for found in page.items], next_cursor=page.next_cursor)

    def approve(self, memory_id: Id, note: Note = None) -> One:
        """Let a memory be believed that waits. The user decides, not you."""
        opened = self._opened()
        waiting = _ask(opened, verbs.get(memory_id, scope=opened.scope))
        return One(memory=memory_of(_ask(opened, verbs.approve(waiting, note=note))))

    def reject(self, memory_id: Id, reason: ReasonField = Reason.INCORRECT, note: Note = None) -> One:
        """Refuse a memory that waits; it is not learned again. The user decides, not you."""
        opened = self._opened()
        waiting = _ask(opened, verbs.get(memory_id, scope=opened.scope))
        return One(memory=memory_of(_ask(opened, verbs.reject(waiting, reason=reason.value, note=note))))

    def _get(self, memory_id: str) -> Memory:
        opened = self._opened()
        return memory_of(_ask(opened, verbs.get(memory_id, scope=opened.scope)))


def hints(name: str) -> ToolAnnotations:
    """What a host may assume of a tool. Memory is a closed world: no tool reaches beyond the scope."""
    return ToolAnnotations(
        read_only_hint=name in READING | {"reviews"},
        destructive_hint=name in {"forget", "reject"},
        idempotent_hint=name in READING | {"reviews", "remember", "forget"},
        open_world_hint=False,
    )


def _ask(opened: Opened, question: Ask[A]) -> A:
    """The answer, or what went wrong in words that the model may read."""
    try:
        return opened.ask(question)
    except UnsayError as error:
        raise ToolError(explained(error)) from None
