"""A rule in the place of a model: a declarative sentence in the first person is a fact, word for word.

What is only supposed, and what somebody else says, it reports as that. It finds nothing else, and knows no
language but English. It serves where there is no model.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from unsay_core.application.model import Answer, Stop
from unsay_core.application.sentences import is_question, sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unsay_core.application.model import Question

_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur)\b")
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]")
_SUPPOSED = re.compile(
    r"\b(?:if|unless|suppose|supposing|imagine|assuming|whether|perhaps|maybe)\s+(?:I|we|my|our)\b"
    r"|\b(?:I|we)\s+(?:never\s+|probably\s+)?(?:would|might|could)\b(?!\s+(?:like|prefer|rather)\b)"
    r"|\b(?:I|we)['’]d\b(?!\s+(?:like|prefer|rather|better|been|had)\b)"
    r"|\b(?:I|we)\s+wish\b|\bhad\s+(?:I|we)\b|\bwere\s+(?:I|we)\b|\bif\s+only\b",
    re.IGNORECASE,
)
_SAYING = (
    r"(?:say|think|claim|believe|insist|suspect|write|report|suggest|swear)s?"
    r"|said|thought|told|tells|wrote|swore|(?:claim|believ|insist|suspect|report|suggest)ed"
)
_OTHERS = re.compile(
    r"^\W*(?:according\s+to\b"
    r"|(?:(?:he|she|they|people|everybody|everyone|somebody|someone|the\s+\w+)"
    r"|(?:my|our)\s+(?:\w+\s+){1,3}?|(?!(?:I|We|You)\b)[^\W\d_]\w+(?:\s+(?-i:[A-Z])\w+)?)"
    rf"\s*\b(?:{_SAYING})\b)",
    re.IGNORECASE,
)


class RuleModel:
    """See `Model`."""

    name = "local-rule-extractor/2"

    def ask(self, question: Question) -> Answer:
        """What the rule finds; nothing can go wrong."""
        return Answer(Stop.DONE, {"facts": facts(question.text)}, (), self.name, 0)


def facts(question: str) -> list[dict[str, Any]]:
    """What the rule finds in a question's messages."""
    return [
        {"message": line["n"], "quote": said, "content": said, "stance": stance, "kind": "semantic"}
        for line in _lines(question)
        if line.get("role") == "user" and not line.get("context")
        for said, stance in _statements(str(line.get("text", "")))
    ]


def _statements(text: str) -> Iterator[tuple[str, str]]:
    """The sentences in the first person, and how they are meant; a quotation may be several of them."""
    own = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), text)
    for start, end in sentences(text):
        said = own[start:end]
        if _FIRST_PERSON.search(said) and not is_question(text[start:end]):
            yield text[start:end], _stance(said)


def _stance(said: str) -> str:
    if _OTHERS.search(said):
        return "reported"
    return "hypothetical" if _SUPPOSED.search(said) else "stated"


def _lines(question: str) -> Iterator[dict[str, Any]]:
    for line in question.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and isinstance(value.get("n"), int):
            yield value
