"""What is asked of recall: conversations, turn by turn, and questions with the turns that answer them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = Path(__file__).parent / "dialogues"
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_DATE = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said: `seq` is its place in the conversation `run`."""

    id: str
    content: str
    run: str
    seq: int
    at: str


@dataclass(frozen=True, slots=True)
class Correction:
    """What replaces a turn later; it is known by the turn's id with an apostrophe."""

    turn: str
    content: str
    because: str

    @property
    def id(self) -> str:
        """The id by which questions name the new memory."""
        return f"{self.turn}'"


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the turns that answer it; none answers what was never said."""

    text: str
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that two people said to each other, in one scope."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    corrections: tuple[Correction, ...] = ()


def ours() -> Iterator[Conversation]:
    """The dialogues of this repository: one file for each language."""
    for path in sorted(OURS.glob("*.json")):
        yield _ours(path.stem, json.loads(path.read_text("utf-8")))


def _ours(name: str, found: dict[str, Any]) -> Conversation:
    turns = [
        Turn(f"{number}:{seq}", f"[{session['at'][:10]}] {said}", f"{name}-{number}", seq, session["at"])
        for number, session in enumerate(found["sessions"], 1)
        for seq, said in enumerate(session["turns"], 1)
    ]
    questions = [Question(asked, frozenset(answers)) for asked, answers in found["questions"].items()]
    corrections = [Correction(**each) for each in found["corrections"]]
    return Conversation(name, tuple(turns), tuple(questions), tuple(corrections))


def locomo(path: Path) -> Iterator[Conversation]:
    """The conversations of a file in the form of LoCoMo (Maharana et al., ACL 2024).

    Its licence does not allow to ship it. Questions without evidence are left out.
    """
    for sample in json.loads(path.read_text("utf-8")):
        turns = tuple(_turns(sample["sample_id"], sample["conversation"]))
        known = {turn.id for turn in turns}
        asked = [
            Question(str(each["question"]), _evidence(each.get("evidence", []), known))
            for each in sample["qa"]
        ]
        yield Conversation(sample["sample_id"], turns, tuple(q for q in asked if q.answers))


def _turns(name: str, conversation: dict[str, Any]) -> Iterator[Turn]:
    numbers = sorted(int(found[1]) for key in conversation if (found := _SESSION.fullmatch(key)))
    for number in numbers:
        said_at = conversation[f"session_{number}_date_time"].strip()
        at = datetime.strptime(re.sub(r"\s+", " ", said_at), _DATE).replace(tzinfo=UTC)
        for seq, turn in enumerate(conversation[f"session_{number}"]):
            photo = f" [shared photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            content = f"[{at:%-d %B %Y}] {turn['speaker']}: {turn['text']}{photo}"
            yield Turn(turn["dia_id"], content, f"{name}-s{number}", seq, at.isoformat())


def _evidence(named: list[str], known: set[str]) -> frozenset[str]:
    """The turns that evidence names, however it is written (`D3:4; D:5:06`)."""
    found = {f"D{int(session)}:{int(turn)}" for text in named for session, turn in _EVIDENCE.findall(text)}
    return frozenset(found & known)
