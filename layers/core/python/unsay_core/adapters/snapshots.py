"""Lambda's snapshots of an initialised function (SnapStart): what must not be in one, or outlive it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

HOOKS = "snapshot_restore_py"  # Lambda's own runtime brings it; elsewhere nothing takes snapshots


def around_snapshots(forget: Callable[[], None]) -> None:
    """Have something forgotten before a snapshot is taken, and again where one was restored."""
    if find_spec(HOOKS) is None:
        return
    hooks = import_module(HOOKS)
    hooks.register_before_snapshot(forget)
    hooks.register_after_restore(forget)
