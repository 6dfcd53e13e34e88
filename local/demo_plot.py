"""What a demo asks and corrects: made from what was said, whatever that was."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unsay_core.retrieval.lexicon import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from local.transcript import Turn

_QUESTION_WORDS = 5
# A longer word is hardly one, and behind the word "key" it would look like a credential.
_LONGEST_WORD = 19
_LONGEST_QUESTION = 2_000  # characters, as the service takes
_LONGEST_GIST = 100
# The conversation that comes with the product gets a question and a correction a person would write.
_WRITTEN = {
    "My brother Tomas lives above the shop, on the Kraanlei.": (
        "Where does my brother live?",
        "My brother Tomas lives in Antwerp now.",
    )
}


@dataclass(frozen=True, slots=True)
class Plot:
    """The turn to be recalled, the question that must find it, and what it is corrected to.

    `next_question` must find the correction. `is_telling` is False where no turn has a word of its own:
    then the question may as well find another one, and that one is corrected.
    """

    turn: Turn
    question: str
    correction: str
    next_question: str
    is_telling: bool = True


def plot(turns: Sequence[Turn]) -> Plot:
    """The plot for a conversation of at least one turn.

    Of turns without a written plot, the one with most words of its own is asked for, by its rarest words.
    """
    for turn in turns:
        if turn.content in _WRITTEN:
            question, correction = _WRITTEN[turn.content]
            return Plot(turn, question, correction, question)
    spoken_in = Counter(word for turn in turns for word in set(words(turn.content)))
    turn = max(turns, key=lambda turn: _own_words(turn, spoken_in))
    question = _rarest_words(turn, spoken_in) or turn.content[:_LONGEST_QUESTION]
    gist = " ".join(question.split()[:_QUESTION_WORDS])[:_LONGEST_GIST]
    return Plot(
        turn,
        question,
        correction=f"As of today this is different: {gist}",
        next_question=f"{gist}: different as of today?",
        is_telling=_own_words(turn, spoken_in) > 0,
    )


def _own_words(turn: Turn, spoken_in: Counter[str]) -> int:
    """How many words nobody else said, up to as many as a question takes."""
    own = sum(times == 1 for times in _rarity(turn, spoken_in).values())
    return min(own, _QUESTION_WORDS)


def _rarest_words(turn: Turn, spoken_in: Counter[str]) -> str:
    """The rarest words of a turn, in their order."""
    rarity = _rarity(turn, spoken_in)
    rarest = set(sorted(rarity, key=lambda word: (rarity[word], -len(word)))[:_QUESTION_WORDS])
    return " ".join(word for word in rarity if word in rarest)


def _rarity(turn: Turn, spoken_in: Counter[str]) -> dict[str, int]:
    """Word → in how many turns the rarest part of it was said; a script without spaces has long words.

    Left out is what says little: such a word counts when it stands alone, and not in its turn.
    """
    said = dict.fromkeys(re.findall(r"[^\W_]+", turn.content))
    parts = {word: words(word) for word in said if len(word) <= _LONGEST_WORD}
    rarity = {word: min((spoken_in[part] for part in found), default=0) for word, found in parts.items()}
    return {word: times for word, times in rarity.items() if times}
