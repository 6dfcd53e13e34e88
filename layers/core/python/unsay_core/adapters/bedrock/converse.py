"""Bedrock's Converse: one forced tool call, with the schema of what is asked for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError

from unsay_core.adapters.aws_errors import is_outage, is_throttled
from unsay_core.application.model import Answer, ModelUnavailableError, Stop, UnusableReplyError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from unsay_core.application.model import Question

MOST_TOKENS = 4_096  # of an answer; more facts than fit are asked for in halves
_STOPS = {
    "max_tokens": Stop.TRUNCATED,
    "model_context_window_exceeded": Stop.TRUNCATED,
    "guardrail_intervened": Stop.REFUSED,
    "content_filtered": Stop.REFUSED,
}
# Not the question's fault either: somebody has to allow the model first, or name another one.
_NOT_ALLOWED = frozenset({"AccessDeniedException", "ResourceNotFoundException", "ModelNotReadyException"})
_SLOW = frozenset({"ModelTimeoutException", "ServiceQuotaExceededException"})


class ConverseModel:
    """See `Model`. `name` is a model id or an inference profile's; the guardrail is optional."""

    def __init__(self, client: Callable[[], Any], name: str, guardrail: Mapping[str, str] | None) -> None:
        self._client = client
        self._guardrail = guardrail
        self.name = name

    def ask(self, question: Question) -> Answer:
        """One request, not repeated here: the batch comes again."""
        began = time.monotonic()
        try:
            answer = self._client().converse(**self._request(question))
        except (HTTPClientError, ConnectionError) as unreachable:
            raise ModelUnavailableError("model_unreachable") from unreachable
        except ClientError as refused:
            raise _refusal(refused) from refused
        except BotoCoreError as fault:
            raise ModelUnavailableError("model_unreachable") from fault
        return self._answer(answer, time.monotonic() - began)

    def _request(self, question: Question) -> dict[str, Any]:
        tool = {
            "toolSpec": {
                "name": question.tool,
                "description": question.purpose,
                "inputSchema": {"json": question.schema},
            }
        }
        guardrail = {"guardrailConfig": dict(self._guardrail)} if self._guardrail else {}
        return {
            "modelId": self.name,
            "system": [{"text": question.system}],
            "messages": [{"role": "user", "content": [{"text": question.text}]}],
            "inferenceConfig": {"temperature": 0, "maxTokens": MOST_TOKENS},
            "toolConfig": {"tools": [tool], "toolChoice": {"tool": {"name": question.tool}}},
            **guardrail,
        }

    def _answer(self, answer: Mapping[str, Any], seconds: float) -> Answer:
        blocks = answer["output"]["message"]["content"]
        inputs = [block["toolUse"].get("input") for block in blocks if "toolUse" in block]
        usage = answer.get("usage") or {}
        invoked = ((answer.get("trace") or {}).get("promptRouter") or {}).get("invokedModelId")
        return Answer(
            stop=_STOPS.get(answer.get("stopReason", ""), Stop.DONE),
            tool_input=inputs[0] if inputs else None,
            texts=tuple(block["text"] for block in blocks if "text" in block),
            model=invoked or self.name,
            tokens=int(usage.get("totalTokens") or 0),
            seconds=seconds,
            written=int(usage.get("outputTokens") or 0),
        )


def _refusal(refused: ClientError) -> Exception:
    code = refused.response["Error"]["Code"]
    if is_throttled(refused):
        return ModelUnavailableError("model_throttled")
    if code in _NOT_ALLOWED:
        return ModelUnavailableError("model_not_allowed")
    if code in _SLOW or is_outage(refused):
        return ModelUnavailableError("model_unavailable")
    return UnusableReplyError("question_refused")
