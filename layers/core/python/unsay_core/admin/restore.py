"""`unsay-admin restore-check`: a table that came from a backup, held against what was taken back since."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from unsay_core.adapters.world import real_world
from unsay_core.admin.stack import DEFAULT_STACK, Stack
from unsay_core.application.restore import Restored, check_restored

console = Console(stderr=True)


def restore_check_command(
    ledger: Annotated[str, typer.Option(help="The restored ledger table; else the stack's own.")] = "",
    record: Annotated[str, typer.Option(help="A restored record table; else the stack's own.")] = "",
    stack: Annotated[str, typer.Option(help="Name of the CloudFormation stack.")] = DEFAULT_STACK,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a script.")] = False,
) -> None:
    """Erase from a restored table what was taken back since: unsay-admin restore-check --ledger TABLE.

    Until it has run to its end no function serves from that table, for the table says itself that it is
    another one's copy. It may be stopped and run again.
    """
    world = real_world()
    operator = Stack.named(stack).operator(world)
    own_ledger, own_record = operator.tables
    tables = ledger or own_ledger, record or own_record
    done, scopes = Restored(), list(operator.scopes())
    with _progress() as progress:
        bar = progress.add_task("checking", total=len(scopes))
        for scope in scopes:
            opened = operator.restored(scope, *tables)
            done += check_restored(operator.graves(opened), opened, world)
            progress.advance(bar)
    operator.marks(*tables).mark()
    if as_json:
        typer.echo(json.dumps(_told(done, len(scopes))))
    else:
        for name, count in _told(done, len(scopes)).items():
            console.print(f"{name}: {count}", highlight=False)


def _told(done: Restored, scopes: int) -> dict[str, int]:
    return {
        "scopes": scopes,
        "tombstones": done.tombstones,
        "erased": done.erased,
        "retracted": done.retracted,
        "redacted": done.redacted,
    }


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("scopes"),
        console=console,
    )
