"""Everything we change in the emulator, and the check that what we change is still there.

The emulator is a library with a moving inside. A changed or missing name must stop the start, never turn
into a policy that is not enforced.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

VERSION = "1.5.33"

# Each has `PATCHES`, the names it relies on by module, and `install()`. The order matters: what others
# register with comes first.
MODULES = (
    "local.iam_variables",
    "local.iam_leading_keys",
    "local.iam_resources",
    "local.gateway_iam",
    "local.fault_gate",
    "local.metrics",
    "local.xray",
    "local.lambda_worker",
    "local.persistence",
    "local.snapshots",
    "local.event_sources",
    "local.cfn_secret",
    "local.cfn_bucket",
    "local.s3vectors",
    "local.knowledge_base",
    "local.titan",
    "local.converse",
    "local.nova",
    "local.cfn_types",
)


class ExtensionError(RuntimeError):
    """The installed emulator is not the one we extend; the message names what is gone."""


def check(modules: list[Any]) -> None:
    """Refuse an emulator of another version or without a name we patch. Raises ExtensionError."""
    found = importlib.metadata.version("ministack")
    if found != VERSION:
        raise ExtensionError(f"ministack {found} is installed; the local cloud extends {VERSION}")
    wanted = [
        (owner, name)
        for module in modules
        for owner, names in getattr(module, "PATCHES", {}).items()
        for name in names
    ]
    gone = sorted({f"{owner}.{name}" for owner, name in wanted if not _has(owner, name)})
    if gone:
        raise ExtensionError(f"ministack {found} has lost what the local cloud patches: {', '.join(gone)}")


def _has(owner: str, name: str) -> bool:
    try:
        return hasattr(importlib.import_module(owner), name)
    except ModuleNotFoundError:
        return False


def install() -> None:
    """Check, then extend the emulator in this process. Its environment must be set before."""
    try:
        modules = [importlib.import_module(name) for name in MODULES]
    except (AttributeError, ImportError) as error:
        if "ministack" not in str(error):
            raise
        raise ExtensionError(f"ministack has lost what the local cloud patches: {error}") from error
    check(modules)
    for module in modules:
        if hasattr(module, "install"):
            module.install()
