"""The service as plain lists, written for clarity: what the ledger should say after every call.

It shares no code with the product. Ids and instants are the server's to choose, so the model takes them from
the answers; everything else it works out by itself.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

ALWAYS = datetime.min.replace(tzinfo=UTC)
FOREVER = datetime.max.replace(tzinfo=UTC)

# Every sentence that is said, and the value that it states: a tombstone is about the value.
VALUES = {
    "Alice lives in Lisbon.": "lisbon",
    "ALICE LIVES IN LISBON": "lisbon",
    "Alice  lives in Lisbon.": "lisbon",  # says exactly what the first one says
    "Alice lives in Porto.": "porto",
    "Alice lives in Porto": "porto",
    "Alice lives in Faro.": "faro",
    "Alice likes tea.": "tea",
    "Алиса живёт в Лиссабоне.": "russian",
    "": "",  # an item may say nothing
}


@dataclass
class Row:
    """One memory; `past` holds what it was before each change."""

    id: str
    content: str
    at: datetime
    key: str | None = None
    is_item: bool = False
    data: object = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    trust: str = "asserted"
    status: str = "active"
    waits_as: str | None = None
    version: int = 1
    supersedes: list[str] = field(default_factory=list)
    goes_on_of: str | None = None  # another took time out of that one's middle
    is_interrupted: bool = False
    superseded_by: str | None = None
    it_changed: bool = False
    said_before: set[str] = field(default_factory=set)
    channels: set[str] = field(default_factory=set)
    heard_from: str = "api"  # first
    past: list[Row] = field(default_factory=list)
    recorded_at: datetime = ALWAYS

    @property
    def value(self) -> str:
        return VALUES[self.content]

    @property
    def values(self) -> set[str]:
        """What dies with it: nothing of what a record says."""
        return set() if self.is_item else {self.value, *self.said_before}

    @property
    def statement(self) -> tuple[object, ...]:
        if self.is_item:
            return "item", self.key
        return self.key, self.valid_from, " ".join(self.content.split())

    @property
    def says(self) -> tuple[object, ...]:
        return self.statement, " ".join(self.content.split()), self.valid_to

    def may_become(self, other: Row) -> bool:
        """True if an edit may lead there: it holds at some time, and an item keeps its key."""
        holds = (other.valid_from or ALWAYS) < (other.valid_to or FOREVER)
        moves_its_key = self.is_item and other.key != self.key
        moves_its_successor = self.superseded_by is not None and other.valid_to != self.valid_to
        return holds and not moves_its_key and not moves_its_successor

    def status_at(self, now: datetime) -> str:
        if self.status != "active":
            return self.status
        expires, replaced = self.expires_at or FOREVER, FOREVER
        if self.superseded_by is not None:
            replaced = self.valid_to or FOREVER
        if min(expires, replaced) > now:
            return "active"
        return "expired" if expires < replaced else "superseded"

    def is_valid_at(self, instant: datetime) -> bool:
        return (self.valid_from or ALWAYS) <= instant < (self.valid_to or FOREVER)

    def overlaps(self, other: Row) -> bool:
        starts = max(self.valid_from or ALWAYS, other.valid_from or ALWAYS)
        return starts < min(self.valid_to or FOREVER, other.valid_to or FOREVER)

    def may_replace(self, other: Row) -> bool:
        """A model's conclusion replaces only another; what is disputed replaces nothing."""
        if self.trust == "inferred":
            return other.trust == "inferred"
        return self.trust != "disputed"

    def next(self, at: datetime) -> None:
        """Keep what it is as past; the caller then changes it."""
        before = copy.deepcopy(self)
        before.past = []
        self.past.append(before)
        self.version += 1
        self.at = at

    def known_at(self, instant: datetime) -> Row | None:
        known = [row for row in [*self.past, self] if row.at <= instant]
        return known[-1] if known else None


@dataclass
class Kept:
    """What a request with an idempotency key led to."""

    request: object
    memory_id: str
    version: int
    until: datetime


class NaiveScope:
    """One scope: its memories, what is dead in it, and how many events it has."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.forgotten: set[str] = set()
        self.dead: dict[str, bool] = {}  # value → it stands; False once it was lifted
        self.kept: dict[str, Kept] = {}
        self.events = 0

    # What the calls do. Each says how the service should answer: "ok", or the code of its refusal.

    def remember(self, row: Row, now: datetime, channel: str = "api") -> str:
        if self._is_dead(row.content):
            self.events += 1
            return "tombstoned"
        if twin := self.twin(row, now):
            if channel not in twin.channels:
                twin.next(row.at)
                twin.channels.add(channel)
                if channel == "api" and twin.trust == "inferred":
                    twin.trust = "asserted"
                self.events += 1
            return "twin"
        row.channels, row.heard_from, row.recorded_at = {channel}, channel, row.at
        row.trust = "inferred" if channel == "extract" else "asserted"
        if not all(row.may_replace(rival) for rival in self._rivals(row, now)):
            row.status = row.waits_as = "candidate"
        else:
            self._take_slot(row, now)
        self.rows[row.id] = row
        self.events += 1
        return "ok"

    def put(self, row: Row, now: datetime) -> str:
        """An item: it replaces what lies under its key."""
        if self._is_dead(row.content):
            self.events += 1
            return "tombstoned"
        self.events += 1
        if there := self.twin(row, now):
            there.next(row.at)
            there.content, there.data, there.expires_at = row.content, row.data, row.expires_at
            there.valid_to, there.trust, there.waits_as = None, "asserted", None
            return "over"
        row.recorded_at = row.at
        self.rows[row.id] = row
        return "ok"

    def edit(self, row_id: str, version: int, changes: dict[str, object], at: datetime) -> str:
        if refusal := self._not_changeable(row_id, version, at, {"active"}):
            return refusal
        row = self.rows[row_id]
        wanted = copy.deepcopy(row)
        for name, value in changes.items():
            setattr(wanted, name, value)
        if not row.may_become(wanted):
            return "invalid_request"
        if all(getattr(row, name) == value for name, value in changes.items()):
            return "ok"
        if self._is_dead(wanted.content):
            self.events += 1
            return "tombstoned"
        if wanted.says != row.says and row.trust != "disputed":
            wanted.trust = "asserted"
        if not all(wanted.may_replace(rival) for rival in self._rivals(wanted, at)):
            return "wrong_status"
        row.next(at)
        row.trust = wanted.trust
        if wanted.value != row.value:
            row.said_before.add(row.value)
        for name, value in changes.items():
            setattr(row, name, value)
        self._take_slot(row, at)
        self.events += 1
        return "ok"

    def correct(self, old_id: str, version: int, new: Row, because: str) -> str:
        if refusal := self._not_changeable(old_id, version, new.at, {"active"}):
            return refusal
        old = self.rows[old_id]
        if old.is_item:
            return "wrong_status"
        if (new.valid_from or ALWAYS) >= (new.valid_to or FOREVER):
            return "invalid_request"
        if self._is_dead(new.content):
            self.events += 1
            return "tombstoned"
        new.channels, new.recorded_at, new.supersedes = {"api"}, new.at, [old.id]
        self._supersede(old, new, it_changed=because == "changed")
        self._take_slot(new, new.at)
        self.rows[new.id] = new
        if because == "wrong":
            self._bury(old, but=new.value)
        self.events += 1
        return "ok"

    def retract(self, row_id: str, version: int, at: datetime) -> str:
        if refusal := self._not_changeable(row_id, version, at, {"active", "candidate", "superseded"}):
            return refusal
        return self._take_back(row_id, "retracted", at)

    def dispute(self, row_id: str, version: int, at: datetime) -> str:
        if refusal := self._not_changeable(row_id, version, at, {"active"}):
            return refusal
        row = self.rows[row_id]
        row.next(at)
        row.trust = row.waits_as = "disputed"
        self.events += 1
        return "ok"

    def approve(self, row_id: str, version: int, at: datetime) -> str:
        if refusal := self._not_changeable(row_id, version, at, {"active", "candidate"}):
            return refusal
        row = self.rows[row_id]
        if row.status == "active" and row.trust == "verified":
            return "wrong_status"
        if self._is_dead(row.content):
            self.events += 1
            return "tombstoned"
        row.next(at)
        if row.status == "candidate":
            self._take_slot(row, at)
        row.status, row.trust, row.waits_as = "active", "verified", None
        self.events += 1
        return "ok"

    def reject(self, row_id: str, version: int, at: datetime) -> str:
        if refusal := self._not_changeable(row_id, version, at, {"active", "candidate"}):
            return refusal
        return self._take_back(row_id, "rejected", at)

    def forget(self, row_id: str, *, with_value: bool) -> str:
        if row_id in self.forgotten:
            return "already_forgotten"
        if row_id not in self.rows:
            return "not_found"
        for gone in self.family(row_id):
            row = self.rows.pop(gone)
            self.forgotten.add(gone)
            if with_value:
                self.dead |= dict.fromkeys(row.values, True)
        self.events += 1
        return "ok"

    def lift(self, value: str) -> str:
        if value not in self.dead:
            return "not_found"
        if not self.dead[value]:
            return "wrong_status"
        self.dead[value] = False
        self.events += 1
        return "ok"

    # What the reads should say.

    def with_status(self, status: str, now: datetime) -> list[Row]:
        return [row for row in self.rows.values() if row.status_at(now) == status]

    def listed(self, status: str, now: datetime, *, items: bool = False) -> list[Row]:
        """What is in doubt is withheld, unless it is asked for; items are listed apart."""
        rows = [row for row in self.with_status(status, now) if row.is_item is items]
        return [row for row in rows if status != "active" or row.trust != "disputed"]

    def recalled(self, now: datetime, *, items: bool = False) -> set[str]:
        return {row.id for row in self.listed("active", now, items=items) if row.is_valid_at(now)}

    def as_of(self, known_at: datetime) -> dict[str, int]:
        """Which version of which memory answers for what was believed, and held, then; and of which item."""
        found = {}
        for row in self.rows.values():
            then = row.known_at(known_at)
            if then is None or not then.is_valid_at(known_at):
                continue
            status = then.status_at(known_at)
            if status == "active" and then.trust == "disputed":
                continue
            if status == "active" or (status == "superseded" and then.it_changed):
                found[then.id] = then.version
        return found

    def waiting(self, state: str, now: datetime) -> set[str]:
        return {r.id for r in self.rows.values() if r.waits_as == state and r.status_at(now) != "expired"}

    def twin(self, row: Row, now: datetime) -> Row | None:
        same = [other for other in self.with_status("active", now) if other.statement == row.statement]
        assert len(same) <= 1
        return same[0] if same else None

    def family(self, row_id: str) -> list[str]:
        """A memory, everything it replaced, and every part of what was interrupted, to any depth."""
        found = [row_id]
        for known in (self.rows[i] for i in found):
            before = [self.rows[i] for i in known.supersedes if i in self.rows]
            ended = [row.id for row in before if not row.is_interrupted or known.goes_on_of == row.id]
            after = [row.id for row in self.rows.values() if row.goes_on_of == known.id]
            found += [i for i in dict.fromkeys(ended + after) if i not in found]
        return found

    def unnamed(self) -> list[Row]:
        """What goes on under an id that the service has chosen and no answer has told."""
        return [row for row in self.rows.values() if row.id.startswith("?")]

    def name(self, row: Row, row_id: str) -> None:
        """Call a row by the id it turned out to have, wherever it is named."""
        del self.rows[row.id]
        old, row.id = row.id, row_id
        self.rows[row_id] = row
        for version in [each for other in self.rows.values() for each in (other, *other.past)]:
            version.supersedes = [row_id if i == old else i for i in version.supersedes]
            version.superseded_by = row_id if version.superseded_by == old else version.superseded_by
            version.goes_on_of = row_id if version.goes_on_of == old else version.goes_on_of

    # What they have in common.

    def _not_changeable(self, row_id: str, version: int, now: datetime, allowed: set[str]) -> str | None:
        if row_id not in self.rows:
            return "not_found"
        if self.rows[row_id].version != version:
            return "version_conflict"
        return None if self.rows[row_id].status_at(now) in allowed else "wrong_status"

    def _is_dead(self, content: str) -> bool:
        return self.dead.get(VALUES[content], False)

    def _rivals(self, row: Row, now: datetime) -> list[Row]:
        """What cannot be believed beside it: another in its slot, or another that says the same."""
        if row.status_at(now) == "expired":
            return []  # it is over when it is written
        active = [other for other in self.with_status("active", now) if other.id != row.id]
        beliefs = [other for other in active if not (other.is_item or row.is_item)]
        in_its_slot = [o for o in beliefs if row.key and o.key == row.key and o.overlaps(row)]
        return in_its_slot + [o for o in active if o not in in_its_slot and o.statement == row.statement]

    def _take_slot(self, row: Row, now: datetime) -> None:
        for rival in self._rivals(row, now):
            rest = copy.deepcopy(rival)
            self._supersede(rival, row, it_changed=True)
            if rival.id not in row.supersedes:
                row.supersedes.append(rival.id)
            if row.key and row.valid_to and row.valid_to < (rest.valid_to or FOREVER):
                self._go_on(rival, rest, row)

    def _go_on(self, interrupted: Row, rest: Row, by: Row) -> None:
        rest.id, rest.at, rest.recorded_at = f"?{len(self.rows)}", by.at, by.at
        rest.version, rest.past, rest.channels = 1, [], {rest.heard_from}
        rest.supersedes, rest.goes_on_of, rest.valid_from = [interrupted.id], interrupted.id, by.valid_to
        interrupted.is_interrupted = True
        self.rows[rest.id] = rest

    def _supersede(self, old: Row, new: Row, *, it_changed: bool) -> None:
        old.next(new.at)
        old.superseded_by, old.it_changed = new.id, it_changed
        if it_changed:
            begins = new.valid_from or min(new.at, new.valid_to or new.at)
            end = min(old.valid_to or FOREVER, begins)
            old.valid_to = max(end, old.valid_from or ALWAYS)
            if old.valid_to > new.at and old.valid_to > (old.valid_from or ALWAYS):
                return  # until then it stays
        old.status, old.waits_as = "superseded", None

    def _take_back(self, row_id: str, status: str, at: datetime) -> str:
        row = self.rows[row_id]
        row.next(at)
        row.status, row.waits_as = status, None
        self._bury(row)
        self.events += 1
        return "ok"

    def _bury(self, row: Row, but: str | None = None) -> None:
        """What it says, and what it said before it was edited."""
        self.dead |= dict.fromkeys(row.values - {but}, True)


DAY = timedelta(hours=24)
