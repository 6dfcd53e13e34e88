"""What `make quality` measures by: the dialogues fit together, and the measures count what they say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.quality.conversations import Conversation, Correction, Question, locomo, ours
from tests.quality.measures import Answers

if TYPE_CHECKING:
    from pathlib import Path

OURS = list(ours())


@pytest.mark.parametrize("conversation", OURS, ids=[each.name for each in OURS])
def test_each_answer_is_a_turn_that_stands(conversation: Conversation) -> None:
    said = {turn.id for turn in conversation.turns}
    replaced = {correction.turn for correction in conversation.corrections}
    standing = (said - replaced) | {correction.id for correction in conversation.corrections}
    assert replaced
    assert replaced <= said
    assert all(question.answers <= standing for question in conversation.questions)
    assert {bool(question.answers) for question in conversation.questions} == {True, False}


def test_the_evidence_of_a_file_is_read_however_it_is_written(tmp_path: Path) -> None:
    turns = [{"dia_id": f"D2:{n}", "speaker": "Ann", "text": f"Tea {n}."} for n in (1, 2, 3)]
    turns[1]["blip_caption"] = "a cup"
    asked = [
        {"question": "Which?", "evidence": ["D2:1; D:2:03", "D9:9"]},
        {"question": "What was never said?", "evidence": []},
    ]
    said = {"session_2": turns, "session_2_date_time": "1:56 pm on  8 May, 2023"}
    path = tmp_path / "sample.json"
    path.write_text(json.dumps([{"sample_id": "s", "conversation": said, "qa": asked}]))
    (found,) = locomo(path)
    assert [turn.content for turn in found.turns][1] == "[8 May 2023] Ann: Tea 2. [shared photo: a cup]"
    assert (found.turns[0].run, found.turns[0].seq, found.turns[0].at) == (
        "s-s2",
        0,
        "2023-05-08T13:56:00+00:00",
    )
    assert found.questions == (Question("Which?", frozenset({"D2:1", "D2:3"})),)


class Said:
    """A conversation that was told, with answers that are known."""

    def __init__(self, **answers: list[tuple[str, float]]) -> None:
        self._answers = answers

    def ask(self, question: str) -> list[tuple[str, float]]:
        return self._answers[question]


def test_the_measures_count_what_they_say() -> None:
    both, one, none = (
        Question(name, frozenset(a)) for name, a in (("both", "ab"), ("one", "c"), ("none", ""))
    )
    conversation = Conversation("x", (), (both, one, none), (Correction("old", "New.", "changed"),))
    fillers = [(f"f{n}", 0.3) for n in range(5)]
    told = Said(both=[("old", 0.9), ("b", 0.8)], one=[*fillers, ("c", 0.2)], none=[("a", 0.5)])
    found = Answers.together([Answers.of(conversation, told)])  # type: ignore[arg-type]
    assert found.figures() == {
        "questions": 2,
        "recall@5": 0.25,
        "recall@10": 0.75,
        "mrr": round((1 / 2 + 1 / 6) / 2, 4),
        "without an answer": 1,
        "told apart": 0.5,
        "replaced shown": 1,
    }
