"""Lists of labels as one string and back: `/` between them, and `%2F` and `%25` for what is inside one."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NOT_AN_ESCAPE = re.compile(r"%(?!2F|25)")


def joined(labels: Iterable[str]) -> str:
    """The string of these labels; no other list has it, if none of them is empty."""
    return "/".join(label.replace("%", "%25").replace("/", "%2F") for label in labels)


def parted(text: str) -> list[str]:
    """The labels of a string; raises `ValueError` for a `%` that starts no escape."""
    if _NOT_AN_ESCAPE.search(text):
        raise ValueError("% starts %2F (a slash) or %25 (a percent sign)")
    return [part.replace("%2F", "/").replace("%25", "%") for part in text.split("/")]
