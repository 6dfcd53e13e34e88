"""`unsay-admin migrate`: what an earlier release stored, in the form of this one."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from unsay_core.adapters.world import real_world
from unsay_core.admin.stack import DEFAULT_STACK, Stack
from unsay_core.application.migrations import MIGRATIONS, Migrated, migrate

console = Console(stderr=True)


def migrate_command(
    stack: Annotated[str, typer.Option(help="Name of the CloudFormation stack.")] = DEFAULT_STACK,
) -> None:
    """Bring what earlier releases stored to the form of this one: unsay-admin migrate --stack unsay-dev.

    It runs beside the live service and may be stopped at any time: the same command goes on where it was.
    """
    world = real_world()
    operator = Stack.named(stack).operator(world)
    said = operator.say_forms()
    console.print(f"0: say the form of each counter: {said} changed", highlight=False)
    scopes = list(operator.scopes())
    for migration in MIGRATIONS:
        done, changed = Migrated(0), 0
        with console.status(f"{migration.number}: {migration.name} …") as status:
            steps = migrate(
                migration,
                scopes,
                operator.open_scope,
                world,
                operator.bookmark_of(f"MIGRATE#{migration.number}"),
            )
            for done in steps:
                changed = max(changed, done.changed)
                status.update(f"{migration.number}: {migration.name}: {done.scopes} of {len(scopes)} scopes")
        console.print(
            f"{migration.number}: {migration.name}: {len(scopes)} scopes, {changed} changed", highlight=False
        )
        if done.busy:
            console.print(f"{done.busy} scopes were too busy: run it again", highlight=False)
            raise typer.Exit(4)
