"""What the mcp λ is told by the context."""

from __future__ import annotations

from typing import Any

_FLAGS = {True: "true", False: "false", "true": "true", "false": "false", None: "false"}


def read_only_setting(context: Any) -> str:
    """The setting for the context `mcp_read_only`. Raises `ValueError` for what is neither true nor false."""
    if not isinstance(context, bool | str | None) or context not in _FLAGS:
        raise ValueError("mcp_read_only is true or false")
    return _FLAGS[context]
