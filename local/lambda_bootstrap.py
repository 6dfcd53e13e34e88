"""Runs inside a Lambda worker process: imports the handler, then serves one event per line.

Standard library only, and started without site-packages: what the handler imports must come from its
layers or its own code, as in Lambda.
"""

import importlib
import json
import os
import sys
import time
import traceback
from typing import Any, TextIO


class LambdaContext:
    """The context object of one invocation."""

    identity = None
    client_context = None

    def __init__(self, call: dict[str, Any]) -> None:
        self.aws_request_id = call["request_id"]
        self.invoked_function_arn = call["function_arn"]
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self._deadline = time.time() + call["timeout_seconds"]

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda would stop this invocation."""
        return max(0, int((self._deadline - time.time()) * 1000))


def _handler(layers: list[str]) -> Any:
    # Lambda's own order: the function's code, its layers (the last one wins), the runtime.
    sys.path[:0] = [os.environ["LAMBDA_TASK_ROOT"], *reversed(layers)]
    module, _, function = os.environ["_HANDLER"].rpartition(".")
    return getattr(importlib.import_module(module.replace("/", ".")), function)


def _reply(replies: TextIO, message: dict[str, Any]) -> None:
    line = json.dumps(message)  # before the flush: a result that is no JSON is the handler's error
    sys.stdout.flush()
    sys.stderr.flush()
    replies.write(line + "\n")
    replies.flush()


def _error(error: BaseException) -> dict[str, Any]:
    return {"status": "error", "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}


def _serve_one(handler: Any, replies: TextIO, call: dict[str, Any]) -> None:
    if call.get("trace_id"):
        os.environ["_X_AMZN_TRACE_ID"] = call["trace_id"]
    try:
        _reply(replies, {"status": "ok", "result": handler(call["event"], LambdaContext(call))})
    except Exception as error:  # noqa: BLE001 - whatever a handler raises is its answer
        _reply(replies, _error(error))


def main() -> None:
    """Serve events from standard input until it ends."""
    replies = os.fdopen(int(sys.argv[1]), "w")
    try:
        handler = _handler(sys.argv[2:])
    except BaseException as error:  # noqa: BLE001 - an import may even exit; the server reports it
        _reply(replies, _error(error))
        return
    _reply(replies, {"status": "ready"})
    for line in sys.stdin:
        _serve_one(handler, replies, json.loads(line))


if __name__ == "__main__":
    main()
