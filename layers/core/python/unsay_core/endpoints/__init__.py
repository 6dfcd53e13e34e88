"""One function per operation: read the request, call the use case, render the answer.

A module is imported when the first of its operations is asked for: a cold start waits for no other.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from unsay_core.endpoints.call import Call
    from unsay_core.endpoints.reply import Reply
    from unsay_core.endpoints.service import Service


def _of(module: str, name: str) -> Callable[[Call, Service], Reply]:
    def endpoint(call: Call, service: Service) -> Reply:
        reply: Reply = getattr(import_module(f"{__name__}.{module}"), name)(call, service)
        return reply

    return endpoint


ENDPOINTS: dict[str, Callable[[Call, Service], Reply]] = {
    "remember": _of("memories", "remember_memory"),
    "remember_batch": _of("memories", "remember_memories"),
    "edit": _of("memories", "edit_memory"),
    "correct": _of("memories", "correct_memory"),
    "retract": _of("memories", "retract_memory"),
    "dispute": _of("memories", "dispute_memory"),
    "forget": _of("memories", "forget_memory"),
    "forget_selection": _of("forgetting", "forget_selected"),
    "prune": _of("forgetting", "prune"),
    "list": _of("reads", "list_all"),
    "get": _of("reads", "get_memory"),
    "history": _of("reads", "get_history"),
    "recall": _of("reads", "recall_memories"),
    "statistics": _of("scopes", "get_statistics"),
    "list_scopes": _of("scopes", "list_scopes"),
    "list_reviews": _of("people", "list_reviews"),
    "decide_review": _of("people", "decide_review"),
    "list_tombstones": _of("people", "tombstones"),
    "lift_tombstone": _of("people", "lift"),
    "erasure": _of("people", "get_erasure"),
    "list_erasures": _of("people", "erasures"),
    "list_audit": _of("people", "audit"),
    "verify_audit": _of("people", "verify"),
    "record_messages": _of("conversations", "record_messages"),
    "flush_conversation": _of("conversations", "flush_conversation"),
    "retry_conversation": _of("conversations", "retry_conversation"),
    "upload_conversation": _of("conversations", "upload_conversation"),
    "list_conversations": _of("conversations", "list_conversations"),
    "conversation": _of("conversations", "get_conversation"),
    "policy": _of("conversations", "get_policy"),
    "set_policy": _of("conversations", "put_policy"),
    "export": _of("transfers", "export_scope"),
    "import": _of("transfers", "import_into"),
    "job": _of("transfers", "get_job"),
    "consolidate": _of("consolidation", "consolidate"),
    "make_key": _of("access", "make_api_key"),
    "list_keys": _of("access", "list_api_keys"),
    "revoke_key": _of("access", "revoke_api_key"),
    "delegate": _of("access", "make_delegation"),
    "health": _of("public", "health"),
    "openapi": _of("public", "openapi_document"),
}
