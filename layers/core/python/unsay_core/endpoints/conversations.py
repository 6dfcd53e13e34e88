"""Conversations, and the policy by which they are extracted."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from unsay_core.application.conversations import flush_run, record, retry_run
from unsay_core.application.policies import root_policy, set_policy
from unsay_core.application.read_conversations import list_runs, read_run
from unsay_core.application.uploads import expect_upload
from unsay_core.contracts import conversation_answers as answers
from unsay_core.contracts import conversations as wire
from unsay_core.contracts import requests
from unsay_core.domain.scope import Action
from unsay_core.endpoints.call import validated
from unsay_core.endpoints.reply import Reply, page_reply, quota_headers, replayed, start_of_page
from unsay_core.endpoints.transcript import said

if TYPE_CHECKING:
    from unsay_core.endpoints.call import Call
    from unsay_core.endpoints.service import Service


def record_messages(call: Call, service: Service) -> Reply:
    """`POST /v1/conversations/{run_id}/messages`."""
    run_id, asked = _run_id(call), call.body(wire.MessagesIn)
    opened = service.open_scope(call.principal, asked.scope, Action.WRITE)
    steering = service.policies.of(asked.scope.segments[0])
    messages = [said(message) for message in asked.messages]
    key = call.idempotency(opened)
    found = record(run_id, messages, steering, opened, service.world, flush=asked.flush, key=key)
    headers = replayed(found.replayed) | quota_headers(opened)
    return Reply(202, answers.recorded_answer(found), headers)


def flush_conversation(call: Call, service: Service) -> Reply:
    """`POST /v1/conversations/{run_id}/flush`."""
    run_id, where = _run_id(call), call.query(requests.ScopeQuery)
    opened = service.open_scope(call.principal, where.scope, Action.WRITE)
    steering = service.policies.of(where.scope.segments[0])
    found = flush_run(run_id, steering, opened, service.world, call.idempotency(opened))
    return Reply(202, answers.handed_answer(found), replayed(found.replayed))


def retry_conversation(call: Call, service: Service) -> Reply:
    """`POST /v1/conversations/{run_id}/retry`."""
    run_id, where = _run_id(call), call.query(requests.ScopeQuery)
    opened = service.open_scope(call.principal, where.scope, Action.WRITE)
    steering = service.policies.of(where.scope.segments[0])
    found = retry_run(run_id, steering, opened, service.world, call.idempotency(opened))
    return Reply(202, answers.handed_answer(found), replayed(found.replayed))


def upload_conversation(call: Call, service: Service) -> Reply:
    """`POST /v1/conversations/{run_id}/upload`."""
    run_id, where = _run_id(call), call.query(requests.ScopeQuery)
    opened = service.open_intake(call.principal, where.scope)
    upload, again = expect_upload(run_id, opened, service.world, call.idempotency(opened))
    address = opened.transcripts.address(run_id, upload.id)
    return Reply(201, answers.address_answer(upload, address, call.now), replayed(again))


def list_conversations(call: Call, service: Service) -> Reply:
    """`GET /v1/conversations`."""
    asked = call.query(requests.PageQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.READ)
    page = list_runs(opened, after=start_of_page(asked, opened, service), limit=asked.limit)
    return page_reply(page, answers.run_answer, asked, opened, service)


def get_conversation(call: Call, service: Service) -> Reply:
    """`GET /v1/conversations/{run_id}`."""
    run_id, asked = _run_id(call), call.query(wire.ConversationQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.READ)
    start = start_of_page(asked, opened, service)
    found = read_run(run_id, opened, after=start, limit=asked.limit)
    page = page_reply(found.messages, answers.message_answer, asked, opened, service)
    answer = answers.conversation_answer(found)
    return Reply(200, answer | {"messages": page.body["items"], "next_cursor": page.body["next_cursor"]})


def get_policy(call: Call, service: Service) -> Reply:
    """`GET /v1/policy`."""
    asked = call.query(requests.ScopeQuery)
    found = root_policy(call.principal, asked.scope, service.policies)
    return Reply(200, answers.policy_answer(found))


def put_policy(call: Call, service: Service) -> Reply:
    """`PUT /v1/policy`."""
    asked, where = call.body(wire.PolicyIn), call.query(requests.ScopeQuery)
    found = set_policy(call.principal, where.scope, asked.steering(), service.policies)
    return Reply(200, answers.policy_answer(found))


def _run_id(call: Call) -> str:
    return validated(wire.RunPath, {"run_id": unquote(call.id)}).run_id
