"""Converse of the local cloud, for a forced tool: scripted, by rules, or by a model of your own.

By default no model answers but a rule: each declarative sentence in the first person of a user's message is
one fact, word for word. What is only supposed, and what somebody else says, it reports as that. It finds
nothing else, knows no language but English, and says its own name where a model's would stand. With
`UNSAY_LOCAL_LLM_URL` the question goes to that server instead (`/chat/completions`, as OpenAI has it), and
replies that a test has written beforehand come before either.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import httpx
from ministack import app

from local import faults
from local.aws_json import AwsError, Response, answer, invalid, parse, refusal
from unsay_core.adapters.rules import RuleModel, facts

PATCHES = {"ministack.app": ("SERVICE_HANDLERS",)}

URL, MODEL, KEY = "UNSAY_LOCAL_LLM_URL", "UNSAY_LOCAL_LLM_MODEL", "UNSAY_LOCAL_LLM_KEY"
LLM_SECONDS = 55.0

_CONVERSE = re.compile(r"/model/(.+)/converse")

_next: Any = None
_script: tuple[tuple[Mapping[str, Any], ...], int] = ((), 0)


def install() -> None:
    """Answer before the emulator's own Converse does, which knows no forced tool."""
    global _next  # noqa: PLW0603 - whoever was there before
    _next = app.SERVICE_HANDLERS["bedrock-runtime"]
    app.SERVICE_HANDLERS["bedrock-runtime"] = handle


async def handle(
    method: str, path: str, headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]
) -> Response:
    """Answer a Converse that forces a tool; leave every other request to whoever was there."""
    if method != "POST" or not _CONVERSE.fullmatch(unquote(path)):
        response: Response = await _next(method, path, headers, body, query)
        return response
    try:
        request = parse(body)
        tool = ((request.get("toolConfig") or {}).get("toolChoice") or {}).get("tool") or {}
        if not tool.get("name"):
            response = await _next(method, path, headers, body, query)
            return response
        return await _answered(request, str(tool["name"]))
    except AwsError as error:
        return refusal(error)


async def _answered(request: dict[str, Any], tool: str) -> Response:
    text = _question(request)
    scripted = _scripted(text)
    if scripted is not None:
        return _as_scripted(scripted, tool, text)
    if os.environ.get(URL):
        found, model = await asyncio.to_thread(_ask_model, request, tool)
        return _reply(_tool_use(tool, found), "tool_use", model, text)
    return _reply(_tool_use(tool, {"facts": facts(text)}), "tool_use", RuleModel.name, text)


def _question(request: Mapping[str, Any]) -> str:
    try:
        return "\n".join(block["text"] for block in request["messages"][-1]["content"] if "text" in block)
    except (KeyError, IndexError, TypeError):
        raise invalid("messages: at least one message with text is needed") from None


def _scripted(text: str) -> Mapping[str, Any] | None:
    """The next written reply; one with `when` waits for a question in which that text stands."""
    global _script  # noqa: PLW0603 - how far the script was read
    replies = faults.current().converse_replies
    if _script[0] is not replies:
        _script = (replies, 0)
    at = _script[1]
    if at >= len(replies) or replies[at].get("when", "") not in text:
        return None
    _script = (replies, at + 1)
    return replies[at]


def _as_scripted(reply: Mapping[str, Any], tool: str, question: str) -> Response:
    if "status" in reply:
        raise AwsError(
            str(reply.get("code", "ServiceUnavailableException")), "scripted", int(reply["status"])
        )
    blocks = [{"text": reply["text"]}] if "text" in reply else []
    if "input" in reply:
        blocks += _tool_use(tool, reply["input"])
    return _reply(blocks, str(reply.get("stop", "tool_use")), "scripted", question)


def _tool_use(tool: str, value: Any) -> list[dict[str, Any]]:
    return [{"toolUse": {"toolUseId": "tooluse_1", "name": tool, "input": value}}]


def _reply(blocks: list[dict[str, Any]], stop: str, model: str, question: str) -> Response:
    asked, said = len(question) // 4 + 1, len(json.dumps(blocks)) // 4 + 1
    return answer(
        {
            "output": {"message": {"role": "assistant", "content": blocks}},
            "stopReason": stop,
            "usage": {"inputTokens": asked, "outputTokens": said, "totalTokens": asked + said},
            "metrics": {"latencyMs": 1},
            "trace": {"promptRouter": {"invokedModelId": model}},
        }
    )


def _ask_model(request: Mapping[str, Any], tool: str) -> tuple[Any, str]:
    """Put the question to the server of `UNSAY_LOCAL_LLM_URL`; whatever goes wrong there is a 503 here."""
    spec = request["toolConfig"]["tools"][0]["toolSpec"]
    system = "\n".join(block["text"] for block in request.get("system", []))
    body = {
        "model": os.environ.get(MODEL, "default"),
        "temperature": 0,
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": _question(request)},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": tool,
                    "description": spec["description"],
                    "parameters": spec["inputSchema"]["json"],
                },
            }
        ],
        "tool_choice": {"type": "function", "function": {"name": tool}},
    }
    key = os.environ.get(KEY)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        url = os.environ[URL].rstrip("/") + "/chat/completions"
        found = httpx.post(url, json=body, headers=headers, timeout=LLM_SECONDS)
        found.raise_for_status()
        value = found.json()
        message = value["choices"][0]["message"]
        calls = message.get("tool_calls") or []
        said = calls[0]["function"]["arguments"] if calls else message.get("content") or ""
    except (httpx.HTTPError, ValueError, LookupError, TypeError) as fault:
        raise AwsError("ServiceUnavailableException", "the model's server gave no answer", 503) from fault
    return _parsed(said), str(value.get("model") or body["model"])


def _parsed(said: str) -> Any:
    """The arguments of a tool call; what is no JSON goes on as it is, for the service to make out."""
    try:
        return json.loads(said)
    except ValueError:
        return {"facts": said}
