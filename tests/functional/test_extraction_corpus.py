"""Thirty transcripts, each under sixty replies of a model.

Whatever the reply looks like, exactly the memories come of it that the transcript has, word for word; what
has to wait waits, with its reason; what else the reply says is dropped, and counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from tests.support.erasing import Eraser
from tests.support.extraction import AWAY, Reply, Talk, drain, fact, said, wrote
from tests.support.fakes import FakeService
from tests.support.http import Caller
from tests.support.transcripts import TRANSCRIPTS, Transcript
from unsay_core.application.model import Answer, ModelUnavailableError, Stop

HEARD = 2  # the user's message, behind the assistant's
OTHER_SCRIPT = "მე ვცხოვრობ აქ"  # which nobody here writes
KEY = "AKIAIOSFODNN7EXAMPLE"
Facts = list[dict[str, Any]]


@dataclass(frozen=True)
class Shape:
    """The replies, one after the other, and what differs from all facts being believed.

    `drops` counts what is dropped, `each` why every fact is; `fate` is what becomes of them, `reason` why
    they wait. `spent` replies could not be used.
    """

    replies: Callable[[Transcript], list[Reply]]
    drops: dict[str, int] = field(default_factory=dict)
    each: str | None = None
    fate: Literal["believed", "wait", "nothing"] = "believed"
    reason: str | None = None
    traps: bool = False
    spent: int = 0


def facts_of(t: Transcript) -> Facts:
    return [fact(HEARD, sentence) for sentence in (*t.states, *(each for each, _ in t.waits))]


def text_of(t: Transcript) -> str:
    return json.dumps({"facts": facts_of(t)}, ensure_ascii=False)


def tool(value: Any) -> Answer:
    return Answer(Stop.DONE, value, (), "scripted", 100)


def told(**changed: Any) -> Callable[[Transcript], list[Reply]]:
    """All facts, with some fields as given; a function is told the fact."""
    return lambda t: [
        said(*({**f, **{k: v(f) if callable(v) else v for k, v in changed.items()}} for f in facts_of(t)))
    ]


def beside(**other: Any) -> Callable[[Transcript], list[Reply]]:
    """All facts, and one more, made of the first."""
    return lambda t: [
        said(*facts_of(t), {**facts_of(t)[0], **{k: v(t) if callable(v) else v for k, v in other.items()}})
    ]


def after(*bad: Reply) -> Callable[[Transcript], list[Reply]]:
    return lambda t: [*bad, said(*facts_of(t))]


def words(form: str, stop: Stop = Stop.DONE) -> Callable[[Transcript], list[Reply]]:
    return lambda t: [wrote(form.replace("§", text_of(t)), stop)]


def first_word(t: Transcript) -> str:
    return t.states[0].split()[0]


MALFORMED = fact(HEARD, "x") | {"quote": 7}
SHAPES: dict[str, Shape] = {
    # ---- how it is wrapped
    "by the tool": Shape(lambda t: [said(*facts_of(t))]),
    "in a fence": Shape(words("```json\n§\n```")),
    "in a fence without a name": Shape(words("```\n§\n```")),
    "bare": Shape(words("§")),
    "chatter before": Shape(words("Sure! Here it is: §")),
    "chatter behind": Shape(words("§ Anything else?")),
    "chatter with braces": Shape(words("Here {you} [are]: § {end}")),
    "an object before it": Shape(words('{"thinking": "hm"} §')),
    "the list as text": Shape(lambda t: [tool({"facts": json.dumps(facts_of(t))})]),
    "all of it as text": Shape(lambda t: [tool(text_of(t))]),
    "within more": Shape(lambda t: [tool({"facts": facts_of(t), "note": "done"})]),
    "refused, but there": Shape(words("§", Stop.REFUSED)),
    # ---- the types of its fields
    "numbers as text": Shape(told(message=str(HEARD))),
    "numbers with a point": Shape(told(message=float(HEARD))),
    "fields nobody asked for": Shape(told(mood="happy", message_id=9)),
    "nulls": Shape(told(kind=None, key=None, valid_from=None, known=None, importance=None)),
    "wrong types where none is needed": Shape(told(kind=3, key=[], valid_from=4, known="x", relation={})),
    "importance beyond one": Shape(told(importance=7)),
    "importance as text": Shape(told(importance="high")),
    "no such kind": Shape(told(kind="secret")),
    "an event": Shape(told(kind="episodic")),
    "a preference": Shape(told(kind="procedural")),
    "no such relation": Shape(told(relation="hates", known=1)),
    "a memory nobody knows": Shape(told(known=99, relation="replaces")),
    "a key with blanks in it": Shape(told(key=lambda f: f"The Key {facts_hash(f)}")),
    "a key that is none": Shape(told(key="ключ!")),
    # ---- replies that cannot be used, and the next one
    "cut off": Shape(lambda t: [wrote(text_of(t)[:20]), said(*facts_of(t))], spent=1),
    "neither tool nor text, twice": Shape(after(tool(None), tool({})), spent=2),
    "refused": Shape(after(wrote("I cannot.", Stop.REFUSED)), spent=1),
    "silent": Shape(after(wrote("")), spent=1),
    "prose": Shape(after(wrote("The user lives somewhere.")), spent=1),
    "another tool's input": Shape(after(tool({"answer": 42})), spent=1),
    "a list of text": Shape(after(tool({"facts": ["I live"]})), spent=1),
    "no list": Shape(after(tool({"facts": 3})), spent=1),
    "no such stance": Shape(after(said(fact(HEARD, "x") | {"stance": "sure"})), spent=1),
    "a part without form": Shape(lambda t: [said(*facts_of(t), MALFORMED), said(*facts_of(t))], spent=1),
    "a part without form for ever": Shape(
        lambda t: [said(*facts_of(t), MALFORMED)] * 3, drops={"malformed": 1}, spent=2
    ),
    "lists within lists": Shape(lambda t: [tool({"facts": [facts_of(t)]}), said(*facts_of(t))], spent=1),
    "throttled": Shape(after(AWAY, AWAY)),
    "too slow": Shape(after(ModelUnavailableError("model_timeout"))),
    # ---- what it says
    "nothing found": Shape(lambda t: [said()], {"nothing_found": 1}, fate="nothing"),
    "an invention": Shape(
        beside(quote="Qwerty owns a yacht.", content="Qwerty owns a yacht."), {"quote_not_found": 1}
    ),
    "part of a word": Shape(
        beside(quote=lambda t: f"x{first_word(t)}x", content="x"), {"quote_not_found": 1}
    ),
    "a quote without a word": Shape(beside(quote="."), {"quote_not_found": 1}),
    "a quote too long": Shape(beside(quote="x" * 1_001), {"quote_not_found": 1}),
    "other white space": Shape(told(quote=lambda f: "  " + f["quote"].replace(" ", "\n  ") + " ")),
    "no message of that number": Shape(beside(message=7), {"unknown_message": 1}),
    "message nought": Shape(beside(message=0), {"unknown_message": 1}),
    "of the assistant": Shape(told(message=1), each="not_the_user", fate="nothing"),
    "twice": Shape(lambda t: [said(*facts_of(t), *facts_of(t))], each="duplicate"),
    "asked": Shape(told(stance="asked"), each="question", fate="nothing"),
    "supposed": Shape(told(stance="hypothetical"), each="hypothetical", fate="nothing"),
    "said by others": Shape(told(stance="reported"), each="reported", fate="nothing"),
    "denied": Shape(told(stance="negated"), each="negated", fate="nothing"),
    "falling for the traps": Shape(
        lambda t: [said(*facts_of(t), *(fact(HEARD, trap) for trap, _ in t.traps))], traps=True
    ),
    "empty": Shape(beside(content=" . "), {"empty": 1}),
    "too long": Shape(beside(content=lambda t: t.states[0] * 400), {"too_long": 1}),
    "a credential": Shape(beside(content=f"The key is {KEY}"), {"secret": 1}),
    "translated": Shape(told(content=OTHER_SCRIPT), each="language", fate="nothing"),
    "to an agent": Shape(told(to_agent=True), fate="wait", reason="addresses_agent"),
    "without a word of the quote": Shape(
        lambda t: [said(fact(HEARD, t.states[0], t.nonsense))], fate="wait", reason="weak_evidence"
    ),
    "a date that is none": Shape(told(valid_from="soon"), fate="wait", reason="unclear_date"),
    "from after to": Shape(
        told(valid_from="2025-05", valid_to="2024-05"), fate="wait", reason="unclear_date"
    ),
    "a year": Shape(told(valid_from="2020")),
}


def facts_hash(f: dict[str, Any]) -> int:
    return sum(f["quote"].encode())


def expected(t: Transcript, shape: Shape) -> tuple[list[str], dict[str, str], dict[str, int]]:
    """What is believed, what waits and why, and what is dropped."""
    drops = dict(shape.drops)
    count = len(facts_of(t))
    if shape.each:
        drops[shape.each] = drops.get(shape.each, 0) + count
    if shape.traps:
        for _, reason in t.traps:
            drops[reason] = drops.get(reason, 0) + 1
    if shape.fate == "nothing":
        return [], {}, drops
    if shape.reason == "weak_evidence":
        return [], {t.nonsense: "weak_evidence"}, drops
    if shape.fate == "wait":
        return [], dict.fromkeys((*t.states, *(each for each, _ in t.waits)), str(shape.reason)), drops
    return list(t.states), dict(t.waits), drops


def test_the_corpus_is_as_large_as_it_claims() -> None:
    assert len(TRANSCRIPTS) == len({t.name for t in TRANSCRIPTS}) >= 30
    assert len(SHAPES) >= 60


@pytest.mark.parametrize("name", SHAPES)
def test_the_same_memories_come_of_it_whatever_the_reply_looks_like(name: str) -> None:
    shape = SHAPES[name]
    service = FakeService()
    api = Caller(service)
    for number, transcript in enumerate(TRANSCRIPTS):
        scope = f"acme/{number}"
        talk = Talk(api, scope=scope)
        service.model.replies = shape.replies(transcript)
        talk.say(" ".join(transcript.states), role="assistant")
        talk.say(transcript.text, flush=True)
        drain(service)
        where = (name, transcript.name)
        (batch,) = talk.read()["batches"]
        believed, waiting, drops = expected(transcript, shape)
        listed = api.list(scope, limit=100)["items"]
        queue = api.reviews(scope)["items"]
        assert (batch["state"], batch["attempts"]) == ("done", shape.spent), where
        assert sorted(memory["content"] for memory in listed) == sorted(believed), where
        assert {item["content"]: shape.reason or item["review"]["reasons"][0] for item in queue} == waiting, (
            where
        )
        assert all(shape.reason in item["review"]["reasons"] for item in queue if shape.reason), where
        assert {each["reason"]: each["count"] for each in batch["dropped"]} == drops, where
        assert service.model.replies == [], where
        for memory in listed:
            quote = " ".join(memory["source"]["quote"].split())
            assert quote in " ".join(transcript.text.split()), where
            assert (memory["trust"], memory["source"]["message_seqs"]) == ("asserted", [2]), where


def test_every_memory_leads_to_its_message_and_goes_with_its_conversation() -> None:
    """The walk of the evidence: of all that was extracted, whatever it came from and however often."""
    service = FakeService()
    api = Caller(service)
    runs = {f"run-{number}": transcript for number, transcript in enumerate(TRANSCRIPTS)}
    for run_id, transcript in runs.items():
        for again in ("", "-again"):
            service.model.replies = [said(*(fact(HEARD, sentence) for sentence in transcript.states))]
            talk = Talk(api, f"{run_id}{again}")
            talk.say("Well?", role="assistant")
            talk.say(transcript.text, flush=True)
            drain(service)
    walked = 0
    for memory in api.list(limit=100)["items"]:
        for source in (memory["source"], *memory["corroborations"]):
            messages = {m["seq"]: m for m in Talk(api, source["run_id"]).read()["messages"]}
            (seq,) = source["message_seqs"]
            assert messages[seq]["role"] == "user"
            assert " ".join(source["quote"].split()) in " ".join(messages[seq]["content"].split())
            walked += 1
    stated = sum(len(transcript.states) for transcript in TRANSCRIPTS)
    assert walked >= 2 * stated - len(TRANSCRIPTS), "each fact was said twice"
    eraser = Eraser(service, api)
    for run_id in ("run-0", "run-0-again"):
        eraser.finish(eraser.forget(run_id=run_id))
    left = api.listed(limit=100)
    assert not set(left) & set(runs["run-0"].states)
    assert set(runs["run-1"].states) <= set(left), "the control"
