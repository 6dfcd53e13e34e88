"""Uploads: a transcript handed in as a file becomes the same messages as if it had been sent.

The file is asked for, which notes who did and in which scope; it lies under that scope's prefix until it has
been read. A file that cannot be read keeps nothing back silently: the upload has failed, and says why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol, TypeAlias

from unsay_core.application.conversations import record, run_happening
from unsay_core.application.draft import Draft
from unsay_core.application.ledger import run_ref, upload_ref
from unsay_core.application.ports import OpenScope
from unsay_core.application.replay import earlier_outcome, keep_outcome
from unsay_core.application.settle import change, settle
from unsay_core.domain.audit import Event
from unsay_core.domain.errors import ForgottenError, NotFoundError, SeqConflictError, TooLargeError
from unsay_core.extraction.conversation import Run, Upload, UploadState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from unsay_core.application.conversations import Said
    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import World
    from unsay_core.application.replay import IdempotencyKey
    from unsay_core.extraction.steering import Steering

UPLOAD = "upl"
TOGETHER = 50  # messages in one transaction
TOGETHER_BYTES = 256 * 1024
WAITED_FOR = timedelta(days=8)  # a day longer than the bucket keeps what nobody could read


@dataclass(frozen=True, slots=True)
class Address:
    """Where a file is put, and how: one request, with exactly these headers, within so many seconds."""

    url: str
    method: str
    headers: Mapping[str, str]
    seconds: int


@dataclass(frozen=True, slots=True)
class WaitingFile:
    """A file that lies there: of which upload, and since when."""

    run_id: str
    upload_id: str
    at: datetime


Parse: TypeAlias = "Callable[[bytes], Sequence[Said]]"


class TranscriptError(Exception):
    """A file that is no transcript; `reason` says what is wrong with it, without its text."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Transcripts(Protocol):
    """The files of one scope that wait to be read."""

    def address(self, run_id: str, upload_id: str) -> Address:
        """Where a file is put; whoever holds it may put that file, once, and nothing else."""

    def read(self, run_id: str, upload_id: str) -> bytes:
        """A file of at most `UPLOAD_BYTES`; raises `TranscriptError`."""

    def remove(self, run_id: str, upload_id: str) -> None:
        """Remove a file; one that is not there is removed already."""

    def waiting(self) -> Iterator[WaitingFile]:
        """Every file that lies there, whether or not anybody expects it."""


@dataclass(frozen=True, slots=True)
class IntakeScope(OpenScope):
    """A scope opened to be written to: with the place where its files are handed in."""

    transcripts: Transcripts


@dataclass(frozen=True, slots=True)
class Intake:
    """What reading the uploads of one scope takes; `give_up` tells an operator of one that failed."""

    opened: OpenScope
    world: World
    steering: Steering
    files: Transcripts
    parse: Parse
    give_up: Callable[[], None]


def expect_upload(
    run_id: str, opened: OpenScope, world: World, key: IdempotencyKey | None
) -> tuple[Upload, bool]:
    """Note that a file will come, and whether this very request noted it before.

    Raises `IdempotencyMismatchError`, `ForgottenError`, `BusyError`.
    """
    upload_id = world.new_id(UPLOAD)

    def decide(draft: Draft) -> tuple[Upload, bool]:
        earlier = earlier_outcome(key, draft)
        if earlier is not None:
            known = draft.get(upload_ref(run_id, earlier.memory_id))
            if known is None:
                raise ForgottenError("what this request made has been forgotten")
            return known, True
        if draft.get(run_ref(run_id)) is None:
            draft.put(Run(run_id, started_at=draft.at, last_at=draft.at, revision=1))
        until = int((draft.at + WAITED_FOR).timestamp())
        name, actor = opened.scope.canonical, opened.principal.id
        upload = Upload(run_id, upload_id, actor, draft.at, name, ttl=until)
        draft.put(upload)
        draft.record(run_happening(Event.UPLOADING, run_id, opened))
        if key is not None:
            keep_outcome(key, 201, upload_id, 1, draft)
        return upload, False

    refs = [run_ref(run_id), *([key.ref] if key else [])]
    return change(decide, opened, world, lambda: refs)


def take_in(run_id: str, upload_id: str, intake: Intake) -> None:
    """Keep the messages of a file that has come, and hand all of them to the extractor.

    A file is read whole before anything of it is kept. One whose conversation was forgotten meanwhile is
    removed unread. Raises `BusyError`, `UnavailableError`: then it is to be tried again.
    """
    ref = upload_ref(run_id, upload_id)
    upload = intake.opened.ledger.read([ref]).get(ref)
    if upload is not None and upload.state is not UploadState.DONE:
        try:
            _keep(ref, run_id, intake)
        except NotFoundError:
            pass  # forgotten while it was read
        except TranscriptError as fault:
            _fail(ref, fault.reason, intake)
            return
        except (SeqConflictError, TooLargeError) as refusal:
            _fail(ref, refusal.code, intake)
            return
    intake.files.remove(run_id, upload_id)


def _keep(ref: Ref[Upload], run_id: str, intake: Intake) -> None:
    messages = intake.parse(intake.files.read(run_id, ref.id.rpartition("#")[2]))
    if not messages:
        raise TranscriptError("empty")
    groups = list(_together(messages))
    for number, group in enumerate(groups, 1):
        is_last = number == len(groups)
        record(run_id, group, intake.steering, intake.opened, intake.world, flush=is_last, only_while=ref)
    _note(ref, intake, UploadState.DONE)


def _together(messages: Sequence[Said]) -> Iterator[list[Said]]:
    """Messages in the groups that one transaction takes."""
    group: list[Said] = []
    size = 0
    for message in messages:
        if group and (len(group) == TOGETHER or size + len(message.identity) > TOGETHER_BYTES):
            yield group
            group, size = [], 0
        group.append(message)
        size += len(message.identity)
    yield group


def _fail(ref: Ref[Upload], reason: str, intake: Intake) -> None:
    """An operator is told first, and the file stays for as long as the bucket keeps it."""
    intake.give_up()
    _note(ref, intake, UploadState.FAILED, reason)


def _note(ref: Ref[Upload], intake: Intake, state: UploadState, reason: str | None = None) -> None:
    def attempt() -> None:
        draft = Draft(intake.opened, intake.world.clock.now(), [ref])
        upload = draft.get(ref)
        if upload is None:
            return
        name = None if state is UploadState.DONE else upload.scope
        draft.put(
            replace(upload, state=state, error=reason, scope=name, ttl=None, revision=upload.revision + 1)
        )
        if state is UploadState.FAILED:
            draft.record(run_happening(Event.GIVEN_UP, upload.run_id, intake.opened, reason=reason))
        draft.commit()

    settle(attempt, intake.world)
