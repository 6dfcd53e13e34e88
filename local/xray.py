"""What X-Ray's daemon would take: the segments of every function, kept for whoever looks at `/_traces`."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from typing import Any

from local.place import HOST

KEPT = 20_000  # segments; the oldest go first
_LARGEST = 65_535

_taken: deque[dict[str, Any]] = deque(maxlen=KEPT)
_daemon = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def address() -> str:
    """Where functions send their segments, as Lambda tells them."""
    host, port = _daemon.getsockname()
    return f"{host}:{port}"


def segments() -> list[dict[str, Any]]:
    """Every segment that came, in order."""
    return list(_taken)


def _take() -> None:
    while True:
        header, _, document = _daemon.recv(_LARGEST).partition(b"\n")
        if json.loads(header) == {"format": "json", "version": 1}:
            _taken.append(json.loads(document))


def install() -> None:
    """Listen, as long as the server runs."""
    _daemon.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    _daemon.bind((HOST, 0))
    threading.Thread(target=_take, daemon=True, name="xray").start()
