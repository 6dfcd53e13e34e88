"""`unsay convert`: memories of another store as a file that `unsay import` takes."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer
from rich.console import Console
from rich.table import Table

from unsay.cli.session import JsonOption
from unsay.importers import SOURCES, Report, SourceError, converted
from unsay_core.contracts import exact_json

app = typer.Typer()

Source = Literal[
    "csv", "jsonl", "langgraph", "markdown", "mem0", "s3-agent-memory", "strands-files", "strands-json"
]
assert set(get_args(Source)) == SOURCES.keys()


@app.command()
def convert(
    path: Annotated[Path, typer.Argument(help="A file of the other store, or its folder.", exists=True)],
    source: Annotated[Source, typer.Option("--from", help="Which store it is.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file to write.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would become of it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make lines of our own format from another store: what becomes of each field is told.

    Example: unsay convert mem0.json --from mem0 --out alice.jsonl
    """
    if (out is None) is not dry_run:
        raise typer.BadParameter("name a file with --out, or ask with --dry-run")
    report = reported(source, path, out)
    if as_json or not sys.stdout.isatty():
        typer.echo(exact_json.dumps(asdict(report)))
    else:
        Console().print(table_of(report))


def reported(source: Source, path: Path, out: Path | None) -> Report:
    """What became of the records of a store; raises `typer.BadParameter` for what is not such a store."""
    try:
        return converted(source, path, out)
    except SourceError as wrong:
        raise typer.BadParameter(str(wrong)) from None


def table_of(report: Report) -> Table:
    """Where each field went, and why records are left out."""
    table = Table("", "records", title=f"{report.written} of {report.read} records")
    for what, number in (*report.fields.items(), *((f"left out: {w}", n) for w, n in report.refused.items())):
        table.add_row(what, str(number))
    for where in report.unread:
        table.add_row(f"left out, cannot be read: {where}", "1")
    return table
