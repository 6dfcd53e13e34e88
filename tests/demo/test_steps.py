"""Each step fails when what it shows is not so: a service that lies is found out."""

import dataclasses
import io
import uuid

import pytest
from rich.console import Console

import unsay
from local.demo import EXAMPLE
from local.demo_plot import plot
from local.demo_steps import NotHeldError, Show, Steps, Stopwatch, one_line
from local.transcript import Transcript, Turn, read_transcript
from unsay.https import Https

ACTIONS = ["read", "write", "forget", "audit"]


@pytest.fixture
def transcript():
    return read_transcript(EXAMPLE)


@pytest.fixture
def steps_of(stack):
    """Steps in two new scopes, the first agent's client of any class."""
    clients = []

    def make(kind=unsay.Memory, other_kind=unsay.Memory):
        scopes = [f"demo/{uuid.uuid4().hex}" for _ in range(2)]
        with unsay.connect(stack.url, token=stack.admin_key) as admin:
            keys = [admin.make_key("k", kind="agent", grants={s: ACTIONS}).secret for s in scopes]
        memory = kind(Https(stack.url, keys[0], timeout=60))
        other = other_kind(Https(stack.url, keys[1], timeout=60))
        clients.extend([memory, other])
        return Steps(memory, scopes[0], other, scopes[1], Show(Console(file=io.StringIO())), Stopwatch())

    yield make
    for client in clients:
        client.close()


def run(steps, transcript):
    stored = steps.feed(transcript)
    told = plot(stored.told)
    target = steps.recalls(told, stored)
    corrected = steps.corrects(told, target)
    steps.forgets(told, corrected, target)
    steps.verifies_audit()
    steps.keeps_apart(told, stored)


class Forgetful(unsay.Memory):
    """Recalls nothing."""

    def recall(self, *args, **kwargs):
        return super().recall(*args, **kwargs).model_copy(update={"items": []})


class Clinging(unsay.Memory):
    """Recalls whatever it ever recalled, behind what it recalls now."""

    def __init__(self, https):
        super().__init__(https)
        self.seen = {}

    def recall(self, *args, **kwargs):
        found = super().recall(*args, **kwargs)
        self.seen |= {item.memory.id: item for item in found.items}
        items = {item.memory.id: item for item in found.items} | self.seen
        return found.model_copy(update={"items": list(items.values())})


class Resurrecting(unsay.Memory):
    """Recalls what it forgot, and only that, under another id."""

    forgotten = None

    def forget(self, memory, **kwargs):
        self.forgotten = memory
        return super().forget(memory, **kwargs)

    def recall(self, *args, **kwargs):
        found = super().recall(*args, **kwargs)
        if self.forgotten:
            found.items[0].memory.content = self.forgotten.content
        return found


class NeverDone(unsay.Memory):
    """Its receipts say they are complete when a store still holds what was forgotten."""

    def erasure(self, *args, **kwargs):
        receipt = super().erasure(*args, **kwargs)
        stores = [store.model_copy(update={"state": "pending"}) for store in receipt.stores]
        return receipt.model_copy(update={"state": "complete", "stores": stores})


class Rewritable(unsay.Memory):
    """Takes back what was forgotten."""

    def remember(self, content, **kwargs):
        try:
            return super().remember(content, **kwargs)
        except unsay.TombstonedError:
            return super().remember(content + " (again)", **kwargs)


class Tampered(unsay.Memory):
    """Its audit chain has a bad entry."""

    def verify_audit(self, **kwargs):
        return super().verify_audit(**kwargs).model_copy(update={"ok": False, "first_bad": 2})


class Leaking(unsay.Memory):
    """Lists one memory too many."""

    def list(self, **kwargs):
        page = super().list(**kwargs)
        stranger = page.items[0].model_copy(update={"id": "mem_of_another"})
        return page.model_copy(update={"items": [*page.items, stranger]})


@pytest.mark.stack
def test_with_an_honest_service_every_step_holds(steps_of, transcript):
    steps = steps_of()
    run(steps, transcript)
    calls = {verb: len(took) for verb, took in steps.timed.seconds.items()}
    assert (calls["converse"], calls["flush"], calls["remember"]) == (1, 1, 3)
    assert (calls["correct"], calls["forget"]) == (1, 1)
    shown = steps.show.console.file.getvalue()
    assert "6 memories, 1 for a person to look at, 0 said again, 0 lines refused" in shown


@pytest.mark.stack
@pytest.mark.parametrize(
    ("liar", "other", "found_out"),
    [
        (Forgetful, unsay.Memory, "recall finds line 8"),
        (Clinging, unsay.Memory, "recall no longer finds what was corrected"),
        (Resurrecting, unsay.Memory, "recall says nothing forgotten"),
        (NeverDone, unsay.Memory, "every store reports it absent"),
        (Rewritable, unsay.Memory, "what was forgotten cannot be written again"),
        (Tampered, unsay.Memory, "the audit chain holds"),
        (unsay.Memory, Leaking, "the second scope lists its own alone"),
        (unsay.Memory, Forgetful, "the second scope recalls its own"),
    ],
)
def test_a_service_that_lies_is_found_out(steps_of, transcript, liar, other, found_out):
    with pytest.raises(NotHeldError, match=found_out):
        run(steps_of(liar, other), transcript)


@pytest.mark.stack
def test_scopes_that_are_not_apart_are_found_out(steps_of, transcript):
    steps = steps_of()
    same = dataclasses.replace(steps, other=steps.memory, elsewhere=steps.scope)
    with pytest.raises(NotHeldError, match="second scope"):
        run(same, transcript)


class Fabricating(unsay.Memory):
    """Its memories quote what nobody said."""

    def list(self, **kwargs):
        page = super().list(**kwargs)
        for memory in page.items:
            memory.source.quote = "I said no such thing."
        return page


@pytest.mark.stack
def test_what_is_refused_or_redacted_is_reported_by_line_and_costs_itself(steps_of):
    said = ["I like tea.", "my password: Abc123Abc123Abc123Abc1", "y" * 262_144, "I like tea.", "I like jam."]
    steps = steps_of()
    stored = steps.feed(Transcript([Turn(n, "user", text) for n, text in enumerate(said, start=1)]))
    assert [memory.content for memory in stored.memories] == ["I like tea.", "I like jam."]
    assert stored.memories[1].source.message_seqs == [5]
    assert [(r.line, r.why.split(":")[1].strip()) for r in stored.refused] == [(3, "413 too_large")]
    shown = steps.show.console.file.getvalue()
    assert "line 2: stored without a credential" in shown
    assert "2 memories, 0 for a person to look at, 1 said again, 1 lines refused" in shown
    assert "Abc123" not in shown
    assert "yyyy" not in shown


@pytest.mark.stack
def test_where_nobody_speaks_of_themselves_the_turns_are_remembered_as_they_are(steps_of, transcript):
    steps = steps_of()
    turns = [Turn(n, "user", f"The {thing} is blue.") for n, thing in enumerate(("sky", "sea"), start=1)]
    run(steps, Transcript(turns))
    assert "nobody says I, my, we or our" in steps.show.console.file.getvalue()


@pytest.mark.stack
def test_a_quote_that_nobody_said_is_found_out(steps_of, transcript):
    with pytest.raises(NotHeldError, match="word for word"):
        steps_of(Fabricating).feed(transcript)


@pytest.mark.stack
def test_when_nothing_could_be_stored_the_demo_ends(steps_of):
    with pytest.raises(NotHeldError, match="at least one turn is stored"):
        steps_of().feed(Transcript([Turn(1, "user", "y" * 262_144)]))


def test_a_text_is_shown_on_one_line_and_a_terminal_obeys_nothing_in_it():
    assert one_line("a\n\n b\t\x1b[31mred\x07") == "a b [31mred"
    assert len(one_line("long " * 10_000)) == 90


def test_refused_lines_are_shown_up_to_a_screenful():
    from local.transcript import Refusal

    console = Console(file=io.StringIO())
    Show(console).refusals([Refusal(n, "has no role") for n in range(1, 61)])
    shown = console.file.getvalue().splitlines()
    assert shown[49] == "! line 50: has no role"
    assert shown[50:] == ["! and 10 more lines"]
