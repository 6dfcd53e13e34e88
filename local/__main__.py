"""`python -m local serve|up|down|status|demo`: the local cloud from the command line."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from local.place import Place

_PORT = 4566


def _place(arguments: argparse.Namespace) -> Place:
    return Place(int(arguments.port or _PORT), Path(arguments.state).resolve())


def _demo(arguments: argparse.Namespace) -> int:
    from local.demo import demo

    port = int(arguments.port) if arguments.port else None
    return demo(Path(arguments.file) if arguments.file else None, port)


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit code is 0 when it did what it says."""
    parser = argparse.ArgumentParser(prog="python -m local", description=__doc__)
    parser.add_argument("command", choices=["serve", "up", "down", "status", "demo"])
    parser.add_argument("--port", default=os.environ.get("PORT"))
    parser.add_argument("--state", default=os.environ.get("STATE") or ".unsay")
    parser.add_argument("--file", default=os.environ.get("FILE"), help="conversation for the demo (JSONL)")
    arguments = parser.parse_args(argv)
    if arguments.command == "demo":
        return _demo(arguments)
    place = _place(arguments)
    if arguments.command == "serve":
        from local.server import serve

        serve(place)
        return 0
    from local import lifecycle

    return int(getattr(lifecycle, arguments.command)(place))


if __name__ == "__main__":
    sys.exit(main())
