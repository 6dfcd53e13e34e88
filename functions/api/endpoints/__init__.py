"""One function per operation: read the request, call the use case, render the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.api.endpoints import access, conversations, memories, people, public, reads

if TYPE_CHECKING:
    from collections.abc import Callable

    from functions.api.call import Call
    from functions.api.endpoints.reply import Reply
    from unsay_core.bootstrap.aws import ApiService

ENDPOINTS: dict[str, Callable[[Call, ApiService], Reply]] = {
    "remember": memories.remember_memory,
    "remember_batch": memories.remember_memories,
    "edit": memories.edit_memory,
    "correct": memories.correct_memory,
    "retract": memories.retract_memory,
    "dispute": memories.dispute_memory,
    "forget": memories.forget_memory,
    "list": reads.list_all,
    "get": reads.get_memory,
    "history": reads.get_history,
    "recall": reads.recall_memories,
    "statistics": reads.get_statistics,
    "list_scopes": reads.list_scopes,
    "list_reviews": people.list_reviews,
    "decide_review": people.decide_review,
    "list_tombstones": people.tombstones,
    "lift_tombstone": people.lift,
    "erasure": people.get_erasure,
    "list_erasures": people.erasures,
    "list_audit": people.audit,
    "verify_audit": people.verify,
    "record_messages": conversations.record_messages,
    "flush_conversation": conversations.flush_conversation,
    "retry_conversation": conversations.retry_conversation,
    "list_conversations": conversations.list_conversations,
    "conversation": conversations.get_conversation,
    "policy": conversations.get_policy,
    "set_policy": conversations.put_policy,
    "make_key": access.make_api_key,
    "list_keys": access.list_api_keys,
    "revoke_key": access.revoke_api_key,
    "delegate": access.make_delegation,
    "health": public.health,
    "openapi": public.openapi_document,
}
