"""Saving while running: what was acknowledged two seconds ago survives `kill -9`.

That holds while all there is takes some megabytes; with more of it the snapshots are further apart, because
each is of everything, and nothing else is done while it is made. The emulator saves at a clean shutdown
only, and forgets stream records and sessions altogether.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ministack import app
from ministack.core import responses
from ministack.services import dynamodb, lambda_svc, sqs, sts

from local.snapshots import Encoded, Snapshots

if TYPE_CHECKING:
    from collections.abc import Callable

_TABLE_STORES = (
    "_tags",
    "_ttl_settings",
    "_pitr_settings",
    "_kinesis_destinations",
    "_contributor_insights",
    "_backups",
    "_resource_policies",
    "_exports",
    "_imports",
)
PATCHES = {
    "ministack.app": ("save_all", "load_state", "_build_persistence_save_dict", "_load_persisted_state"),
    "ministack.services.dynamodb": (
        "get_state",
        "load_persisted_state",
        "_tables",
        "_INDEX_MEMBERS",
        "_stream_records",
        "_stream_trimmed",
        "_stream_seq_counter",
        *_TABLE_STORES,
    ),
    "ministack.services.sqs": ("load_persisted_state", "_queues"),
    "ministack.services.sts": ("get_state", "load_persisted_state", "_sessions"),
    "ministack.services.lambda_svc": ("_esms", "_dynamodb_stream_positions"),
}

logger = logging.getLogger(__name__)

# Between two snapshots: short, so that two seconds hold; longer, when one takes long, so that work goes on.
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.4, 1.0
_PAUSE_PER_SECOND = 4
_MUCH = 10_000_000  # characters of a snapshot that may let the next one wait a second more
_TABLES, _DEPLOYMENTS = "dynamodb", "cloudformation"
# Grow with every call and matter to nobody after a crash: saved at a deployment and at shutdown.
_LOGS = frozenset({"cloudwatch", "cloudwatch_logs", "cloudtrail"})


@dataclass(frozen=True)
class _Part:
    dump: Callable[[], Any]
    load: Callable[[Any], None]


_registered: dict[str, _Part] = {}
_touched: set[str] = set()
_original_load = app._load_persisted_state
_original_queue_load = sqs.load_persisted_state
_original_table_load = dynamodb.load_persisted_state
_snapshots = Snapshots(Path(os.environ["STATE_DIR"]))


def register(name: str, dump: Callable[[], Any], load: Callable[[Any], None]) -> None:
    """Keep a module's own state: `dump` gives JSON-able data (bytes allowed), `load` takes it back at start.

    `dump` is called on the event loop, between requests, so it may return what it works on uncopied.
    """
    _registered[name] = _Part(dump, load)


def touch(*, tables: bool = True) -> None:
    """Say that something may have changed since the last snapshot.

    Tables are the one part whose cost grows with the data: say so when they were only read.
    """
    _touched.add(_TABLES if tables else "the rest")


def _encode(left_out: frozenset[str] = frozenset()) -> list[Encoded]:
    parts: dict[str, Callable[[], Any]] = dict(app._build_persistence_save_dict())
    parts |= {name: part.dump for name, part in _registered.items()}
    states = {name: dump() for name, dump in parts.items() if name not in left_out}
    # A module that failed to load has no state to report, and the one it had is kept.
    return [_snapshots.encode(name, state) for name, state in states.items() if state is not None]


async def save_when_touched() -> None:
    """Write a snapshot soon after something happened."""
    pause = _SHORTEST_PAUSE
    while True:
        await asyncio.sleep(pause)
        if not _touched:
            continue
        touched = frozenset(_touched)
        _touched.clear()
        started = time.monotonic()
        longest = _LONGEST_PAUSE
        try:
            longest += await _save_off_loop(touched) / _MUCH
        except Exception:  # a thread changed a store meanwhile, or the disk is full: try again
            logger.exception("The snapshot failed and is tried again")
            _touched.update(touched)
        taken = time.monotonic() - started
        pause = min(max(_SHORTEST_PAUSE, _PAUSE_PER_SECOND * taken), longest)


async def _save_off_loop(touched: frozenset[str]) -> int:
    """Encode on the loop, where no request is half done; write in a thread, where nobody waits.

    Returns how many characters that is.
    """
    encoded = _encode(_LOGS if _TABLES in touched else _LOGS | {_TABLES})
    if _snapshots.file_of(_DEPLOYMENTS) not in [part.file for part in encoded]:
        encoded = _encode()
    await asyncio.to_thread(_snapshots.write, encoded)
    return sum(len(part.text) for part in encoded)


def _save_all(_services: Any) -> None:
    """At a clean shutdown: everything, logs too."""
    _snapshots.write(_encode())


def _load_all() -> None:
    _original_load()
    for name, part in _registered.items():
        state = _snapshots.read(name)
        if state is not None:
            part.load(state)


def _table_state() -> dict[str, Any]:
    """DynamoDB with its stream records, uncopied: it is encoded before the next request."""
    tables = responses.AccountRegionScopedDict()
    for (account, region, name), table in dynamodb._tables.all_items():
        plain = {key: value for key, value in table.items() if key != dynamodb._INDEX_MEMBERS}
        tables.set_scoped(account, region, name, plain)
    rest = {name.removeprefix("_"): getattr(dynamodb, name) for name in _TABLE_STORES}
    return {
        "tables": tables,
        **rest,
        "streams": _unread_streams(),
        "stream_sequence": dynamodb._stream_seq_counter,
    }


def _unread_streams() -> list[list[Any]]:
    """The stream records some function has still to see, and the position of the first."""
    streams = []
    for (account, region, table), records in dynamodb._stream_records.all_items():
        trimmed = dynamodb._stream_trimmed.get_scoped(account, region, table, 0)
        read = _read_by_all(account, region, table, default=trimmed + len(records))
        streams.append([account, region, table, max(read, trimmed), records[max(0, read - trimmed) :]])
    return streams


def _read_by_all(account: str, region: str, table: str, default: int) -> int:
    positions = [
        lambda_svc._dynamodb_stream_positions.get_scoped(account, region, mapping["UUID"], 0)
        for (_, _, _), mapping in lambda_svc._esms.all_items()
        if f":table/{table}/stream/" in mapping.get("EventSourceArn", "")
    ]
    return min(positions, default=default)


def _load_tables(data: dict[str, Any]) -> None:
    _original_table_load(data)
    for account, region, table, position, records in data.get("streams", []):
        dynamodb._stream_records.set_scoped(account, region, table, records)
        dynamodb._stream_trimmed.set_scoped(account, region, table, position)
    dynamodb._stream_seq_counter = data.get("stream_sequence", 0)


def _load_queues(data: dict[str, Any]) -> None:
    """Messages that were with a function when the process died are visible again at once: it died too."""
    _original_queue_load(data)
    for queue in sqs._queues.all_values():
        for message in queue["messages"]:
            if message.get("receive_count"):
                message["visible_at"] = min(message["visible_at"], time.time())


def _sessions() -> dict[str, Any]:
    now = time.time()
    held = sts._sessions.copy().items()
    return {key: session for key, session in held if session.get("Expiration", 0) > now}


def _load_sessions(data: dict[str, Any]) -> None:
    for key, session in data.items():
        sts.register_session(key, session)


@contextlib.asynccontextmanager
async def saving() -> Any:
    """Save in the background for as long as the server runs."""
    task = asyncio.create_task(save_when_touched())
    try:
        yield
    finally:
        task.cancel()


def install() -> None:
    """Replace the emulator's persistence with snapshots."""
    app.save_all = _save_all
    app.load_state = _snapshots.read
    app._load_persisted_state = _load_all
    dynamodb.get_state = _table_state
    dynamodb.load_persisted_state = _load_tables
    sqs.load_persisted_state = _load_queues
    sts.get_state = _sessions
    sts.load_persisted_state = _load_sessions
