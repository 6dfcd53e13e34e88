"""Commands on work that takes a while: memories that say nearly the same become one."""

from __future__ import annotations

from typing import Annotated

import typer

import unsay
from unsay.cli import show
from unsay.cli.session import JsonOption, ScopeOption, Session, answer

app = typer.Typer()


@app.command()
def consolidate(
    context: typer.Context,
    scope: ScopeOption = None,
    threshold: Annotated[float, typer.Option(help="The share of their words in common.")] = 0.85,
    cosine: Annotated[float, typer.Option(help="The likeness of their vectors that does it too.")] = 0.95,
    kinds: Annotated[list[unsay.Kind], typer.Option("--kind", help="Only these; may be repeated.")] = [],  # noqa: B006
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only find them.")] = False,
    undo: Annotated[str | None, typer.Option(metavar="ID", help="Take back what that job merged.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Merge memories that say nearly the same; prints the job that does it.

    Example: unsay consolidate --scope acme/users/alice --dry-run
    """
    session: Session = context.obj
    found = session.memory.consolidate(
        scope=session.scope(scope),
        threshold=threshold,
        cosine=cosine,
        kinds=kinds or None,
        dry_run=dry_run,
        undo=undo,
    )
    answer(found, show.job(found), wants_json=as_json)


@app.command()
def job(
    context: typer.Context,
    job_id: Annotated[str, typer.Argument(metavar="ID", help="The job: job_…")],
    scope: ScopeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how far a job is, and what came of it.

    Example: unsay job job_01j5… --scope acme/users/alice
    """
    session: Session = context.obj
    found = session.memory.job(job_id, scope=session.scope(scope))
    answer(found, show.job(found), wants_json=as_json)
