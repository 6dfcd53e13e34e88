"""Lambda execution environments: worker processes that see what Lambda would show them, and no more.

Replaces the emulator's worker, which passes on the whole environment and the site-packages of the server,
waits 50 ms for log lines of silent handlers, and throws a worker away when a handler raises.
"""

from __future__ import annotations

import contextlib
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
from typing import IO, Any, cast

from ministack.core import lambda_runtime as runtime
from ministack.services import lambda_svc, sts

from local import metrics, xray
from local.place import HOST, PYTHON_NEEDS

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
        "_lock",
        "_workers",
        "invalidate_worker",
        "kill_workers",
    ),
    "ministack.services.lambda_svc": (
        "_resolve_layer_zip",
        "lambda_execute_result_to_api_proxy_response",
        "invalidate_worker",
    ),
    "ministack.services.sts": ("_sessions", "_evict_expired_sessions", "_session_expired"),
}

_BOOTSTRAP = Path(__file__).with_name("lambda_bootstrap.py")
_INIT_SECONDS = 60.0  # Lambda allows ten; a busy machine is no failed init
_STOP_SECONDS = 1.0
_PARTIAL = "partial-"
_CHUNK = 1 << 16
_unpacking = threading.Lock()
_original_worker_class = runtime._worker_class_for
_original_invalidate = runtime.invalidate_worker
_original_proxy_response = lambda_svc.lambda_execute_result_to_api_proxy_response


class WorkerDiedError(RuntimeError):
    """The worker process ended before it answered."""


def _unpacked_root() -> Path:
    return Path(os.environ["STATE_DIR"]).parent / "unpacked"


def evict_sessions() -> None:
    """Drop expired sessions, looking at a copy: the threads of workers register their own meanwhile."""
    for key, session in sts._sessions.copy().items():
        if sts._session_expired(session):
            sts._sessions.pop(key, None)


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
        **{key: os.environ[key] for key in PYTHON_NEEDS if key in os.environ},
        runtime.HOST_PREFIX_ENV: "true",
        "AWS_ENDPOINT_URL": f"http://{HOST}:{os.environ['GATEWAY_PORT']}",
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
        "AWS_XRAY_DAEMON_ADDRESS": xray.address(),
        "LAMBDA_TASK_ROOT": str(task_root),
        "_HANDLER": config["Handler"],
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
    }


class IsolatedWorker(runtime.Worker):
    """One execution environment of a Python function, in the emulator's pool of them."""

    _proc: subprocess.Popen[bytes] | None  # what the pool ends a worker by
    _process: _Process | None = None

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
        seconds = float(self.config.get("Timeout", 3))
        call = {
            "event": event,
            "request_id": request_id,
            "trace_id": trace_id,
            "function_arn": invoked_function_arn or self.config.get("FunctionArn", ""),
            "timeout_seconds": seconds,
        }
        with self._lock:
            cold = self._proc is None or self._proc.poll() is not None
            try:
                process = self._spawned() if cold else cast("_Process", self._process)
                reply = process.call(call, seconds)
            except TimeoutError:
                reply = {"status": "error", "error": f"Task timed out after {seconds:.2f} seconds"}
                self._stop()
            except (WorkerDiedError, OSError) as error:
                reply = {"status": "error", "error": str(error)}
                self._stop()
            log = self._process.logs() if self._process else ""
            metrics.take_log(log)
            return reply | {"cold_start": cold, "log": log}

    def _spawned(self) -> _Process:
        self._close()
        self._process = process = _Process(self.config, unpacked(self.code_zip))
        self._proc = process.popen
        try:
            process.wait_ready()
        except TimeoutError as error:
            raise WorkerDiedError(f"Init did not end within {_INIT_SECONDS:.0f} s") from error
        return process

    def _spawn(self) -> None:
        """Called when a version is warmed up before its first event."""
        self._spawned()

    def _stop(self) -> None:
        process, self._proc = self._proc, None
        runtime._signal(process)
        runtime._collect(process, time.monotonic() + _STOP_SECONDS)

    def _discard_tmpdir(self) -> None:
        """Called when a worker is dropped; the unpacked code is shared and stays."""
        with self._lock:  # whoever waits for an answer learns first that none will come
            self._close()

    def _close(self) -> None:
        if self._process:
            self._process.close()
            self._process = None


class _Process:
    """A worker process and its three streams, read by the thread that waits for its answer.

    Whatever a handler prints is in the log pipe before its reply is in the other: no wait is needed.
    """

    def __init__(self, config: dict[str, Any], task_root: Path) -> None:
        self._replies, write_end = os.pipe()
        self.popen = subprocess.Popen(
            # -I and -S: no variables, folders or site-packages of the server's own Python.
            [sys.executable, "-I", "-S", _BOOTSTRAP, str(write_end), *map(str, _layers(config))],
            cwd=task_root,
            env=environment(config, task_root),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(write_end,),
        )
        os.close(write_end)
        self._calls = cast("IO[bytes]", self.popen.stdin)
        self._log_stream = cast("IO[bytes]", self.popen.stdout)
        self._log_file = self._log_stream.fileno()
        self._buffer, self._log = b"", bytearray()
        self._selector = selectors.DefaultSelector()
        for file in (self._replies, self._log_file):
            os.set_blocking(file, False)
            self._selector.register(file, selectors.EVENT_READ)

    def wait_ready(self) -> None:
        """Wait for the handler's import. Raises WorkerDiedError with its error, TimeoutError after 10 s."""
        ready = self._next(time.monotonic() + _INIT_SECONDS)
        if ready["status"] != "ready":
            raise WorkerDiedError(f"{ready['error']}\n{ready['trace']}")

    def call(self, call: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The reply to one event. Raises TimeoutError, or WorkerDiedError when none can come."""
        self._calls.write(json.dumps(call).encode() + b"\n")
        self._calls.flush()
        return self._next(time.monotonic() + seconds)

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            self._read([key.fd for key, _ in self._selector.select(remaining)])
        line, _, self._buffer = self._buffer.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _read(self, ready: list[int]) -> None:
        if self._log_file in ready and not self._drain_log():
            self._selector.unregister(self._log_file)
        if self._replies in ready:
            chunk = os.read(self._replies, _CHUNK)
            if not chunk:
                raise WorkerDiedError("Runtime exited without providing a reason")
            self._buffer += chunk

    def _drain_log(self) -> bool:
        """Take what is in the log pipe; False when the worker has closed it."""
        try:
            while chunk := os.read(self._log_file, _CHUNK):
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
        """Give the file descriptors back; the process has ended, or ends by it."""
        self._selector.close()
        with contextlib.suppress(OSError):  # an event the process never took is still in the buffer
            self._calls.close()
        self._log_stream.close()
        os.close(self._replies)


def _invalidate(func_name: str, *given: Any, **where: Any) -> None:
    """A function has changed or is gone: what runs of it ends with its answer, as on Lambda; the rest now."""
    with runtime._lock:
        pools = [pool for key, pool in runtime._workers.items() if key.split(":")[-2] == func_name]
        busy = [worker for pool in pools for worker in pool if worker.in_use]
        for pool in pools:
            pool[:] = [worker for worker in pool if not worker.in_use]
    for worker in busy:
        threading.Thread(target=_retire, args=(worker,), daemon=True).start()
    _original_invalidate(func_name, *given, **where)


def _retire(worker: Any) -> None:
    give_up = time.monotonic() + float(worker.config.get("Timeout", 3)) + _INIT_SECONDS
    while worker.in_use and time.monotonic() < give_up:
        time.sleep(0.05)
    runtime.kill_workers([worker])


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
    runtime.invalidate_worker = lambda_svc.invalidate_worker = _invalidate
    lambda_svc.lambda_execute_result_to_api_proxy_response = _proxy_response
    sts._evict_expired_sessions = evict_sessions
