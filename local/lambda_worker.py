"""Lambda execution environments: worker processes that see what Lambda would show them, and no more.

Replaces the emulator's worker, which passes on the whole environment and the site-packages of the server,
waits 50 ms for log lines of silent handlers, and throws a worker away when a handler raises.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import zipfile
from pathlib import Path
from typing import IO, Any

from ministack.core import lambda_runtime as runtime
from ministack.services import lambda_svc

PATCHES = {
    "ministack.core.lambda_runtime": (
        "Worker",
        "_worker_class_for",
        "_account_region_from_function_config",
        "execution_credentials",
        "_RESERVED_RUNTIME_ENV_VARS",
        "HOST_PREFIX_ENV",
        "_signal",
        "_collect",
    ),
    "ministack.services.lambda_svc": (
        "_resolve_layer_zip",
        "lambda_execute_result_to_api_proxy_response",
    ),
}

_BOOTSTRAP = Path(__file__).with_name("lambda_bootstrap.py")
_INIT_SECONDS = 10.0  # Lambda's own limit for the init phase
_STOP_SECONDS = 1.0
_PARTIAL = "partial-"
_unpacking = threading.Lock()
_original_worker_class = runtime._worker_class_for
_original_proxy_response = lambda_svc.lambda_execute_result_to_api_proxy_response


class WorkerDiedError(RuntimeError):
    """The worker process ended before it answered."""


def _unpacked_root() -> Path:
    return Path(os.environ["STATE_DIR"]).parent / "unpacked"


def unpacked(archive: bytes) -> Path:
    """Folder with the content of a code or layer archive, unpacked once for all workers and restarts."""
    root = _unpacked_root()
    folder = root / hashlib.sha256(archive).hexdigest()[:32]
    with _unpacking:
        if not folder.exists():
            root.mkdir(parents=True, exist_ok=True)
            staging = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=root))
            with zipfile.ZipFile(io.BytesIO(archive)) as code:
                code.extractall(staging)
            staging.rename(folder)
    return folder


def _layers(config: dict[str, Any]) -> list[Path]:
    archives = [lambda_svc._resolve_layer_zip(layer) for layer in config.get("Layers") or []]
    return [unpacked(archive) / "python" for archive in archives if archive]


def environment(config: dict[str, Any], task_root: Path) -> dict[str, str]:
    """What Lambda sets for a function, and its own variables; nothing of the server's."""
    _, region = runtime._account_region_from_function_config(config)
    own = (config.get("Environment") or {}).get("Variables") or {}
    name = config["FunctionName"]
    return {
        runtime.HOST_PREFIX_ENV: "true",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{os.environ['GATEWAY_PORT']}",
        **{key: value for key, value in own.items() if key not in runtime._RESERVED_RUNTIME_ENV_VARS},
        **runtime.execution_credentials(config),
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{config.get('Runtime', '')}",
        "AWS_LAMBDA_FUNCTION_NAME": name,
        "AWS_LAMBDA_FUNCTION_VERSION": config.get("Version", "$LATEST"),
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(config.get("MemorySize", 128)),
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{name}",
        "AWS_LAMBDA_LOG_STREAM_NAME": time.strftime("%Y/%m/%d/[$LATEST]") + uuid.uuid4().hex,
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "LAMBDA_TASK_ROOT": str(task_root),
        "_HANDLER": config["Handler"],
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
    }


class IsolatedWorker(runtime.Worker):  # type: ignore[misc]
    """One execution environment of a Python function."""

    _replies: _Replies | None = None

    def _spawn(self) -> None:
        self._discard_tmpdir()
        task_root = unpacked(self.code_zip)
        read_end, write_end = os.pipe()
        self._proc = subprocess.Popen(
            # -I and -S: no variables, folders or site-packages of the server's own Python.
            [sys.executable, "-I", "-S", _BOOTSTRAP, str(write_end), *map(str, _layers(self.config))],
            cwd=task_root,
            env=environment(self.config, task_root),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(write_end,),
        )
        os.close(write_end)
        self._replies = _Replies(read_end, self._proc.stdout)
        ready = self._replies.next(time.monotonic() + _INIT_SECONDS)
        if ready["status"] != "ready":
            raise WorkerDiedError(f"{ready['error']}\n{ready.get('trace', '')}")

    def invoke(
        self,
        event: Any,
        request_id: str,
        *,
        trace_id: str | None = None,
        invoked_function_arn: str | None = None,
        **_unused: Any,
    ) -> dict[str, Any]:
        """Run one event; a handler's error leaves the environment alive, a timeout or a crash ends it."""
        with self._lock:
            cold = self._proc is None or self._proc.poll() is not None
            try:
                if cold:
                    self._spawn()
                seconds = float(self.config.get("Timeout", 3))
                self._send(event, request_id, trace_id, invoked_function_arn, seconds)
                reply = self._replies.next(time.monotonic() + seconds)
            except TimeoutError:
                reply = {
                    "status": "error",
                    "error": f"Task timed out after {self.config.get('Timeout', 3)}.00 seconds",
                }
                self._stop()
            except (WorkerDiedError, OSError) as error:
                reply = {"status": "error", "error": str(error)}
                self._stop()
            return reply | {"cold_start": cold, "log": self._replies.logs() if self._replies else ""}

    def _send(
        self, event: Any, request_id: str, trace_id: str | None, arn: str | None, seconds: float
    ) -> None:
        call = {
            "event": event,
            "request_id": request_id,
            "trace_id": trace_id,
            "function_arn": arn or self.config.get("FunctionArn", ""),
            "timeout_seconds": seconds,
        }
        self._proc.stdin.write(json.dumps(call).encode() + b"\n")
        self._proc.stdin.flush()

    def _stop(self) -> None:
        process, self._proc = self._proc, None
        runtime._signal(process)
        runtime._collect(process, time.monotonic() + _STOP_SECONDS)

    def _discard_tmpdir(self) -> None:
        """Called when a worker is dropped; the unpacked code is shared and stays."""
        if self._replies:
            self._replies.close()


class _Replies:
    """The two streams of a worker, read by the thread that waits for its answer.

    Whatever a handler prints is in the log pipe before its reply is in the other: no wait is needed.
    """

    def __init__(self, replies: int, logs: IO[bytes]) -> None:
        self._reply_file, self._log_stream, self._log_file = replies, logs, logs.fileno()
        self._buffer, self._log = b"", bytearray()
        self._selector = selectors.DefaultSelector()
        for file in (replies, self._log_file):
            os.set_blocking(file, False)
            self._selector.register(file, selectors.EVENT_READ)

    def next(self, deadline: float) -> dict[str, Any]:
        """The next reply; raises TimeoutError at the deadline, WorkerDiedError when none can come."""
        while b"\n" not in self._buffer:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            self._read(self._selector.select(remaining))
        line, _, self._buffer = self._buffer.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _read(self, ready: list[tuple[selectors.SelectorKey, int]]) -> None:
        files = [key.fd for key, _ in ready]
        if self._log_file in files and not self._drain_log():
            self._selector.unregister(self._log_file)
        if self._reply_file in files:
            chunk = os.read(self._reply_file, 1 << 16)
            if not chunk:
                raise WorkerDiedError("Runtime exited without providing a reason")
            self._buffer += chunk

    def _drain_log(self) -> bool:
        """Take what is in the log pipe; False when the worker has closed it."""
        try:
            while chunk := os.read(self._log_file, 1 << 16):
                self._log += chunk
        except BlockingIOError:
            return True
        return False

    def logs(self) -> str:
        """What was printed since the last call."""
        self._drain_log()
        text, self._log = self._log.decode("utf-8", "replace"), bytearray()
        return text.rstrip("\n")

    def close(self) -> None:
        """Give the file descriptors back."""
        self._selector.close()
        if not self._log_stream.closed:
            self._log_stream.close()
            os.close(self._reply_file)


def _worker_class(config: dict[str, Any]) -> Any:
    if str(config.get("Runtime", "")).startswith("python"):
        return IsolatedWorker
    return _original_worker_class(config)


def _proxy_response(result: dict[str, Any]) -> Any:
    """A failed function is a bare 500 over an HTTP API; its error goes to the log only."""
    if result.get("error") and not result.get("throttle"):
        headers = {"Content-Type": "application/json"}
        return {"statusCode": 500, "headers": headers, "body": '{"message":"Internal Server Error"}'}, None
    return _original_proxy_response(result)


def install() -> None:
    """Run Python functions in isolated workers and answer their failures as AWS does."""
    for left_over in _unpacked_root().glob(f"{_PARTIAL}*"):
        shutil.rmtree(left_over)
    runtime._worker_class_for = _worker_class
    lambda_svc.lambda_execute_result_to_api_proxy_response = _proxy_response
