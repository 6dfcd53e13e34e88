"""`up`, `down` and `status`: the local cloud as a daemon, its stack deployed, a key at hand."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from rich.console import Console

from local.deploy import CDK_OUT, DeployError, deploy
from local.host_layer import ROOT, LayerError
from local.place import HOST, STACK, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.status import Status

_START_SECONDS = 60.0
_STOP_SECONDS = 60.0
_HEALTH_SECONDS = 60.0
_POLL_SECONDS = 0.05
_LOG_LINES = 15


class LifecycleError(RuntimeError):
    """The local cloud could not be started or stopped; the message says what to do."""


@dataclass(frozen=True)
class Running:
    """A local cloud that answers on a port."""

    pid: int
    state: Path
    api_id: str | None


def running(place: Place) -> Running | None:
    """The local cloud on this port, whoever's state it holds; None when nobody answers as one."""
    try:
        found = httpx.get(f"{place.url}/_local", timeout=5.0)
        value = found.json()
        return Running(value["pid"], Path(value["state"]), value["api_id"])
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return None


def up(place: Place, app: Path = CDK_OUT) -> int:
    """Start, deploy and print how to call; done again it redeploys and prints the same."""
    console = Console()
    try:
        with console.status("starting the local cloud …") as status:
            local = bring_up(place, Progress(console, status), app)
        _print(console, place, local)
    except (LifecycleError, DeployError, LayerError) as error:
        Console(stderr=True).print(f"[red]unsay is not up:[/] {error}", highlight=False, soft_wrap=True)
        return 1
    return 0


def bring_up(place: Place, progress: Progress, app: Path = CDK_OUT) -> dict[str, Any]:
    """Start the server, deploy a synthesized app, make the first key; returns what `local.json` holds.

    Raises `LifecycleError`, `DeployError`, `LayerError`.
    """
    with _alone(place):
        progress.done(_start(place))
        progress.doing("deploying the stack …")
        deploy(place, app, progress.done)
        progress.doing("waiting for the API …")
        _wait_healthy(place)
        progress.done("API: healthy")
        progress.doing("making the admin key …")
        return _write_local(place)


def down(place: Place) -> int:
    """Stop the local cloud of this state; everything it holds is kept for the next start."""
    place = _recorded(place)
    found = running(place)
    if found is None or found.state != place.state:
        print(f"no local cloud with the state {place.state} on port {place.port}")
        return 0
    if not stop(found.pid):
        print(f"process {found.pid} is still stopping; see {place.log}")
        return 1
    print(f"stopped; the state is kept in {place.state}")
    return 0


def stop(pid: int) -> bool:
    """Ask a server to save and stop; True once it is gone."""
    os.kill(pid, signal.SIGTERM)
    return _wait(lambda: not _alive(pid), _STOP_SECONDS)


def status(place: Place) -> int:
    """Say whether the local cloud of this state runs; the exit code is 0 when it does."""
    place = _recorded(place)
    found = running(place)
    if found is None or found.state != place.state:
        print(f"not running: {place.state}")
        return 1
    print(f"running: {place.url}, process {found.pid}, state {place.state}")
    return 0


def _recorded(place: Place) -> Place:
    """The place with the port its server was started on, so that `down` needs the state alone."""
    try:
        return replace(place, port=int(_port_file(place).read_text()))
    except (FileNotFoundError, ValueError):
        return place


def _port_file(place: Place) -> Path:
    return place.state / ".port"


def _local(place: Place) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(place.local_json.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return value


@contextlib.contextmanager
def _alone(place: Place) -> Iterator[None]:
    """One `up` at a time for a state: the second waits and finds everything done."""
    place.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(place.state / ".up.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Progress:
    """What is being done, on a line that passes; what is done, on a line with its time that stays."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console, self._status = console, status
        self._since = time.monotonic()

    def doing(self, what: str) -> None:
        """Show what takes its time now."""
        self._status.update(what)

    def done(self, what: str) -> None:
        """Say what was done since the last time."""
        now = time.monotonic()
        self._console.print(f"[green]✓[/] {what} [dim]{now - self._since:.1f} s[/]", highlight=False)
        self._since = now


def _print(console: Console, place: Place, local: dict[str, Any]) -> None:
    body = '{"scope": "demo/me", "content": "I moved to Lisbon."}'
    lines = [
        f"URL   {place.url}",
        f"key   {local['admin_key']}",
        f"file  {place.local_json}",
        "",
        f"export UNSAY_URL={place.url} UNSAY_TOKEN={local['admin_key']}",
        'curl -sS "$UNSAY_URL/v1/memories" -H "Authorization: Bearer $UNSAY_TOKEN" \\',
        f"  -H 'Content-Type: application/json' -H 'Idempotency-Key: first' -d '{body}'",
    ]
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _start(place: Place) -> str:
    """Make sure the server of this state runs on this port; returns what was found or done."""
    found = running(place)
    if found and found.state == place.state:
        return f"local cloud: runs already, process {found.pid}"
    if found:
        raise LifecycleError(
            f"port {place.port} serves another state, {found.state}: stop it, or take another PORT"
        )
    if _port_taken(place):
        raise LifecycleError(f"port {place.port} is used by another program: take another PORT")
    recorded = _recorded(place)
    elsewhere = running(recorded) if recorded.port != place.port else None
    if elsewhere and elsewhere.state == place.state:
        raise LifecycleError(
            f"this state is already served on port {recorded.port}: stop it first (make down)"
        )
    process = _daemon(place)
    try:
        _await_answer(process, place)
    except BaseException:  # an interrupt too: a server that nobody waits for would keep the port
        process.kill()
        process.wait()
        raise
    return f"local cloud: started, process {process.pid}"


def _await_answer(process: subprocess.Popen[bytes], place: Place) -> None:
    if not _wait(lambda: process.poll() is not None or running(place) is not None, _START_SECONDS):
        raise LifecycleError(f"the server did not answer within {_START_SECONDS:.0f} s; see {place.log}")
    if process.poll() is not None:
        raise LifecycleError(f"the server stopped at once ({place.log}):\n{_tail(place.log)}")


def _port_taken(place: Place) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, place.port)) == 0


def _daemon(place: Place) -> subprocess.Popen[bytes]:
    """The server in a session of its own, holding none of our terminal."""
    command = [sys.executable, "-m", "local", "serve", "--port", str(place.port), "--state", str(place.state)]
    _port_file(place).write_text(str(place.port))
    with open(os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=place.server_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-_LOG_LINES:])


def _wait_healthy(place: Place) -> None:
    last = "no answer"

    def healthy() -> bool:
        nonlocal last
        try:
            answer = httpx.get(f"{place.url}/v1/health", timeout=30.0)
        except httpx.HTTPError as error:
            last = str(error)
            return False
        last = f"{answer.status_code} {answer.text[:200]}"
        return answer.status_code == httpx.codes.OK

    if not _wait(healthy, _HEALTH_SECONDS):
        raise LifecycleError(f"GET /v1/health did not answer 200 within {_HEALTH_SECONDS:.0f} s: {last}")


def _write_local(place: Place) -> dict[str, Any]:
    """The file a client starts from; its key is made once and kept."""
    found = running(place)
    if found is None:
        raise LifecycleError(f"the server has stopped; see {place.log}")
    key = _local(place).get("admin_key") or _bootstrap(place)
    local = {
        "url": place.url,
        "admin_key": key,
        "control_url": f"{place.url}/_faults",
        "pid": found.pid,
        "log": str(place.log),
        "endpoint_url": place.url,
    }
    staging = place.state / ".local.json"
    with open(os.open(staging, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(local, file, indent=2)
    staging.replace(place.local_json)
    return local


def _bootstrap(place: Place) -> str:
    """The first admin key, made as a real deployment's would be: with AWS credentials."""
    from unsay_core.admin.cli import bootstrap

    os.environ.update(place.client_environment())
    return str(bootstrap(STACK)["secret"])


def _alive(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # when this very process started it, it has to collect it too
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _wait(condition: Any, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True
