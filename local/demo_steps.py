"""The steps of a demo. Each shows what happens and asserts what it shows."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from rich.console import Console
from rich.text import Text

from local.transcript import Refusal, Transcript, Turn
from unsay import (
    BatchStateOut,
    ErasureOut,
    ForbiddenError,
    MemoryOut,
    MessageOut,
    NotFoundError,
    ProblemError,
    TombstonedError,
)
from unsay_core.domain.timeline import rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from local.demo_plot import Plot
    from unsay import Memory, RecallOut

P = ParamSpec("P")
R = TypeVar("R")

RUN_ID = "demo"
_PATIENCE_SECONDS = 300.0  # the index works through a long conversation in its own time
_POLL_SECONDS = 0.05
_SHOWN_ITEMS = 3
_SHOWN_CHARACTERS = 90
_SHOWN_REFUSALS = 50
_SERVER_ERROR = 500
_MOST_TURNS = 50  # in one request
_REQUEST_BYTES = 150_000


class NotHeldError(Exception):
    """Something the demo shows was not so; the message says what."""


def expect(held: bool, what: str) -> None:
    """Go on only if it held; raises `NotHeldError`."""
    if not held:
        raise NotHeldError(what)


class Stopwatch:
    """Makes calls and keeps how long each verb took."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def __call__(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The answer of a call; one that is refused is timed as well."""
        started = time.perf_counter()
        try:
            return call(*args, **kwargs)
        finally:
            self.seconds[call.__name__].append(time.perf_counter() - started)

    def medians(self) -> dict[str, tuple[int, float]]:
        """Verb → number of calls, median in seconds."""
        return {verb: (len(took), statistics.median(took)) for verb, took in self.seconds.items()}


class Show:
    """Writes what happens; memory text as one line, with nothing in it a terminal would obey."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def line(self, mark: str, style: str, text: str) -> None:
        """One line with a coloured mark."""
        self.console.print(Text.assemble((mark, style), " ", text), soft_wrap=True)

    def asks(self, verb: str, text: str) -> None:
        """What is asked of the service."""
        self.console.print(Text.assemble("\n", (f"{verb:<9}", "bold cyan"), one_line(text)), soft_wrap=True)

    def holds(self, text: str) -> None:
        """What was asserted and held."""
        self.line("✓", "green", text)

    def found(self, answer: RecallOut) -> None:
        """The best of what was recalled."""
        for item in answer.items[:_SHOWN_ITEMS]:
            text = f"{item.score:9.2f}  {one_line(item.memory.content)}"
            self.console.print(Text(text, style="dim"), soft_wrap=True)
        if len(answer.items) > _SHOWN_ITEMS:
            self.console.print(Text(f"           and {len(answer.items) - _SHOWN_ITEMS} more", style="dim"))
        if not answer.items:
            self.console.print(Text(f"           nothing ({', '.join(answer.reasons)})", style="dim"))

    def refusals(self, refused: Sequence[Refusal]) -> None:
        """Every line that could not be used, up to a screenful."""
        for refusal in refused[:_SHOWN_REFUSALS]:
            self.line("!", "yellow", f"line {refusal.line}: {refusal.why}")
        if len(refused) > _SHOWN_REFUSALS:
            self.line("!", "yellow", f"and {len(refused) - _SHOWN_REFUSALS} more lines")


def one_line(text: str) -> str:
    """The beginning of a text, on one line, without control characters."""
    printable = (c if c.isprintable() else " " for c in text[: 4 * _SHOWN_CHARACTERS])
    shown = " ".join("".join(printable).split())
    return shown if len(shown) <= _SHOWN_CHARACTERS else shown[: _SHOWN_CHARACTERS - 1] + "…"


@dataclass(slots=True)
class Stored:
    """What became of a conversation: its memories, and each again as a turn whose line is its place here."""

    memories: list[MemoryOut] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)

    @property
    def told(self) -> list[Turn]:
        """What is remembered, as if somebody said just that."""
        return [Turn(place, "user", memory.content) for place, memory in enumerate(self.memories)]


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps in the scope of one agent, with a second agent in a scope of its own to look on."""

    memory: Memory
    scope: str
    other: Memory
    elsewhere: str
    show: Show
    timed: Stopwatch

    def feed(self, transcript: Transcript) -> Stored:
        """Hand in the conversation, to be extracted; what the service refuses costs that turn alone."""
        stored = Stored()
        started = time.perf_counter()
        self.show.asks("converse", f"{len(transcript.turns)} turns, whoever speaks")
        handed = sum(self._hand_in(turns, stored) for turns in _requests(transcript.turns))
        self.show.refusals(stored.refused)
        expect(handed > 0, "at least one turn is stored")
        batches = self._extracted()
        stored.memories = self._remembered()
        created = sum(len(batch.created) for batch in batches)
        self._stands_on_evidence(stored.memories)
        refused = len(transcript.refused) + len(stored.refused)
        self.show.holds(
            f"{len(stored.memories)} memories, {created - len(stored.memories)} for a person to look at,"
            f" {sum(map(_said_again, batches))} said again, {refused} lines refused"
            f" in {time.perf_counter() - started:.1f} s"
        )
        if not stored.memories:
            self._remember_turns(transcript, stored)
        return stored

    def _hand_in(self, turns: Sequence[Turn], stored: Stored) -> int:
        """How many turns of a request are stored; one that is refused is sent turn by turn."""
        messages = [_message(turn) for turn in turns]
        try:
            self.timed(self.memory.converse, RUN_ID, messages, scope=self.scope)
        except ProblemError as error:
            if error.status >= _SERVER_ERROR:
                raise
            if len(turns) > 1:
                return sum(self._hand_in([turn], stored) for turn in turns)
            stored.refused.append(Refusal(turns[0].line, f"the service refused it: {error}"))
            return 0
        return len(turns)

    def _extracted(self) -> list[BatchStateOut]:
        """The batches, once none waits any more; each has to be done."""
        self.timed(self.memory.flush, RUN_ID, scope=self.scope)
        found: dict[str, BatchStateOut] = {}
        give_up = time.perf_counter() + _PATIENCE_SECONDS
        with self.show.console.status("waiting for the extraction …"):
            while True:
                talk = self.timed(self.memory.conversation, RUN_ID, scope=self.scope, limit=1)
                found |= {batch.id: batch for batch in talk.batches}
                if talk.extracted_through == talk.high_water or talk.failed:
                    break
                expect(time.perf_counter() < give_up, f"extraction ends within {_PATIENCE_SECONDS:.0f} s")
                time.sleep(_POLL_SECONDS)
        expect(not talk.failed, "every batch is done")
        return list(found.values())

    def _remembered(self) -> list[MemoryOut]:
        """Every memory of the conversation, oldest first."""
        found: list[MemoryOut] = []
        cursor = None
        while True:
            page = self.timed(
                self.memory.list, scope=self.scope, order="asc", limit=100, cursor=cursor, run_id=RUN_ID
            )
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                return found

    def _stands_on_evidence(self, memories: Sequence[MemoryOut]) -> None:
        """Each memory quotes a message of the user's, word for word."""
        said: dict[int, MessageOut] = {}
        cursor = None
        while True:
            talk = self.timed(self.memory.conversation, RUN_ID, scope=self.scope, cursor=cursor)
            said |= {message.seq: message for message in talk.messages}
            cursor = talk.next_cursor
            if cursor is None:
                break
        for memory in memories:
            message = said[memory.source.message_seqs[0]]
            expect(message.role == "user", "a memory comes from what the user said")
            quote = memory.source.quote or "?"
            expect(quote in message.content, "a memory quotes its message word for word")
        for message in said.values():
            if message.redacted:
                why = ", ".join(message.redacted)
                self.show.line("!", "yellow", f"line {message.seq}: stored without a {why}")

    def _remember_turns(self, transcript: Transcript, stored: Stored) -> None:
        """Without a model the local cloud finds sentences in the first person alone."""
        self.show.asks("remember", "the user's turns as they are: nobody says I, my, we or our")
        for turn in transcript.of("user"):
            try:
                memory = self.timed(
                    self.memory.remember,
                    turn.content,
                    scope=self.scope,
                    run_id=RUN_ID,
                    message_seqs=[turn.line],
                )
            except ProblemError as error:
                if error.status >= _SERVER_ERROR:
                    raise
                self.show.refusals([Refusal(turn.line, f"the service refused it: {error}")])
                continue
            if not memory.deduplicated:
                stored.memories.append(memory)
        expect(bool(stored.memories), "at least one turn is stored")
        self.show.holds(f"{len(stored.memories)} stored")

    def recalls(self, plot: Plot, stored: Stored) -> MemoryOut:
        """A recall finds what was said, at once; returns the memory that the next steps are about."""
        found = self._recall(plot.question)
        if plot.is_telling:
            target = stored.memories[plot.turn.line]
            line = target.source.message_seqs[0]
            expect(target.id in _ids(found), f"recall finds line {line}")
        else:
            known = {memory.id: memory for memory in stored.memories}
            expect(bool(found.items) and set(_ids(found)) <= set(known), "recall finds what was said")
            target = known[_ids(found)[0]]
        line = target.source.message_seqs[0]
        self.show.holds(f"line {line} of the conversation comes back, {_place(found, target)}")
        return target

    def corrects(self, plot: Plot, target: MemoryOut) -> MemoryOut:
        """A correction takes the place of what it corrects, in the next recall."""
        self.show.asks("correct", plot.correction)
        corrected = self.timed(self.memory.correct, target, plot.correction, because="changed")
        expect(corrected.supersedes == [target.id], "the correction names what it replaces")
        found = self._recall(plot.next_question)
        expect(corrected.id in _ids(found), "recall finds the correction")
        expect(target.id not in _ids(found), "recall no longer finds what was corrected")
        expect(target.content not in _texts(found), "recall no longer says what was corrected")
        self.show.holds(f"the correction comes back, {_place(found, corrected)}; what it replaced does not")
        return corrected

    def forgets(self, plot: Plot, corrected: MemoryOut, target: MemoryOut) -> None:
        """What is forgotten is gone from the next recall, and then from every store."""
        self.show.asks("forget", corrected.content)
        receipt = self.timed(self.memory.forget, corrected, reason="user_request")
        found = self._recall(plot.next_question)
        gone = {target.id, corrected.id}
        expect(gone.isdisjoint(_ids(found)), "recall finds nothing that was forgotten")
        expect({target.content, corrected.content}.isdisjoint(_texts(found)), "recall says nothing forgotten")
        expect(receipt.erased == len(gone), "the receipt counts the correction and what it replaced")
        self.show.holds("neither it nor what it replaced comes back")
        self._completes(receipt)
        self._refuses_again(target.content, corrected.content)

    def _completes(self, receipt: ErasureOut) -> None:
        started = time.perf_counter()
        with self.show.console.status("waiting for the receipt …"):
            while receipt.state == "pending" and time.perf_counter() - started < _PATIENCE_SECONDS:
                time.sleep(_POLL_SECONDS)
                receipt = self.timed(self.memory.erasure, receipt.id, scope=self.scope)
        expect(receipt.state == "complete", f"the receipt is complete within {_PATIENCE_SECONDS:.0f} s")
        states = {store.store: store.state for store in receipt.stores}
        cleaned = ("ledger", "document", "index")
        expect(all(states[store] == "absent" for store in cleaned), "every store reports it absent")
        self.show.holds(
            f"receipt {receipt.id}: complete after {time.perf_counter() - started:.1f} s, "
            + ", ".join(f"{store} {state}" for store, state in states.items())
        )

    def _refuses_again(self, *contents: str) -> None:
        for content in contents:
            try:
                self.timed(self.memory.remember, content, scope=self.scope)
            except TombstonedError as error:
                refusal = error
            else:
                raise NotHeldError("what was forgotten cannot be written again")
        self.show.holds(f"written again, both are refused: {refusal.status} {refusal.code}")

    def verifies_audit(self) -> None:
        """The audit chain of the scope holds, from its first entry to its head."""
        self.show.asks("verify", "the audit chain")
        start: int | None = 1
        while start is not None:
            walked = self.timed(self.memory.verify_audit, scope=self.scope, start=start)
            expect(walked.ok, f"the audit chain holds (first bad entry: {walked.first_bad})")
            start = walked.next
        expect(walked.complete, "the audit chain is walked to its end")
        self.show.holds(
            f"{walked.length} entries, each chained to the one before; head {walked.head.hash[:12]}…"
        )

    def keeps_apart(self, plot: Plot, stored: Stored) -> None:
        """A second scope has its own memory and nothing of the first's, in either direction."""
        self.show.asks("isolate", f"{self.elsewhere}, with a key of its own")
        own = self.timed(self.other.remember, "Only this is remembered here.", scope=self.elsewhere)
        for question in (own.content, plot.question, plot.turn.content[:500]):
            found = self.timed(self.other.recall, question, scope=self.elsewhere, limit=50)
            expect(set(_ids(found)) <= {own.id}, "the second scope recalls nothing of the first")
            expect(question != own.content or _ids(found) == [own.id], "the second scope recalls its own")
        listed = self.timed(self.other.list, scope=self.elsewhere)
        expect([memory.id for memory in listed.items] == [own.id], "the second scope lists its own alone")
        some = stored.memories[0]
        expect(
            _raises(NotFoundError, lambda: self.other.get(some.id, scope=self.elsewhere)), "404 across scopes"
        )
        expect(
            _raises(ForbiddenError, lambda: self.other.get(some)),
            "the second key is refused in the first scope",
        )
        self.show.holds("it recalls and lists its own memory and none of these; its key is refused here: 403")

    def _recall(self, question: str) -> RecallOut:
        self.show.asks("recall", question)
        found = self.timed(self.memory.recall, question, scope=self.scope)
        self.show.found(found)
        return found


def _said_again(batch: BatchStateOut) -> int:
    """What was known already, or said twice in one batch."""
    return len(batch.merged) + sum(each.count for each in batch.dropped if each.reason == "duplicate")


def _message(turn: Turn) -> dict[str, Any]:
    said_at = {"at": rfc3339(turn.at)} if turn.at else {}
    return {"seq": turn.line, "role": turn.role, "content": turn.content, **said_at}


def _requests(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """The turns in as few requests as the service takes them in."""
    request: list[Turn] = []
    for turn in turns:
        size = sum(len(each.content.encode()) for each in (*request, turn))
        if request and (len(request) == _MOST_TURNS or size > _REQUEST_BYTES):
            yield request
            request = []
        request.append(turn)
    if request:
        yield request


def _ids(found: RecallOut) -> list[str]:
    return [item.memory.id for item in found.items]


def _texts(found: RecallOut) -> list[str]:
    return [item.memory.content for item in found.items]


def _place(found: RecallOut, memory: MemoryOut) -> str:
    at = _ids(found).index(memory.id) + 1
    return "first" if at == 1 else f"number {at} of {len(found.items)}"


def _raises(kind: type[ProblemError], call: Callable[[], object]) -> bool:
    try:
        call()
    except kind:
        return True
    return False
