"""The server process: the emulator, extended, on one loopback port."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from typing import TYPE_CHECKING, Any

from local.place import HOST, Place

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_KEEP_ALIVE_SECONDS = 75


def serve(place: Place) -> None:
    """Run until SIGTERM or SIGINT; whatever the shell had set is forgotten first."""
    environment = place.server_environment()
    os.environ.clear()
    os.environ.update(environment)
    sys.dont_write_bytecode = False  # or each start compiles the emulator anew: two seconds of it
    os.umask(0o077)
    place.state.mkdir(parents=True, exist_ok=True)
    _allow_many_files()
    asyncio.run(_serve(place))


def _allow_many_files() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def _serve(place: Place) -> None:
    from hypercorn.asyncio import serve as run
    from hypercorn.config import Config

    config = Config()
    config.bind = [f"{HOST}:{place.port}"]
    config.keep_alive_timeout = _KEEP_ALIVE_SECONDS
    config.graceful_timeout = 1.0
    config.loglevel = "WARNING"
    await run(_application(), config)


def _application() -> Callable[..., Awaitable[Any]]:
    # Only now: the emulator reads its environment while it is imported.
    from local import extension

    extension.install()
    from ministack import app

    from local.front_door import front_door

    return front_door(app.app)
