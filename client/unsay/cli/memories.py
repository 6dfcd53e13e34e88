"""Commands on memories."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

import unsay
from unsay.cli import show
from unsay.cli.session import (
    JsonOption,
    LimitOption,
    MemoryArgument,
    NoteOption,
    ReasonOption,
    ScopeOption,
    Session,
    VersionOption,
    answer,
    confirm,
)
from unsay_core.contracts import exact_json
from unsay_core.contracts.base import DEPTH
from unsay_core.domain.errors import InvalidRequestError

app = typer.Typer()

CursorOption = Annotated[str | None, typer.Option(help="Go on where the last page ended.")]
KindOption = Annotated[unsay.Kind, typer.Option(help="What sort of memory it is.")]
TagOption = Annotated[list[str], typer.Option("--tag", "-t", help="A tag; may be given several times.")]
SlotOption = Annotated[str | None, typer.Option("--key", "-k", help="A slot that holds one memory.")]
DataOption = Annotated[str | None, typer.Option(help="JSON that goes with it.")]
FromOption = Annotated[str | None, typer.Option("--from", help="True from then on: 2026-05-01T00:00:00Z.")]
ToOption = Annotated[str | None, typer.Option("--to", help="True until then.")]


def _json(text: str | None) -> object:
    if text is None:
        return None
    try:
        return exact_json.loads(text, max_depth=DEPTH)
    except InvalidRequestError:
        raise typer.BadParameter("--data is JSON") from None


def _words(given: str) -> str:
    """What was given, or the standard input for `-`."""
    return sys.stdin.read().strip() if given == "-" else given


@app.command()
def remember(
    context: typer.Context,
    content: Annotated[str, typer.Argument(help="What to remember; - reads the standard input.")],
    scope: ScopeOption = None,
    kind: KindOption = unsay.Kind.SEMANTIC,
    key: SlotOption = None,
    tags: TagOption = [],  # noqa: B006 - Typer copies it
    importance: Annotated[float, typer.Option(min=0, max=1, help="How much it matters, 0 to 1.")] = 0.5,
    data: DataOption = None,
    valid_from: FromOption = None,
    valid_to: ToOption = None,
    ttl: Annotated[int | None, typer.Option(min=1, help="Seconds until it expires.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Remember a fact.

    Example: unsay remember "Alice lives in Lisbon." --scope acme/users/alice --key home_city
    """
    session: Session = context.obj
    made = session.memory.remember(
        _words(content),
        scope=session.scope(scope),
        kind=kind,
        key=key,
        tags=tags,
        importance=importance,
        data=_json(data),
        valid_from=valid_from,
        valid_to=valid_to,
        ttl_seconds=ttl,
    )
    answer(made, show.memory(made), wants_json=as_json)


@app.command()
def recall(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What is asked.")],
    scope: ScopeOption = None,
    limit: LimitOption = 5,
    kinds: Annotated[list[unsay.Kind], typer.Option("--kind", help="Only these; may be repeated.")] = [],  # noqa: B006
    tags: TagOption = [],  # noqa: B006
    valid_at: Annotated[str | None, typer.Option(help="What was true then.")] = None,
    known_at: Annotated[str | None, typer.Option(help="What was believed then.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Recall the memories that answer a question best.

    Example: unsay recall "Where does Alice live?" --scope acme/users/alice
    """
    session: Session = context.obj
    found = session.memory.recall(
        query,
        scope=session.scope(scope),
        limit=limit,
        kinds=kinds or None,
        tags=tags,
        valid_at=valid_at,
        known_at=known_at,
    )
    answer(found, show.recalled(found), wants_json=as_json)


@app.command("list")
def list_memories(
    context: typer.Context,
    scope: ScopeOption = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    status: Annotated[unsay.Status, typer.Option(help="Only those.")] = unsay.Status.ACTIVE,
    kind: Annotated[unsay.Kind | None, typer.Option(help="Only those.")] = None,
    tag: Annotated[str | None, typer.Option("--tag", "-t", help="Only those with it.")] = None,
    key: SlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """List memories, newest first.

    Example: unsay list --scope acme/users/alice --status superseded
    """
    session: Session = context.obj
    page = session.memory.list(
        scope=session.scope(scope),
        limit=limit,
        cursor=cursor,
        status=status,
        kind=kind,
        tag=tag,
        key=key,
    )
    answer(page, show.memories(page), wants_json=as_json)


@app.command()
def get(
    context: typer.Context,
    memory_id: MemoryArgument,
    scope: ScopeOption = None,
    known_at: Annotated[str | None, typer.Option(help="As it was believed then.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show one memory, whatever its status.

    Example: unsay get mem_01j5… --scope acme/users/alice
    """
    session: Session = context.obj
    found = session.memory.get(memory_id, scope=session.scope(scope), known_at=known_at)
    answer(found, show.memory(found), wants_json=as_json)


@app.command()
def history(
    context: typer.Context,
    memory_id: MemoryArgument,
    scope: ScopeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a memory said over time, and what happened to it; of a forgotten one the events only.

    Example: unsay history mem_01j5… --scope acme/users/alice
    """
    session: Session = context.obj
    found = session.memory.history(memory_id, scope=session.scope(scope))
    answer(found, show.history(found), wants_json=as_json)


@app.command()
def edit(
    context: typer.Context,
    memory_id: MemoryArgument,
    scope: ScopeOption = None,
    content: Annotated[str | None, typer.Option(help="Other words.")] = None,
    key: Annotated[str | None, typer.Option("--key", "-k", help='Another slot; "" takes it out.')] = None,
    tags: Annotated[list[str], typer.Option("--tag", "-t", help="The tags, all of them.")] = [],  # noqa: B006
    importance: Annotated[float | None, typer.Option(min=0, max=1)] = None,
    data: DataOption = None,
    version: VersionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Edit a memory in place: what is not named stays. If the world changed, correct it instead.

    Example: unsay edit mem_01j5… --tag profile --importance 0.9 --scope acme/users/alice
    """
    session: Session = context.obj
    named = {"content": content, "tags": tags, "importance": importance, "data": _json(data)}
    fields: dict[str, Any] = {name: value for name, value in named.items() if value not in (None, [])}
    fields |= {} if key is None else {"key": key or None}
    edited = session.memory.edit(
        memory_id, scope=session.scope(scope), version=session.version(memory_id, scope, version), **fields
    )
    answer(edited, show.memory(edited), wants_json=as_json)


@app.command()
def correct(
    context: typer.Context,
    memory_id: MemoryArgument,
    content: Annotated[str, typer.Argument(help="What holds instead; - reads the standard input.")],
    because: Annotated[unsay.Because, typer.Option(help="The world changed, or it was wrong.")],
    scope: ScopeOption = None,
    valid_from: FromOption = None,
    note: NoteOption = None,
    version: VersionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace a memory. What was wrong is not learned again; what changed was true until then.

    Example: unsay correct mem_01j5… "Alice lives in Porto." --because changed --scope acme/users/alice
    """
    session: Session = context.obj
    new = session.memory.correct(
        memory_id,
        _words(content),
        because=because,
        note=note,
        scope=session.scope(scope),
        version=session.version(memory_id, scope, version),
        valid_from=valid_from or unsay.KEEP,
    )
    answer(new, show.memory(new), wants_json=as_json)


@app.command()
def retract(
    context: typer.Context,
    memory_id: MemoryArgument,
    reason: ReasonOption,
    scope: ScopeOption = None,
    note: NoteOption = None,
    version: VersionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a memory back that was never true: out of recall, its value is not learned again.

    Example: unsay retract mem_01j5… --reason incorrect --scope acme/users/alice
    """
    session: Session = context.obj
    found = session.memory.retract(
        memory_id,
        reason=reason,
        note=note,
        scope=session.scope(scope),
        version=session.version(memory_id, scope, version),
    )
    answer(found, show.memory(found), wants_json=as_json)


@app.command()
def dispute(
    context: typer.Context,
    memory_id: MemoryArgument,
    reason: ReasonOption,
    scope: ScopeOption = None,
    note: NoteOption = None,
    version: VersionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Doubt a memory: out of recall until a person has decided.

    Example: unsay dispute mem_01j5… --reason incorrect --scope acme/users/alice
    """
    session: Session = context.obj
    found = session.memory.dispute(
        memory_id,
        reason=reason,
        note=note,
        scope=session.scope(scope),
        version=session.version(memory_id, scope, version),
    )
    answer(found, show.memory(found), wants_json=as_json)


@app.command()
def forget(
    context: typer.Context,
    memory_id: MemoryArgument,
    reason: ReasonOption,
    scope: ScopeOption = None,
    keep_value: Annotated[
        bool, typer.Option("--value-may-return", help="Bury the id alone: the value may be written anew.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Forget a memory and what it replaced, everywhere, for good; prints the receipt.

    Example: unsay forget mem_01j5… --reason user_request --scope acme/users/alice --yes
    """
    session: Session = context.obj
    confirm(lambda: f"Forget {memory_id} for good?", yes=yes)
    found = session.memory.forget(
        memory_id,
        reason=reason,
        scope=session.scope(scope),
        tombstone="id" if keep_value else "value",
    )
    answer(found, show.receipt(found), wants_json=as_json)
