"""`unsay serve`: a scope as an MCP server on the standard streams."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from unsay.cli.profiles import ProfileError
from unsay.cli.session import ScopeOption, Session

app = typer.Typer()


@app.command()
def serve(
    context: typer.Context,
    scope: ScopeOption = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="No tool that changes anything.")] = False,
    review: Annotated[
        bool, typer.Option("--review", help="Tools to decide what is believed, for a person's credential.")
    ] = False,
) -> None:
    """Serve one scope to an MCP host, on the standard streams.

    Example: unsay serve --scope acme/users/alice
    """
    try:
        from unsay.mcp import server_of
    except ModuleNotFoundError as missing:
        raise ProfileError("unsay serve needs the extra: pip install 'unsay[mcp]'") from missing
    session: Session = context.obj
    if sys.stdin.isatty():
        typer.echo("Waiting for an MCP host on the standard input; Ctrl-D ends it.", err=True)
    server_of(session.memory, scope=session.scope(scope), read_only=read_only, reviewing=review).run()
