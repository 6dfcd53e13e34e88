"""What of a message are the user's own words: not what we injected, not code, not what they quote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEMORY_ID = r"\bmem_[0-7][0-9a-hjkmnp-tv-z]{25}\b"
# Stretches that are not spoken; one that is never closed goes on to the end.
_FOREIGN = re.compile(
    r"<(?P<tag>[\w:.-]*memor(?:y|ies)[\w:.-]*)(?:\s[^>]*)?>.*?(?:</(?P=tag)\s*>|\Z)"  # an injected block
    r"|(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)"  # code
    r"|^[ \t]*>[^\n]*$"  # somebody else's words, as mail quotes them
    rf"|^[^\n]*{_MEMORY_ID}[^\n]*$"  # a line of a memory list
    r"|^[ \t]*\|[^\n]*\|[ \t]*$",  # a row of a table
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)


def spoken(text: str) -> Iterator[str]:
    """The stretches of a message that are the speaker's own, in order."""
    at = 0
    for match in _FOREIGN.finditer(text):
        yield from _shown(text[at : match.start()])
        at = match.end()
    yield from _shown(text[at:])


def _shown(stretch: str) -> Iterator[str]:
    if stretch.strip():
        yield stretch.strip()
