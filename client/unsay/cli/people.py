"""Commands for those who answer for what is remembered: receipts, tombstones, the audit log, keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.text import Text

import unsay
from unsay.cli import show
from unsay.cli.memories import CursorOption
from unsay.cli.review import review
from unsay.cli.session import (
    JsonOption,
    LimitOption,
    NoteOption,
    ReasonOption,
    ScopeOption,
    Session,
    answer,
)
from unsay.proof import ReceiptError, check, read_receipt, receipt_of
from unsay.receipt_page import page as printed

app = typer.Typer()
erasures = typer.Typer(help="Receipts of what was forgotten.", no_args_is_help=True)
tombstones = typer.Typer(help="What must not come back.", no_args_is_help=True)
audit = typer.Typer(help="What happened, in a chain that can be checked.", no_args_is_help=True)
keys = typer.Typer(help="Credentials for agents and people.", no_args_is_help=True)
app.add_typer(erasures, name="erasure")
app.add_typer(tombstones, name="tombstone")
app.add_typer(audit, name="audit")
app.add_typer(keys, name="keys")
app.command()(review)


@erasures.command("show")
def show_erasure(
    context: typer.Context,
    erasure_id: Annotated[str, typer.Argument(metavar="ID", help="The receipt: era_…")],
    scope: ScopeOption = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-o", help="Keep it with its proof: a page to print (.html), or JSON."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a receipt: what was forgotten, and what is proven of each store.

    Example: unsay erasure show era_01j5… --scope acme/users/alice --file receipt.html
    """
    session: Session = context.obj
    where = session.scope(scope)
    if file is not None:
        document = receipt_of(session.memory, erasure_id, where)
        is_page = file.suffix.lower() in (".html", ".htm")
        file.write_text(printed(document) if is_page else json.dumps(document, ensure_ascii=False, indent=1))
        Console(stderr=True).print(f"written to {file}", markup=False, highlight=False)
        return
    found = session.memory.erasure(erasure_id, scope=where)
    answer(found, show.receipt(found), wants_json=as_json)


@erasures.command("list")
def list_erasures(
    context: typer.Context,
    scope: ScopeOption = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    as_json: JsonOption = False,
) -> None:
    """List receipts, newest first.

    Example: unsay erasure list --scope acme/users/alice
    """
    session: Session = context.obj
    page = session.memory.erasures(scope=session.scope(scope), limit=limit, cursor=cursor)
    rows = ((e.id, e.state, e.reason, e.requested_at, e.erased) for e in page.items)
    drawn = show.table(("id", "state", "reason", "requested", "erased"), rows, more=page.next_cursor)
    answer(page, drawn, wants_json=as_json)


@tombstones.command("list")
def list_tombstones(
    context: typer.Context,
    scope: ScopeOption = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    as_json: JsonOption = False,
) -> None:
    """List tombstones: digests and ids, never words.

    Example: unsay tombstone list --scope acme/users/alice
    """
    session: Session = context.obj
    page = session.memory.tombstones(scope=session.scope(scope), limit=limit, cursor=cursor)
    rows = ((t.id, t.kind, t.at, t.reason, t.hits, "lifted" if t.lifted else "") for t in page.items)
    drawn = show.table(("id", "of", "since", "reason", "hits", ""), rows, more=page.next_cursor)
    answer(page, drawn, wants_json=as_json)


@tombstones.command("lift")
def lift_tombstone(
    context: typer.Context,
    tombstone_id: Annotated[str, typer.Argument(metavar="ID", help="As `unsay tombstone list` shows it.")],
    reason: ReasonOption,
    scope: ScopeOption = None,
    note: NoteOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a value be learned again; audited, and for people only.

    Example: unsay tombstone lift value:3f… --reason incorrect --scope acme/users/alice
    """
    session: Session = context.obj
    found = session.memory.lift_tombstone(tombstone_id, scope=session.scope(scope), reason=reason, note=note)
    answer(found, Text(f"{found.id} is lifted"), wants_json=as_json)


@audit.command("list")
def list_audit(
    context: typer.Context,
    scope: ScopeOption = None,
    after: Annotated[int, typer.Option(help="Entries behind this one.")] = 0,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what happened in a scope, in order.

    Example: unsay audit list --scope acme/users/alice --after 100
    """
    session: Session = context.obj
    page = session.memory.audit(scope=session.scope(scope), after=after, limit=limit, cursor=cursor)
    answer(page, show.events(page), wants_json=as_json)


@audit.command("verify")
def verify_audit(
    context: typer.Context,
    scope: ScopeOption = None,
    start: Annotated[int, typer.Option("--from", min=1, help="The entry to begin with.")] = 1,
    receipt: Annotated[
        Path | None, typer.Option(help="Check this receipt instead, by itself: no service is asked.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Walk the audit chain of a scope to its end. Exits with 3 if it is broken.

    Example: unsay audit verify --scope acme/users/alice
    """
    if receipt is not None:
        _check_receipt(receipt)
        return
    session: Session = context.obj
    where = session.scope(scope)
    with Console(stderr=True).status("walking the chain …") as status:
        found = session.memory.verify_audit(scope=where, start=start)
        while found.ok and found.next is not None:
            status.update(f"walking the chain … through entry {found.next - 1} of {found.length}")
            found = session.memory.verify_audit(scope=where, start=found.next)
    answer(found, show.verification(found), wants_json=as_json)
    if not found.ok:
        raise typer.Exit(3)


def _check_receipt(file: Path) -> None:
    """Say what a receipt proves by itself, and what is left to look up."""
    try:
        found = check(read_receipt(file.read_text()))
    except (OSError, UnicodeDecodeError):
        raise typer.BadParameter(f"{file} cannot be read", param_hint="--receipt") from None
    except ReceiptError as broken:
        Console(stderr=True).print(f"It does not hold: {broken}.", style="red", markup=False, highlight=False)
        raise typer.Exit(3) from None
    typer.echo(f"{found.erasure_id} is recorded by entry {found.entry}; {found.entries} entries hold.")
    typer.echo(
        f"The last of them is anchored at {found.anchor}" if found.anchor else "None of them is anchored yet."
    )


@app.command()
def stats(context: typer.Context, scope: ScopeOption = None, as_json: JsonOption = False) -> None:
    """Count what a scope holds, and how far its index lags.

    Example: unsay stats --scope acme/users/alice
    """
    session: Session = context.obj
    found = session.memory.statistics(scope=session.scope(scope))
    answer(found, show.statistics(found), wants_json=as_json)


@app.command()
def scopes(
    context: typer.Context,
    prefix: Annotated[str | None, typer.Argument(help="Only those at it and below it.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the scopes that are known, of those you may read.

    Example: unsay scopes acme
    """
    session: Session = context.obj
    found = session.memory.scopes(prefix=prefix)
    answer(found, show.table(("scope",), ((scope,) for scope in found.items)), wants_json=as_json)


@keys.command("make")
def make_key(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is for.")],
    grants: Annotated[
        list[str],
        typer.Option("--grant", "-g", help="A scope and what for: 'acme/*=read,write'."),
    ],
    kind: Annotated[Literal["agent", "human"], typer.Option(help="Only a human reviews.")] = "agent",
    expires_at: Annotated[str | None, typer.Option(help="When it ends: 2027-01-01T00:00:00Z.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make an API key. Its secret is shown this once.

    Example: unsay keys make shop --grant 'acme/*=read,write'
    """
    session: Session = context.obj
    made = session.memory.make_key(name, kind=kind, grants=dict(map(_grant, grants)), expires_at=expires_at)
    answer(made, Text(made.secret), wants_json=as_json)


@keys.command("list")
def list_keys(
    context: typer.Context, limit: LimitOption = 20, cursor: CursorOption = None, as_json: JsonOption = False
) -> None:
    """List the API keys that you administer; never their secrets.

    Example: unsay keys list
    """
    session: Session = context.obj
    page = session.memory.keys(limit=limit, cursor=cursor)
    rows = (
        (k.id, k.name, k.kind, ", ".join(g.scope for g in k.grants), k.last_used, _end(k)) for k in page.items
    )
    columns = ("id", "name", "kind", "scopes", "last used", "ends")
    answer(page, show.table(columns, rows, more=page.next_cursor), wants_json=as_json)


@keys.command("revoke")
def revoke_key(
    context: typer.Context,
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key: key_…")],
    as_json: JsonOption = False,
) -> None:
    """Revoke an API key, and what was delegated with it; it stops within a minute.

    Example: unsay keys revoke key_01j5…
    """
    session: Session = context.obj
    found = session.memory.revoke_key(key_id)
    answer(found, Text(f"{found.id} is revoked"), wants_json=as_json)


@app.command()
def delegate(
    context: typer.Context,
    actions: Annotated[list[str], typer.Option("--action", "-a", help="What it may do: read, write, …")],
    ttl: Annotated[int, typer.Option(min=1, max=3600, help="For how many seconds.")] = 600,
    scope: ScopeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a weaker key for a sub-agent, for an hour at the most. Its secret is shown this once.

    Example: unsay delegate --action read --ttl 600 --scope acme/users/alice
    """
    session: Session = context.obj
    made = session.memory.delegate(actions, ttl_seconds=ttl, scope=scope or session.profile.scope)
    answer(made, Text(made.secret), wants_json=as_json)


def _end(key: unsay.ListedKeyOut) -> object:
    return "revoked" if key.revoked_at else key.expires_at


def _grant(text: str) -> tuple[str, list[str]]:
    scope, equals, actions = text.rpartition("=")
    if not equals:
        raise typer.BadParameter("a grant is SCOPE=ACTION,ACTION", param_hint="--grant")
    return scope, actions.split(",")
