"""Entries of every type, with every field that could be bent on its way through a store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from unsay_core.application.ledger import (
    Duplicate,
    Entry,
    Head,
    Occupant,
    Outcome,
    Pending,
    Slot,
    Version,
    Work,
)
from unsay_core.domain.audit import AuditEntry, Event, Happening, sealed
from unsay_core.domain.memory import (
    Because,
    Fact,
    IndexState,
    Kind,
    Memory,
    Reason,
    Source,
    Status,
    Trust,
)
from unsay_core.domain.timeline import Interval
from unsay_core.domain.tombstone import Tombstone, TombstoneKind
from unsay_core.extraction.conversation import (
    Batch,
    BatchState,
    Dropped,
    Message,
    Plan,
    Planned,
    Ready,
    Redaction,
    Role,
    Run,
    Span,
    Unread,
    Upload,
    UploadState,
)
from unsay_core.jobs.erasure import Cascaded, Erasure, Fence, Phase
from unsay_core.jobs.job import Job, JobKind, JobProblem, JobState

AT = datetime(2026, 5, 1, 9, 30, 0, 123456, tzinfo=UTC)
SECOND = AT.replace(microsecond=0)
NONCE = "00" * 16


def memory(number: int = 1, content: str = "Alice lives in Lisbon.", **changes: Any) -> Memory:
    """A plain memory; ids sort by number. Fields of the fact may be given too."""
    of_fact = {name: changes.pop(name) for name in list(changes) if name in Fact.__dataclass_fields__}
    plain = Memory(
        id=f"mem_{number:026d}",
        fact=Fact(content, **of_fact),
        source=Source("api", "key_1"),
        trust=Trust.ASSERTED,
        recorded_at=AT,
        updated_at=AT,
        nonce=NONCE,
    )
    return replace(plain, **changes)


def nested(depth: int) -> Any:
    """JSON of that depth."""
    value: Any = "the bottom"
    for _ in range(depth):
        value = {"a": [value]}
    return value


EVERY_NUMBER = [
    1,
    Decimal("1.0"),
    Decimal("1.00"),
    Decimal("1E+2"),
    Decimal("1E-130"),
    -0,
    Decimal("-0.0"),
    12345678901234567890123456789012345678,
    Decimal("0.1234567890123456789012345678901234567"),
    True,
    False,
    None,
]

HARD_FACT = Fact(
    content="Ünï 日本語 \U0001f600 \u202e e\u0301 \x00\t\n'\"\\#",
    kind=Kind.EPISODIC,
    key="home_city.v-2",
    tags=("", "a", "Ä"),
    importance=Decimal("0.25"),
    data={"numbers": EVERY_NUMBER, "": "", "empty": [[], {}], "deep": nested(14), "data": {"metadata": 1}},
    metadata={"n": 1, "f": Decimal("1.0"), "s": "", "b": False, "l": []},
    valid_from=datetime(1, 1, 1, tzinfo=UTC),
    valid_to=datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    expires_at=SECOND,
)
HARD_MEMORY = Memory(
    id="mem_hard",
    fact=HARD_FACT,
    source=Source("api", "key_1", "run:1", (0, 2**53 - 1), "Zitat", "model"),
    trust=Trust.DISPUTED,
    recorded_at=AT,
    updated_at=SECOND,
    nonce=NONCE,
    status=Status.SUPERSEDED,
    invalidated_at=AT + timedelta(microseconds=1),
    version=3,
    supersedes=("mem_a", "mem_b"),
    superseded_by="mem_c",
    superseded_because=Because.WRONG,
    derived_from=("mem_d",),
    index_state=IndexState.INDEXED,
    indexed_at=AT,
)


def audit_entry(seq: int = 1) -> AuditEntry:
    """A sealed entry with every field of its happening."""
    happening = Happening(
        Event.FORGOTTEN, "mem_1", 2, "commitment", ("mem_2", "mem_3"), "user_request", "note", "era_1"
    )
    return sealed(AuditEntry(seq, AT, "key_1", happening, prev="0" * 64))


EVERY_ENTRY: dict[str, Entry] = {
    "a fresh head": Head(),
    "a head": Head(seq=41, hash="ab" * 32, epoch=3, memories=7, scope="acme/alice", tidy_at=AT),
    "a head with fences": Head(
        seq=41,
        fences=(
            Fence("era_1", {"ids": ["mem_1"]}, 40, AT, Reason.TEST, TombstoneKind.ID),
            Fence(
                "era_2",
                {"filter": {"metadata": {"n": Decimal("1.0")}}},
                41,
                SECOND,
                Reason.OTHER,
                TombstoneKind.VALUE,
            ),
        ),
    ),
    "a plain memory": memory(),
    "a memory of hard values": HARD_MEMORY,
    "a memory of empty values": memory(2, content=" ", tags=(), data=None, metadata={}),
    "an item of hard values": memory(
        2, content="", kind=Kind.ITEM, key="\x00 /%#\U0001f600", path=("a/b", "%2F", " ", "日本"), data=[""]
    ),
    "a memory whose data is an empty list": memory(3, data=[]),
    "a memory whose data is an empty string": memory(4, data=""),
    "a memory whose data is zero": memory(5, data=0),
    "a memory whose data is false": memory(6, data=False),
    "a version": Version(HARD_MEMORY),
    "a duplicate": Duplicate("digest", "mem_1"),
    "an empty slot": Slot("home_city", 3, ()),
    "a slot": Slot(
        "home_city",
        1,
        (Occupant("mem_1", Interval(AT, SECOND + timedelta(days=1))), Occupant("mem_2", Interval())),
    ),
    "a put that is owed": Pending("mem_1", 4, Work.PUT, fact=HARD_FACT),
    "a delete that is owed": Pending("mem_2", 5, Work.DELETE, told=(1, 2), root_id="r"),
    "an outcome": Outcome("digest", "request", 201, "mem_1", 1, 1_777_777_777),
    "a tombstone of an id": Tombstone("mem_1", TombstoneKind.ID, AT, "key_1", Reason.TEST, "era_1"),
    "a tombstone of a value": Tombstone(
        "dig", TombstoneKind.VALUE, SECOND, "key_1", Reason.OTHER, lifted=True
    ),
    "a receipt": Erasure(
        id="era_1",
        selector={"ids": ["mem_1"], "n": Decimal("1.0")},
        reason=Reason.CONSENT_WITHDRAWN,
        requested_at=AT,
        actor="key_1",
        matched=1,
        erased=2,
        tombstones=3,
        audit_seq=9,
        digest="ff",
        cascade=(Cascaded("mem_2", "predecessor"),),
        remaining=("mem_1", "mem_2"),
        proven_at=SECOND,
        revision=2,
    ),
    "a job": Job(
        id="job_1",
        kind=JobKind.IMPORT,
        state=JobState.FAILED,
        actor="key_1",
        requested_at=AT,
        epoch=3,
        request={"include": ["active"], "n": Decimal("1.0")},
        progress={"after": "mem_1", "deep": nested(3)},
        done=7,
        total=2**40,
        result={"refused": {"tombstoned": 2}},
        problems=(JobProblem(3, "tombstoned"), JobProblem(9, "secret_refused")),
        finished_at=SECOND,
        revision=4,
    ),
    "a bare job": Job("job_2", JobKind.EXPORT, JobState.RUNNING, "key_1", AT, 0),
    "an erasure at work": Erasure(
        id="era_3",
        selector={"all": True},
        reason=Reason.TEST,
        requested_at=AT,
        actor="key_1",
        phase=Phase.SWEEP,
        cursor="mem_1",
        bury=TombstoneKind.ID,
        seq=7,
        waits_for="index",
        retained_until=SECOND,
    ),
    "a bare receipt": Erasure("era_2", {}, Reason.TEST, AT, "key_1"),
    "a run": Run(
        "run:1",
        started_at=AT,
        last_at=SECOND,
        low_water=0,
        high_water=2**53 - 1,
        messages=3,
        waiting=(Unread(2**53 - 1, 7, turn=True), Unread(3, 0, turn=False)),
        batches=2,
        open=(Span(2, 1),),
        failed=(Span(1, 0),),
        quiet_at=SECOND,
        revision=4,
    ),
    "a bare run": Run("run:2", started_at=AT, last_at=AT),
    "a message in words": Message("run:1", 0, Role.USER, "Zitat \x00 \U0001f600", "key_1", AT, "digest"),
    "a message in blocks": Message(
        run_id="run:1",
        seq=2**53 - 1,
        role=Role.TOOL,
        blocks=[{"text": ""}, {"toolResult": {"json": {"numbers": EVERY_NUMBER, "deep": nested(10)}}}],
        actor="key_1",
        stored_at=AT,
        digest="digest",
        said_at=SECOND,
        name="Ünï",
        redacted=(Redaction.CREDENTIAL, Redaction.FORGOTTEN),
        revision=2,
    ),
    "a batch": Batch(
        run_id="run:1",
        number=2,
        seqs=(1, 2**53 - 1),
        state=BatchState.EXTRACTING,
        attempts=1,
        abandoned=1,
        created=("mem_1",),
        merged=("mem_2",),
        dropped=(Dropped("question", 2),),
        error="truncated",
        lease_until=AT,
        revision=5,
    ),
    "a bare batch": Batch("run:1", 1, (0,)),
    "a plan": Plan(
        run_id="run:1",
        number=2,
        model="model",
        epoch=3,
        facts=(
            Planned("mem_1", 1, HARD_FACT, "Zitat", is_asserted=True, reasons=("a", "b"), same_as="mem_2"),
            Planned("mem_3", 2**53 - 1, Fact("x"), "x", is_asserted=False),
        ),
        written=1,
        created=("mem_1",),
        merged=("mem_2",),
        dropped=(Dropped("question", 2),),
        revision=2,
    ),
    "an empty plan": Plan("run:1", 1, "", 0, ()),
    "an upload": Upload(
        run_id="run:1",
        id="upl_1",
        actor="key_1",
        asked_at=AT,
        scope="acme/alice",
        state=UploadState.FAILED,
        error="line 2 is not a message",
        ttl=1,
        revision=2,
    ),
    "a bare upload": Upload("run:1", "upl_2", "key_1", AT),
    "a marker of a batch": Ready("run:1", 2, "acme/alice", 3),
    "an audit entry": audit_entry(),
    "an audit entry of a refusal": sealed(
        AuditEntry(2, SECOND, "key_1", Happening(Event.REFUSED, reason="secret"), prev="1" * 64)
    ),
}
