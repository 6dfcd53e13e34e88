"""The store of a person who named no service: a file of theirs, or of the folder they are in."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import quote

import typer

OF_A_FOLDER = Path(".unsay") / "memory.db"


def default_store() -> str:
    """`./.unsay/memory.db` if it is there, else `memory.db` among the user's data."""
    if OF_A_FOLDER.exists():
        return _url(OF_A_FOLDER.absolute())
    folder = data_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return _url(folder / "memory.db")


def data_folder() -> Path:
    """Where programs keep what is the user's own."""
    if sys.platform in ("darwin", "win32"):
        return Path(typer.get_app_dir("unsay"))
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "unsay"


def _url(path: Path) -> str:
    return f"sqlite:///{quote(str(path))}"
