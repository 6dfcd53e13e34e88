"""What is counted of the answers to one conversation's questions."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.quality.conversations import Conversation
    from tests.quality.product import Told


@dataclass
class Answers:
    """The answers to some questions: what was found of each, and the best scores with and without an answer.

    `stale` counts questions whose answer shows what was replaced.
    """

    at_5: list[float] = field(default_factory=list)
    at_10: list[float] = field(default_factory=list)
    ranks: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    unanswerable: list[float] = field(default_factory=list)
    stale: int = 0

    @classmethod
    def of(cls, conversation: Conversation, told: Told) -> Answers:
        """Ask everything."""
        found = cls()
        replaced = {correction.turn for correction in conversation.corrections}
        for question in conversation.questions:
            items = told.ask(question.text)
            turns = list(dict.fromkeys(turn for turn, _ in items))
            found.stale += not replaced.isdisjoint(turns)
            best = max((score for _, score in items), default=0.0)
            if question.answers:
                found._answered(turns, question.answers, best)
            else:
                found.unanswerable.append(best)
        return found

    @classmethod
    def together(cls, several: Iterable[Answers]) -> Answers:
        """Every question of several conversations, counted alike."""
        found = cls()
        for each in several:
            found.at_5 += each.at_5
            found.at_10 += each.at_10
            found.ranks += each.ranks
            found.answered += each.answered
            found.unanswerable += each.unanswerable
            found.stale += each.stale
        return found

    def figures(self) -> dict[str, float | int | None]:
        """Means over the questions, and counts.

        Recall at 5 and at 10 is the share of a question's turns among the first so many; `mrr` is one over
        the rank of the first. `told apart` is how often the best score of a question with an answer beats
        that of one without.
        """
        pairs = list(product(self.answered, self.unanswerable))
        won = [1.0 if with_one > without else 0.5 * (with_one == without) for with_one, without in pairs]
        return {
            "questions": len(self.at_10),
            "recall@5": round(fmean(self.at_5), 4),
            "recall@10": round(fmean(self.at_10), 4),
            "mrr": round(fmean(self.ranks), 4),
            "without an answer": len(self.unanswerable),
            "told apart": round(fmean(won), 4) if won else None,
            "replaced shown": self.stale,
        }

    def _answered(self, turns: Sequence[str], wanted: frozenset[str], best: float) -> None:
        self.at_5.append(len(wanted.intersection(turns[:5])) / len(wanted))
        self.at_10.append(len(wanted.intersection(turns[:10])) / len(wanted))
        ranks = (1 / rank for rank, turn in enumerate(turns, 1) if turn in wanted)
        self.ranks.append(next(ranks, 0.0))
        self.answered.append(best)
