"""What a model's answer says, whatever it is wrapped in; nothing is guessed, and nothing is lost silently."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unsay_core.application.asking import STANCES
from unsay_core.application.model import Stop, UnusableReplyError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unsay_core.application.model import Answer

MOST_FACTS = 100  # of one answer: a model that finds more in a few turns is rambling


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


@dataclass(frozen=True, slots=True)
class Proposal:
    """One fact as the model put it; nothing of it is believed yet."""

    message: int
    quote: str
    content: str
    stance: str
    kind: str | None = None
    key: str | None = None
    to_agent: bool = False
    valid_from: str | None = None
    valid_to: str | None = None
    importance: float | None = None
    known: int | None = None
    relation: str | None = None


class TruncatedError(UnusableReplyError):
    """The answer was cut off: asking about less at once may help."""


@dataclass(frozen=True, slots=True)
class Proposals:
    """What a model proposed, and how many of its proposals have no usable form."""

    facts: tuple[Proposal, ...]
    malformed: int


def read_reply(answer: Answer) -> Proposals:
    """The proposals of an answer; raises `UnusableReplyError` if there is no list of facts in it."""
    if answer.stop is Stop.TRUNCATED:
        raise TruncatedError("truncated")
    # An empty list may stand before the one that was meant, and never hides it.
    listed = max(_lists(answer), key=bool, default=None)
    if listed is None:
        raise UnusableReplyError("refused" if answer.stop is Stop.REFUSED else "no_facts_in_reply")
    if len(listed) > MOST_FACTS:
        raise TruncatedError("too_many_facts")
    parsed = [_proposal(item) for item in listed]
    return Proposals(tuple(p for p in parsed if p), parsed.count(None))


def _lists(answer: Answer) -> Iterator[list[Any]]:
    """Every list of facts: in the tool's input, as it should be, or in what was written instead of it."""
    candidates = [answer.tool_input, *_objects(answer.tool_input)]
    for value in (*candidates, *(found for text in answer.texts for found in _objects(text))):
        facts = value.get("facts") if isinstance(value, dict) else _bare(value)
        if isinstance(facts, str):
            facts = next((found for found in _objects(facts) if isinstance(found, list)), None)
        if isinstance(facts, list):
            yield facts


def _bare(value: Any) -> list[Any] | None:
    """A list of facts that stands alone, without a name for it."""
    items = value if isinstance(value, list) else []
    return items if items and all(isinstance(item, dict) and "quote" in item for item in items) else None


def _objects(text: Any) -> Iterator[Any]:
    """Every JSON object or list that a text holds, outermost first: fences and chatter are skipped."""
    at = 0
    while isinstance(text, str) and (at := _next_bracket(text, at)) >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        yield value
        at = end


def _next_bracket(text: str, at: int) -> int:
    found = [place for place in (text.find("{", at), text.find("[", at)) if place >= 0]
    return min(found, default=-1)


def _proposal(item: Any) -> Proposal | None:
    """One fact, or None if it lacks what a fact needs; what else is of a wrong type is left out."""
    if not isinstance(item, dict):
        return None
    message, quote, content = _number(item.get("message")), item.get("quote"), item.get("content")
    stance = item.get("stance")
    if message is None or not isinstance(quote, str) or not isinstance(content, str) or stance not in STANCES:
        return None
    return Proposal(
        message=message,
        quote=quote,
        content=content,
        stance=stance,
        kind=_text(item.get("kind")),
        key=_text(item.get("key")),
        to_agent=item.get("to_agent") is True or item.get("to_agent") == "true",
        valid_from=_text(item.get("valid_from")),
        valid_to=_text(item.get("valid_to")),
        importance=_share(item.get("importance")),
        known=_number(item.get("known")),
        relation=_text(item.get("relation")),
    )


def _number(value: Any) -> int | None:
    """A whole number, also one that came as text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 9:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _share(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= 1 else None
