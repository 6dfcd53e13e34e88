"""Planning: the messages of a batch become a checked list of facts, before any of them is written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from unsay_core.application.asking import LATEST, Line, question
from unsay_core.application.grounding import Ground, UngroundedError, grounded, jaccard
from unsay_core.application.ledger import Area, Pending, memory_ref
from unsay_core.application.model import UnusableReplyError
from unsay_core.application.model_reply import Proposal, TruncatedError, read_reply
from unsay_core.application.ports import SearchError
from unsay_core.application.sentences import sentences
from unsay_core.application.spoken import spoken
from unsay_core.domain.memory import Memory, Status, Trust
from unsay_core.domain.tombstone import normalise
from unsay_core.extraction.conversation import Dropped, Plan, Planned, Role
from unsay_core.retrieval.lexicon import query_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from unsay_core.application.model import Model
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.extraction.conversation import Batch, Message
    from unsay_core.extraction.steering import Steering

WINDOW = 40_000  # characters of messages in one question; a batch is cut well before that
SMALLEST = 400  # characters; what is still too much for one answer then is no ordinary text
CONTEXT = 4  # messages before a window that it may need to be understood
CONTEXT_CHARACTERS = 500  # of each message that is no source
MOST_KNOWN = 20
PENDING_LOOKED_AT = 50
SEARCHED_CHARACTERS = 2_000
SEARCH_TIMEOUT = 3.0  # seconds


@dataclass
class Asking:
    """The questions about one batch: what they cost, and what came of them."""

    model: Model
    steering: Steering
    known: Sequence[Memory]
    prompt: str = LATEST
    tokens: int = 0
    written: int = 0
    seconds: float = 0.0
    questions: int = 0
    answered_by: str = ""
    proposals: list[Proposal] = field(default_factory=list)
    malformed: int = 0

    def ask(self, lines: Sequence[Line]) -> None:
        """Ask about some lines; in halves, where the answer to all of them is too long."""
        answer = self.model.ask(question(lines, self.known, self.steering, self.prompt))
        self.tokens += answer.tokens
        self.written += answer.written
        self.seconds += answer.seconds
        self.questions += 1
        self.answered_by = answer.model
        try:
            found = read_reply(answer)
        except TruncatedError:
            for half in _halves(lines):
                self.ask(half)
            return
        self.proposals += found.facts
        self.malformed += found.malformed


def make_plan(
    batch: Batch,
    messages: Sequence[Message],
    before: Sequence[Message],
    asking: Asking,
    opened: OpenScope,
    world: World,
    *,
    epoch: int,
    lenient: bool,
) -> Plan:
    """Ask the model about a batch and check what it answers; `before` are the messages just before it.

    Raises `ModelUnavailableError`, `UnusableReplyError`. An answer of which a part has no form is asked for
    again, unless `lenient`: then the rest of it is taken, and the part counted.
    """
    numbered = dict(enumerate((*before, *messages), 1))
    first = len(before) + 1
    for window in _windows(numbered, first):
        asking.ask(window)
    if asking.malformed and not (lenient and asking.proposals):
        raise UnusableReplyError("malformed_facts")
    nothing = not asking.proposals and not asking.malformed
    dropped: Counter[str] = Counter({"malformed": asking.malformed, "nothing_found": int(nothing)})
    sources = {n: m for n, m in numbered.items() if n >= first}
    ground = Ground(sources, asking.known, asking.steering.allows_secrets)
    facts = list(_checked(asking.proposals, ground, world, dropped))
    return Plan(
        run_id=batch.run_id,
        number=batch.number,
        model=f"{asking.answered_by or asking.model.name} prompt {asking.prompt}",
        epoch=epoch,
        facts=tuple(facts),
        dropped=counted(dropped),
    )


def counted(dropped: Mapping[str, int]) -> tuple[Dropped, ...]:
    """Counts by reason, in a stable order."""
    return tuple(Dropped(reason, count) for reason, count in sorted(dropped.items()) if count)


def nothing_said(messages: Iterable[Message]) -> bool:
    """True if no user says anything in these messages."""
    return not any(_source_texts(message) for message in messages)


def known_memories(messages: Sequence[Message], opened: OpenScope, world: World) -> list[Memory]:
    """The memories nearest to what is said: those the index proposes, and those it does not hold yet."""
    said = " ".join(text for message in messages for text in _source_texts(message))
    asked = said[:SEARCHED_CHARACTERS]
    try:
        hits = opened.search.nearest(asked, limit=MOST_KNOWN, live_only=True, timeout=SEARCH_TIMEOUT)
    except SearchError:
        hits = ()  # what is said word for word is recognised without it
    pending = opened.ledger.page(Area.PENDING, limit=PENDING_LOOKED_AT)
    wanted = query_words(asked)
    fresh = [p for p in pending if isinstance(p, Pending) and p.fact]
    fresh.sort(key=lambda p: -jaccard(wanted, query_words(p.fact.content if p.fact else "")))
    ids = dict.fromkeys([*(p.memory_id for p in fresh[: MOST_KNOWN // 2]), *(hit.memory_id for hit in hits)])
    refs = [memory_ref(memory_id) for memory_id in list(ids)[:MOST_KNOWN]]
    snapshot = opened.ledger.read(refs) if refs else None
    now = world.clock.now()
    found = [memory for ref in refs if snapshot and (memory := snapshot.get(ref))]
    return [m for m in found if _is_believed(m, now)]


def _is_believed(memory: Memory, now: datetime) -> bool:
    active = memory.status_at(now) is Status.ACTIVE and memory.trust is not Trust.DISPUTED
    return active and not memory.fact.is_item


def _source_texts(message: Message) -> list[str]:
    if message.role is not Role.USER:
        return []
    return [stretch for text in message.texts for stretch in spoken(text)]


def _checked(
    proposals: Sequence[Proposal], ground: Ground, world: World, dropped: Counter[str]
) -> Iterator[Planned]:
    seen: set[tuple[str, str | None, str]] = set()
    for proposal in proposals:
        try:
            planned = grounded(proposal, ground, world.new_id("mem"))
        except UngroundedError as reason:
            dropped[reason.reason] += 1
            continue
        fact = planned.fact
        statement = (fact.kind.value, fact.key, normalise(fact.content))
        if statement in seen:
            dropped["duplicate"] += 1
            continue
        seen.add(statement)
        yield planned


def _windows(numbered: Mapping[int, Message], first: int) -> Iterator[list[Line]]:
    """The messages in stretches that one question takes, each with what was said just before it."""
    before: list[Line] = []
    window: list[Line] = []
    for number, message in numbered.items():
        lines = list(_lines(number, message, is_context=number < first))
        if number < first:
            before = [*before, *lines][-CONTEXT:]
            continue
        for line in lines:
            if window and _size(window) + len(line.text) > WINDOW:
                yield [*before, *window]
                before = [_as_context(each) for each in window[-CONTEXT:]]
                window = []
            window.append(line)
    if any(line.role == Role.USER and not line.is_context for line in window):
        yield [*before, *window]


def _lines(number: int, message: Message, *, is_context: bool) -> Iterator[Line]:
    """A message as the model sees it; tools and systems say nothing that a fact is understood by."""
    if message.role is Role.USER and not is_context:
        for text in _source_texts(message):
            yield from (Line(number, message.role, message.time, piece) for piece in _pieces(text, WINDOW))
    elif message.role in (Role.USER, Role.ASSISTANT):
        text = " ".join(" ".join(message.texts).split())[:CONTEXT_CHARACTERS]
        if text:
            yield Line(number, message.role, message.time, text, is_context=True)


def _as_context(line: Line) -> Line:
    return replace(line, text=line.text[-CONTEXT_CHARACTERS:], is_context=True)


def _size(lines: Iterable[Line]) -> int:
    return sum(len(line.text) for line in lines)


def _pieces(text: str, most: int) -> Iterator[str]:
    """A text in pieces of at most so many characters, between sentences where there are any."""
    start = end = 0
    for _, stop in sentences(text):
        if stop - start > most and end > start:
            yield text[start:end].strip()
            start = end
        while stop - start > most:
            yield text[start : start + most]
            start += most
        end = stop
    if text[start:].strip():
        yield text[start:].strip()


def _halves(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """The same lines in two questions; raises `TruncatedError` when there is nothing left to cut."""
    context = [line for line in lines if line.is_context]
    sources = [line for line in lines if not line.is_context]
    if len(sources) > 1:
        middle = len(sources) // 2
        one, other = sources[:middle], sources[middle:]
    else:
        size = _size(sources)
        if size < SMALLEST:
            raise TruncatedError("truncated")
        one = [replace(sources[0], text=piece) for piece in _pieces(sources[0].text, size // 2 + 1)]
        one, other = one[:1], one[1:]
        if not other:
            raise TruncatedError("truncated")
    return [*context, *one], [*context, *other]
