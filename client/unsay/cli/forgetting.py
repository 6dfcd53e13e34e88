"""Commands that forget many memories at once."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import unsay
from unsay.cli import show
from unsay.cli.session import JsonOption, ReasonOption, ScopeOption, Session, answer, confirm

app = typer.Typer()


def _selector(scope: str, everything: bool, ids: list[str], run: str | None, fields: Any) -> dict[str, Any]:
    """What is selected; that it is one thing, the service says."""
    given = {name: value for name, value in fields.items() if value}
    whole: dict[str, Any] = {"all": True, "confirm": scope} if everything else {}
    parts = {"ids": ids, "run_id": run, "filter": given}
    return whole | {name: value for name, value in parts.items() if value}


@app.command("forget-all")
def forget_all(
    context: typer.Context,
    reason: ReasonOption,
    scope: ScopeOption = None,
    ids: Annotated[list[str], typer.Option("--id", help="This memory; may be given several times.")] = [],  # noqa: B006 - Typer copies it
    run: Annotated[str | None, typer.Option(help="A conversation, and what came of it.")] = None,
    kind: Annotated[unsay.Kind | None, typer.Option(help="Memories of this sort.")] = None,
    tags: Annotated[list[str], typer.Option("--tag", "-t", help="Memories with this tag.")] = [],  # noqa: B006 - Typer copies it
    key: Annotated[str | None, typer.Option("--key", "-k", help="What this slot holds.")] = None,
    before: Annotated[str | None, typer.Option(help="Recorded before then: 2026-05-01T00:00:00Z.")] = None,
    after: Annotated[str | None, typer.Option(help="Recorded after then.")] = None,
    everything: Annotated[bool, typer.Option(help="All of the scope: its person is gone.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Only say what is selected.")] = False,
    keep_value: Annotated[
        bool, typer.Option("--value-may-return", help="Bury the ids alone: the values may be written anew.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Forget all that is selected, everywhere, for good; prints the receipt, which a job completes.

    Example: unsay forget-all --tag trip --reason user_request --scope acme/users/alice --yes
    """
    session: Session = context.obj
    where = session.scope(scope)
    fields = {"kind": kind, "tags": tags, "key": key, "before": before, "after": after}
    selector = _selector(where, everything, ids, run, fields)
    if dry_run:
        selected = session.memory.would_forget(scope=where, **selector)
        answer(selected, show.selected(selected), wants_json=as_json)
        return

    def question() -> str:
        found = session.memory.would_forget(scope=where, **selector)
        return f"Forget {found.matched}{' or more' if found.next else ''} memories for good?"

    confirm(question, yes=yes)
    found = session.memory.forget_all(
        scope=where, reason=reason, tombstone="id" if keep_value else "value", **selector
    )
    answer(found, show.receipt(found), wants_json=as_json)


@app.command()
def prune(context: typer.Context, scope: ScopeOption = None, as_json: JsonOption = False) -> None:
    """Erase what has expired; its values may be written again.

    Example: unsay prune --scope acme/users/alice
    """
    session: Session = context.obj
    found = session.memory.prune(scope=session.scope(scope))
    answer(found, show.receipt(found), wants_json=as_json)
