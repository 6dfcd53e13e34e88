"""What becomes of one line of an import: through the one write path, as far as the importer's rights reach.

A line may say who vouched for a memory, since when it was believed and what it was before. That is a person's
word to take: whoever may review keeps it, for anybody else it is a statement made now. Nothing a line says
brings back what was taken back here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NoReturn

from unsay_core.application.digests import commitment, duplicate_digest, value_digest
from unsay_core.application.edit import Edit
from unsay_core.application.edit import decide as decide_edit
from unsay_core.application.ledger import (
    SCOPE_TOMBSTONE,
    Reviewable,
    Version,
    Waiting,
    duplicate_ref,
    id_tombstone_ref,
    memory_ref,
    slot_ref,
)
from unsay_core.application.policy import (
    PolicyError,
    refuse_forbidden,
    refuse_secrets,
    standing_tombstones,
    tell_refused,
    tombstone_refs,
)
from unsay_core.application.remember import Past, Remember, build_on
from unsay_core.application.remember import decide as decide_remember
from unsay_core.application.slots import overlapping
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.duplicate import is_same
from unsay_core.domain.errors import UnavailableError, UnsayError
from unsay_core.domain.memory import Imported, Memory, Review, Source, Status, Trust

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.application.transfers import Portable

BELIEVED = frozenset({Status.ACTIVE, Status.CANDIDATE})
ITEMS_MOST = 96  # of a transaction, for one line with all that it replaces and was
ITEMS_OF_A_LINE = 9  # memory, duplicates, marker, audit entries, slot, place in the review queue, lifting
ITEMS_REPLACED, ITEMS_CONTINUED = 5, 4


class OnConflict(StrEnum):
    """What happens to a line whose place is taken by something else."""

    SKIP = "skip"
    NEWER = "newer"
    FAIL = "fail"


class LineConflictError(Exception):
    """A line's place is taken, and the import was told to end there."""


class LineRefusedError(Exception):
    """A line is refused for a reason that only imports have; the refusal is on the draft."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Rights:
    """How an import decides, and how much of what a line claims its importer may claim."""

    job_id: str
    on_conflict: OnConflict
    is_reviewer: bool
    resurrect: bool

    def trust(self, claimed: Trust) -> Trust:
        """What the memory is worth here: only who may review brings what a person has verified."""
        return claimed if self.is_reviewer else min(claimed, Trust.ASSERTED, key=lambda trust: trust.rank)


def refs_of(portable: Portable, opened: OpenScope) -> list[Ref[Any]]:
    """Everything that a line is held against, for one read."""
    memory = portable.memory
    refs: list[Ref[Any]] = [
        memory_ref(memory.id),
        id_tombstone_ref(memory.id),
        SCOPE_TOMBSTONE,
        duplicate_ref(duplicate_digest(opened.keys, memory.fact)),
        *tombstone_refs(opened, memory.fact.content),
        *map(memory_ref, memory.derived_from),
        *map(id_tombstone_ref, memory.derived_from),
        *map(memory_ref, memory.supersedes),
    ]
    return [*refs, slot_ref(memory.fact.slot)] if memory.fact.slot else refs


@dataclass(frozen=True, slots=True)
class LineWriter:
    """Puts lines into one draft. Each answer is a word to count by: `imported`, `skipped`, or a refusal."""

    draft: Draft
    rights: Rights
    opened: OpenScope
    world: World

    def cost(self, portable: Portable) -> int:
        """How many items of a transaction a line takes at most."""
        return self._own_cost(portable) + 2 * len(self._versions(portable))

    def _own_cost(self, portable: Portable) -> int:
        replaced = len(overlapping(self.draft, portable.memory.fact))
        others = ITEMS_REPLACED * replaced + ITEMS_CONTINUED if replaced else 0
        return ITEMS_OF_A_LINE + others + len(portable.memory.derived_from)

    def _versions(self, portable: Portable) -> tuple[Memory, ...]:
        """What a memory was, as far as its importer may say and a transaction holds: the latest."""
        room = (ITEMS_MOST - self._own_cost(portable)) // 2  # a version, or its refusal and who counts it
        return portable.versions[-room:] if self.rights.is_reviewer and room > 0 else ()

    def write(self, portable: Portable) -> tuple[str, str | None]:
        """Write one line; returns what became of it, and the code of the refusal if it was refused.

        Raises `LineConflictError` where the import is to end at a conflict.
        """
        try:
            return self._written(portable), None
        except PolicyError as refused:
            return "refused", tell_refused(refused, "import", self.world).code
        except LineRefusedError as refused:
            return "refused", refused.code
        except UnavailableError:
            raise  # no word about this line: it may be half drafted
        except UnsayError as refusal:
            return "refused", refusal.code

    def _written(self, portable: Portable) -> str:
        memory = portable.memory
        self._refuse_what_was_forgotten(memory)
        there = self.draft.get(memory_ref(memory.id))
        if there is not None:
            return self._meets(there, memory)
        self._require_sources(memory)
        if memory.status not in BELIEVED:
            return self._as_history(portable)
        if not self._has_place(memory):
            return "skipped"
        if self.rights.resurrect:
            self._lift(memory)
        written = decide_remember(self._command(portable), self.draft, self.opened, self.world)
        if not written.created:
            return "merged"
        self._keep_past(written.memory, portable)
        return "imported"

    def _refuse_what_was_forgotten(self, memory: Memory) -> None:
        """A forgotten id never returns, nor does what is older than the erasure of its whole scope.

        Who resurrects brings the words under another id.
        """
        if self.rights.resurrect:
            return
        if self.draft.get(id_tombstone_ref(memory.id)) is not None:
            self._refuse("forgotten_id")
        everything = self.draft.get(SCOPE_TOMBSTONE)
        if everything is not None and memory.recorded_at <= everything.at:
            self._refuse("scope_erased")

    def _require_sources(self, memory: Memory) -> None:
        """What it was derived from is here, or it does not come: it would outlive its source."""
        for source in memory.derived_from:
            if self.draft.get(memory_ref(source)) is None:
                gone = self.draft.get(id_tombstone_ref(source)) is not None
                self._refuse("source_forgotten" if gone else "source_missing")

    def _refuse(self, reason: str) -> NoReturn:
        self.draft.record(Happening(Event.REFUSED, reason=reason, channel="import"))
        raise LineRefusedError(reason)

    def _meets(self, there: Memory, memory: Memory) -> str:
        """The id is taken: by the same, by something older, or by what the import leaves alone."""
        if is_same(there.fact, memory.fact):
            return "skipped"
        if self.rights.on_conflict is OnConflict.FAIL:
            raise LineConflictError
        is_newer = memory.updated_at > there.updated_at
        stands = there.status_at(self.draft.at) is Status.ACTIVE and memory.status is Status.ACTIVE
        if self.rights.on_conflict is OnConflict.SKIP or not (is_newer and stands):
            return "skipped"
        decide_edit(Edit(there.id, there.version, asdict(memory.fact)), self.draft, self.opened, self.world)
        return "renewed"

    def _has_place(self, memory: Memory) -> bool:
        """False if others hold its key and are to stay."""
        if memory.status is not Status.ACTIVE or not memory.fact.slot:
            return True
        self.draft.load(*overlapping(self.draft, memory.fact))
        rivals = [rival for ref in overlapping(self.draft, memory.fact) if (rival := self.draft.get(ref))]
        if not rivals:
            return True
        if self.rights.on_conflict is OnConflict.FAIL:
            raise LineConflictError
        newest = max(rival.updated_at for rival in rivals)
        return self.rights.on_conflict is OnConflict.NEWER and memory.updated_at > newest

    def _lift(self, memory: Memory) -> None:
        """Let the value be learned again: a person with the right to review asked for it."""
        refuse_secrets(self.draft, memory.fact.content, others=[memory.fact.data, memory.fact.metadata])
        for grave in standing_tombstones(self.draft, self.opened, memory.fact.content):
            self.draft.put(grave.lift(self.draft.seq))
            self.draft.record(Happening(Event.LIFTED, tombstone=grave.digest, channel="import"))

    def _command(self, portable: Portable) -> Remember:
        memory, source = portable.memory, portable.memory.source
        return Remember(
            fact=memory.fact,
            run_id=source.run_id,
            message_seqs=source.message_seqs,
            quote=source.quote,
            derived_from=memory.derived_from,
            channel="import",
            trust=self.rights.trust(memory.trust),
            memory_id=self._free_id(memory.id),
            model=source.model,
            doubts=self._doubts(memory),
            imported=self._imported(memory),
            past=self._past(portable),
        )

    def _free_id(self, memory_id: str) -> str | None:
        """The id it had, unless that was forgotten here: then a new one."""
        return None if self.draft.get(id_tombstone_ref(memory_id)) else memory_id

    def _doubts(self, memory: Memory) -> tuple[str, ...]:
        if memory.status is not Status.CANDIDATE:
            return ()
        return memory.review.reasons if memory.review and memory.review.reasons else ("imported",)

    def _imported(self, memory: Memory) -> Imported:
        source = memory.source
        return Imported(self.rights.job_id, source.channel, source.actor, memory.recorded_at)

    def _past(self, portable: Portable) -> Past | None:
        if not self.rights.is_reviewer:
            return None
        memory = portable.memory
        recorded, updated = self._before_now(memory.recorded_at), self._before_now(memory.updated_at)
        return Past(recorded, max(recorded, updated), memory.version)

    def _before_now(self, at: datetime) -> datetime:
        return min(at, self.draft.at)

    def _keep_past(self, stored: Memory, portable: Portable) -> None:
        """Put beside a new memory what it was before, and what it is doubted for."""
        kept = self._earlier(stored, portable)
        for version in kept:
            self.draft.put(Version(version))
        said = (value_digest(self.opened.keys, version.fact.content) for version in kept)
        values = tuple(dict.fromkeys(said)) if not stored.fact.is_item else ()
        stored = replace(stored, earlier_values=values, supersedes=self._replaced(stored, portable.memory))
        if stored.trust is Trust.DISPUTED and stored.status is Status.ACTIVE:
            reasons = portable.memory.review.reasons if portable.memory.review else ("imported",)
            stored = replace(stored, review=Review(reasons, since=self.draft.at))
            self.draft.put(Reviewable(stored.id, Waiting.DISPUTED, self.draft.at))
        self.draft.put(stored)

    def _replaced(self, stored: Memory, memory: Memory) -> tuple[str, ...]:
        """What it replaced, of what is here: who forgets it takes these along."""
        here = (
            (i for i in memory.supersedes if self.draft.get(memory_ref(i))) if self.rights.is_reviewer else ()
        )
        return tuple(dict.fromkeys((*stored.supersedes, *here)))

    def _earlier(self, stored: Memory, portable: Portable) -> tuple[Memory, ...]:
        """The versions that may come along: none says what was taken back, none holds a secret."""
        kept = []
        for version in self._versions(portable):
            if version.version < stored.version and self._is_harmless(version):
                kept.append(self._at_home(version, stored.id))
        return tuple(kept)

    def _is_harmless(self, version: Memory) -> bool:
        try:
            refuse_forbidden(self.draft, self.opened, version.fact, version.source.quote)
        except PolicyError:
            return False
        return True

    def _at_home(self, version: Memory, memory_id: str) -> Memory:
        """A version as this scope keeps it: under its own nonce, and in the importer's name."""
        return replace(
            version,
            id=memory_id,
            source=self._source(version),
            trust=self.rights.trust(version.trust),
            nonce=self.world.new_nonce(),
            recorded_at=self._before_now(version.recorded_at),
            updated_at=self._before_now(version.updated_at),
            seq=self.draft.seq,
        )

    def _source(self, memory: Memory) -> Source:
        """The importer is who acts here; whom the line names stands beside it."""
        actor, imported = self.opened.principal.id, self._imported(memory)
        return replace(memory.source, channel="import", actor=actor, imported=imported)

    def _as_history(self, portable: Portable) -> str:
        """What is no longer believed comes as what it is, with no say in what is: nobody recalls it."""
        if not self.rights.is_reviewer:
            self._refuse("history_needs_review")
        memory = portable.memory
        if self.draft.get(id_tombstone_ref(memory.id)):
            self._refuse("forgotten_id")
        refuse_forbidden(self.draft, self.opened, memory.fact, memory.source.quote)
        home = self._at_home(memory, memory.id)
        past = replace(home, review=None, corroborations=(), derivatives=(), supersedes=())
        stored = self.draft.believe(past)
        build_on(memory.derived_from, stored, self.draft)
        self._keep_past(stored, portable)
        self.draft.record(
            Happening(Event.BROUGHT, stored.id, stored.version, commitment(stored), channel="import")
        )
        return "imported"
