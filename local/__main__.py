"""`python -m local serve|up|down|status|demo`: the local cloud from the command line."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from local.deploy import CDK_OUT
from local.place import Place

_PORT = 4566


def _port(text: str) -> int | None:
    """A port to listen on; none given is None."""
    if text and not (text.isascii() and text.isdigit() and 0 < int(text) < 65_536):
        raise argparse.ArgumentTypeError("a port is a whole number from 1 to 65535")
    return int(text) if text else None


def _folder(text: str) -> Path:
    """A folder that is there or can be made."""
    path = Path(text).resolve()
    if path.exists() and not path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} is not a folder")
    return path


def _demo(arguments: argparse.Namespace) -> int:
    from local.demo import demo

    return demo(Path(arguments.file) if arguments.file else None, arguments.port)


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit code is 0 when it did what it says."""
    parser = argparse.ArgumentParser(prog="python -m local", description=__doc__)
    parser.add_argument("command", choices=["serve", "up", "down", "status", "demo"])
    parser.add_argument("--port", type=_port, default=os.environ.get("PORT"))
    parser.add_argument("--state", type=_folder, default=os.environ.get("STATE") or ".unsay")
    parser.add_argument("--app", type=_folder, default=CDK_OUT, help="another synthesized app to bring up")
    parser.add_argument("--file", default=os.environ.get("FILE"), help="conversation for the demo (JSONL)")
    arguments = parser.parse_args(argv)
    if arguments.command == "demo":
        return _demo(arguments)
    place = Place(arguments.port or _PORT, arguments.state)
    if arguments.command == "serve":
        from local.server import serve

        serve(place)
        return 0
    from local import lifecycle

    if arguments.command == "up":
        return lifecycle.up(place, arguments.app)
    return int(getattr(lifecycle, arguments.command)(place))


if __name__ == "__main__":
    sys.exit(main())
