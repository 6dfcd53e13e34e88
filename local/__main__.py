"""`python -m local serve|up|down|status`: the local cloud from the command line."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from local.place import Place


def _place(arguments: argparse.Namespace) -> Place:
    return Place(int(arguments.port), Path(arguments.state).resolve())


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit code is 0 when it did what it says."""
    parser = argparse.ArgumentParser(prog="python -m local", description=__doc__)
    parser.add_argument("command", choices=["serve", "up", "down", "status"])
    parser.add_argument("--port", default=os.environ.get("PORT") or "4566")
    parser.add_argument("--state", default=os.environ.get("STATE") or ".unsay")
    arguments = parser.parse_args(argv)
    place = _place(arguments)
    if arguments.command == "serve":
        from local.server import serve

        serve(place)
        return 0
    from local import lifecycle

    return int(getattr(lifecycle, arguments.command)(place))


if __name__ == "__main__":
    sys.exit(main())
