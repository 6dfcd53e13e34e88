"""`unsay-admin reindex`: documents and index anew, in place or into a new generation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from unsay_core.adapters.world import real_world
from unsay_core.admin.stack import DEFAULT_STACK, Stack
from unsay_core.application.generations import Filled, fill, fill_all
from unsay_core.application.reindex import Reached, Rebuilt, rebuild_all
from unsay_core.domain.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unsay_core.application.generations import Step
    from unsay_core.application.ports import Documents, OpenScope, World
    from unsay_core.application.reindex import Bookmark
    from unsay_core.bootstrap.operator import Operator

console = Console(stderr=True)


def reindex_command(
    scope: Annotated[str, typer.Option(help="The scope to rebuild; leave out with --all.")] = "",
    every: Annotated[bool, typer.Option("--all", help="Rebuild every scope.")] = False,
    into: Annotated[int, typer.Option(help="Fill this generation of the index and leave the others.")] = 0,
    switch: Annotated[bool, typer.Option(help="With --all --into: read it from then on.")] = False,
    stack: Annotated[str, typer.Option(help="Name of the CloudFormation stack.")] = DEFAULT_STACK,
) -> None:
    """Rebuild documents and index from the ledger: unsay-admin reindex --all --into 2 --switch.

    Without --into, documents and index are written anew in place. It may be stopped at any time: the same
    command goes on where it was.
    """
    if bool(scope) == every:
        raise typer.BadParameter("name one scope with --scope, or take --all")
    if switch and not (every and into):
        raise typer.BadParameter("--switch reads what --all --into has filled")
    world = real_world()
    operator = Stack.named(stack).operator(world)
    scopes = list(operator.scopes()) if every else [Scope.parse(scope)]
    if not into:
        _rebuild(scopes, operator, world, operator.bookmark if every else _Unmarked())
        return
    if into not in operator.generations:
        raise typer.BadParameter(f"{stack} has no generation {into}: it lists {sorted(operator.generations)}")
    _fill(scopes, into, operator, world)
    if switch:
        _switch(into, operator)


def _rebuild(scopes: list[Scope], operator: Operator, world: World, bookmark: Bookmark) -> None:
    def opened(scope: Scope) -> tuple[OpenScope, Documents]:
        found = operator.open_scope(scope)
        return found, operator.documents(found)

    done = Rebuilt(0, 0)
    with _progress("memories asked for") as progress:
        bar = progress.add_task("rebuilding", total=len(scopes), told=0)
        for done in rebuild_all(scopes, opened, world, bookmark):
            progress.update(bar, completed=done.scopes, told=done.memories)
    console.print(f"{done.memories} memories of {done.scopes} scopes are being written anew", highlight=False)


def _fill(scopes: list[Scope], into: int, operator: Operator, world: World) -> None:
    def walk(scope: Scope) -> Iterator[Step]:
        opened = operator.open_scope(scope)
        return fill(opened, operator.index(into, opened), operator.queue, world.clock)

    done = Filled(0, 0)
    with _progress("memories missing") as progress:
        bar = progress.add_task(f"filling generation {into}", total=len(scopes), told=0)
        for done in fill_all(scopes, walk, world.clock):
            refused = f", {done.refused} refused" if done.refused else ""
            progress.update(bar, completed=done.complete, told=f"{done.missing}{refused}")
    console.print(
        f"generation {into} has all {done.seen} memories of {done.complete} scopes", highlight=False
    )


def _switch(to: int, operator: Operator) -> None:
    before = operator.pointer.current()
    if before != to:
        operator.pointer.turn(to, instead_of=before)
    console.print(f"generation {to} is read, everywhere within a minute", highlight=False)


def _progress(what: str) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("scopes · {task.fields[told]} " + what),
        console=console,
    )


class _Unmarked:
    """See `Bookmark`: one scope is rebuilt from its beginning."""

    def read(self) -> None: ...

    def put(self, reached: Reached) -> None: ...

    def remove(self) -> None: ...
