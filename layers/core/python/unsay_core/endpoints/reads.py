"""Reading memories: get, list, history, recall."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from unsay_core.application.look_up import ListMemories, get, history, list_memories
from unsay_core.application.recall import Recall, recall
from unsay_core.contracts import answers, requests
from unsay_core.contracts.prompt import MOST_CHARS, fitting, prompt_block
from unsay_core.domain.ids import require_id
from unsay_core.domain.scope import Action
from unsay_core.endpoints.reply import Reply, memory_reply, page_reply, start_of_page, within_size
from unsay_core.metrics import RECALL_TIME

if TYPE_CHECKING:
    from unsay_core.endpoints.call import Call
    from unsay_core.endpoints.service import Service


def get_memory(call: Call, service: Service) -> Reply:
    """`GET /v1/memories/{id}`."""
    asked = call.query(requests.GetQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.READ)
    memory = get(require_id(call.id, "mem"), opened, known_at=asked.known_at)
    return memory_reply(memory, opened, service, at=asked.known_at)


def list_all(call: Call, service: Service) -> Reply:
    """`GET /v1/memories`."""
    asked = call.query(requests.ListQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.READ)
    query = ListMemories(
        limit=asked.limit,
        after=start_of_page(asked, opened, service),
        oldest_first=asked.order == "asc",
        status=asked.status,
        kind=asked.kind,
        tag=asked.tag,
        key=asked.key,
        path=asked.path,
        trust=asked.trust,
        run_id=asked.run_id,
        filter=asked.filter,
        valid_at=asked.valid_at,
        known_at=asked.known_at,
    )
    now, scope = asked.known_at or service.world.clock.now(), asked.scope.canonical
    page = list_memories(query, opened, service.world)
    return page_reply(page, lambda m: answers.memory_answer(m, scope, now), asked, opened, service)


def get_history(call: Call, service: Service) -> Reply:
    """`GET /v1/memories/{id}/history`."""
    asked = call.query(requests.ScopeQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.READ)
    found = history(require_id(call.id, "mem"), opened)
    now = service.world.clock.now()
    return Reply(200, answers.history_answer(found, asked.scope.canonical, now))


def recall_memories(call: Call, service: Service) -> Reply:
    """`POST /v1/recall`."""
    started = service.world.clock.monotonic()
    asked = call.body(requests.RecallIn)
    scopes = list(dict.fromkeys([asked.scope] if asked.scope else asked.scopes or []))
    for scope in scopes:
        call.principal.require(Action.READ, scope)
    doors = [partial(service.open_scope, call.principal, scope, Action.READ) for scope in scopes]
    query = Recall(
        query=asked.query,
        limit=asked.limit,
        kinds=tuple(asked.kinds or ()),
        tags=asked.tags,
        filter=asked.filter,
        min_trust=asked.min_trust,
        min_score=float(asked.min_score or 0),
        include=frozenset(asked.include),
        valid_at=asked.valid_at,
        known_at=asked.known_at,
        deadline=asked.deadline_ms / 1000,
    )
    try:
        found = recall(query, doors, service.world)
    finally:
        took = service.world.clock.monotonic() - started
        service.world.signals.tell(RECALL_TIME, took * 1000)
    now = asked.known_at or service.world.clock.now()
    answer = answers.recollection_answer(found, now, took)
    written = within_size(answer["items"])
    memories = [item["memory"] for item in answer["items"][: len(written)]]
    answer["items"] = written
    if asked.format == "prompt":
        answer["prompt"], chosen = prompt_block(memories, asked.max_chars or MOST_CHARS)
        answer["items"] = [written[at] for at in chosen]
    elif asked.max_chars:
        sizes = [len(memory["content"]) for memory in memories]
        answer["items"] = [written[at] for at in fitting(sizes, asked.max_chars)]
    return Reply(200, answer)
