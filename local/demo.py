"""`python -m local demo`: a conversation is extracted, recalled, corrected and forgotten, on this machine.

Everything runs in a local cloud of its own, in a temporary folder that is removed afterwards. The exit
code is 0 only if every step held; lines of the conversation that cannot be used are reported, and cost
nothing but themselves.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import unsay
from infra.freshness import is_fresh
from infra.synth import ensure_fresh
from local import lifecycle
from local.demo_plot import plot
from local.demo_steps import NotHeldError, Show, Steps, Stopwatch
from local.deploy import DeployError
from local.host_layer import ROOT, LayerError
from local.place import HOST, Place
from local.transcript import Transcript, read_transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = ROOT / "examples" / "conversation.jsonl"
SCOPE, ELSEWHERE = "demo/conversation", "demo/another-user"
_ACTIONS = ["read", "write", "forget", "audit"]
_INTERRUPTED = 130  # as a shell reports a program that SIGINT ended
_LOG_LINES = 15
_STOP_SECONDS = 30.0


class UnusableFileError(RuntimeError):
    """There is no conversation in the file; the message says why."""


_FAILURES = (
    UnusableFileError,
    unsay.UnsayError,
    lifecycle.LifecycleError,
    DeployError,
    LayerError,
    subprocess.CalledProcessError,
)


def demo(file: Path | None, port: int | None) -> int:
    """Show a conversation's life; the exit code is 0 only if every step held."""
    signal.signal(signal.SIGTERM, _interrupt)
    show = Show(Console())
    started = time.monotonic()
    try:
        transcript = _read(file or Path(os.path.relpath(EXAMPLE)), show)
        with _cloud(port or _free_port()) as place:
            _run(place, transcript, show)
    except KeyboardInterrupt:
        _fail("interrupted; the local cloud is stopped and its folder removed")
        return _INTERRUPTED
    except NotHeldError as error:
        _fail(f"did not hold: {error}")
        return 1
    except _FAILURES as error:
        _fail(str(error))
        return 1
    show.console.print(f"\nEverything held. {time.monotonic() - started:.1f} s in all.", highlight=False)
    return 0


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _fail(why: str) -> None:
    Console(stderr=True).print(f"[red]✗[/] {escape(why)}", highlight=False, soft_wrap=True)


def _read(file: Path, show: Show) -> Transcript:
    """The conversation; what cannot be used of it is shown, and without a turn of the user it ends here."""
    try:
        transcript = read_transcript(file)
    except OSError as error:
        raise UnusableFileError(f"{file} cannot be read: {error.strerror}") from error
    said, refused = len(transcript.of("user")), len(transcript.refused)
    show.console.print(
        f"{escape(str(file))}: {said} turns of the user, {len(transcript.turns) - said} of others"
        + (f", {refused} lines that are no turn" if refused else ""),
        highlight=False,
        soft_wrap=True,
    )
    show.refusals(transcript.refused)
    if not said:
        raise UnusableFileError(f'{file} holds no turn of the user: {{"role": "user", "content": "…"}}')
    return transcript


@contextmanager
def _cloud(port: int) -> Iterator[Place]:
    """A place for a local cloud of our own; whatever happens, it is stopped and its folder removed."""
    with tempfile.TemporaryDirectory(prefix="unsay-demo-", ignore_cleanup_errors=True) as folder:
        place = Place(port, Path(folder).resolve())
        try:
            yield place
        except Exception:  # whatever it was: the log that may explain it goes with the folder
            _show_log(place)
            raise
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            _stop(place)


def _show_log(place: Place) -> None:
    if place.log.exists():
        lines = place.log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        Console(stderr=True).print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def _stop(place: Place) -> None:
    """Stop the server of this place, also one that is too busy to answer at once; no other's."""
    give_up = time.monotonic() + _STOP_SECONDS
    while _is_open(place.port) and time.monotonic() < give_up:
        found = lifecycle.running(place)
        if found and found.state != place.state:
            return
        if found and not lifecycle.stop(found.pid):
            os.kill(found.pid, signal.SIGKILL)


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _run(place: Place, transcript: Transcript, show: Show) -> None:
    if not is_fresh():
        show.console.print("synthesizing the stack (about 15 s) …")
        ensure_fresh()
    with show.console.status("starting the local cloud …") as status:
        local = lifecycle.bring_up(place, lifecycle.Progress(show.console, status))
    timed = Stopwatch()
    with unsay.connect(local["url"], token=local["admin_key"]) as admin:
        keys = {scope: _key(admin, timed, scope) for scope in (SCOPE, ELSEWHERE)}
    show.holds(f"keys: an agent's for {SCOPE}, another's for {ELSEWHERE}")
    with (
        unsay.connect(local["url"], token=keys[SCOPE]) as memory,
        unsay.connect(local["url"], token=keys[ELSEWHERE]) as other,
    ):
        _live(Steps(memory, SCOPE, other, ELSEWHERE, show, timed), transcript)
    _show_times(timed, show)


def _key(admin: unsay.Memory, timed: Stopwatch, scope: str) -> str:
    return timed(admin.make_key, f"demo, {scope}", kind="agent", grants={scope: _ACTIONS}).secret


def _live(steps: Steps, transcript: Transcript) -> None:
    stored = steps.feed(transcript)
    told = plot(stored.told)
    target = steps.recalls(told, stored)
    corrected = steps.corrects(told, target)
    steps.forgets(told, corrected, target)
    steps.verifies_audit()
    steps.keeps_apart(told, stored)


def _show_times(timed: Stopwatch, show: Show) -> None:
    table = Table("call", "calls", "median", box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for verb, (calls, median) in timed.medians().items():
        table.add_row(verb, str(calls), f"{1000 * median:.0f} ms")
    show.console.print("", table)
