"""Commands that carry memories out of a scope into files, and from files into a scope."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit
from urllib.request import url2pathname

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from unsay.cli import show
from unsay.cli.convert import Source, convert, reported, table_of
from unsay.cli.session import JsonOption, ScopeOption, Session, answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import httpx

    from unsay import Memory
    from unsay_core.contracts.transfers import JobOut

app = typer.Typer()
console = Console(stderr=True)

POLL_SECONDS = 0.5
PART_BYTES = 32 * 1024 * 1024  # of a file that is brought in pieces
CHUNK = 1024 * 1024
TIMEOUT = 300.0


@app.command("export")
def export_command(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Where to; its manifest is written beside it.")],
    include: Annotated[
        list[str] | None, typer.Option("--include", "-i", help="active, history, candidate, disputed, …")
    ] = None,
    scope: ScopeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the memories of a scope to a file of JSON lines.

    Example: unsay export alice.jsonl --include active --include history --scope acme/users/alice
    """
    session: Session = context.obj
    where = session.scope(scope)
    with _progress() as progress:
        job = session.memory.export(scope=where, include=include or ["active"])
        job = _over(session.memory, job, where, progress, "exporting")
        if job.state == "complete":
            _fetch(job, file, progress)
    _told(job, as_json=as_json)


@app.command("import")
def import_command(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(help="JSON lines, as an export writes them; with --from, another's.", exists=True),
    ],
    source: Annotated[
        Source | None, typer.Option("--from", help="Which other store has written it, file or folder.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --from: only say what would become of it.")
    ] = False,
    on_conflict: Annotated[
        Literal["skip", "newer", "fail"], typer.Option(help="What happens where a place is taken.")
    ] = "skip",
    resurrect: Annotated[
        bool, typer.Option("--resurrect", help="Bring back what was taken back; needs the right to review.")
    ] = False,
    scope: ScopeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the memories of a file, or of another store, into a scope.

    Exits with 3 if the job fails, with 2 if no line of the file is taken.

    Cut off, it is begun anew: what is there already is skipped.

    Example: unsay import alice.jsonl --scope acme/users/alice

    Example: unsay import mem0.json --from mem0 --scope acme/users/alice
    """
    if dry_run and source is None:
        raise typer.BadParameter("lines of our own become what they are: --dry-run goes with --from")
    if dry_run and source is not None:
        convert(file, source, None, True, as_json)
        return
    session: Session = context.obj
    where = session.scope(scope)
    with tempfile.TemporaryDirectory() as folder:
        if source is not None:
            lines = Path(folder, "lines.jsonl")
            console.print(table_of(reported(source, file, lines)))
            file = lines
        job = _brought(session.memory, file, where, on_conflict=on_conflict, resurrect=resurrect)
    _told(job, as_json=as_json)


def _brought(memory: Memory, file: Path, where: str, **how: Any) -> JobOut:
    """The job of an import once it is over, its file handed over in pieces."""
    parts = list(_parts(file))
    with _progress() as progress:
        job = memory.bring(scope=where, parts=max(1, len(parts)), **how)
        _put(file, parts, job.result["uploads"], progress)
        job = memory.start_import(job.id, scope=where)
        return _over(memory, job, where, progress, "importing")


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"), console=console
    )


def _over(memory: Memory, job: JobOut, scope: str, progress: Progress, what: str) -> JobOut:
    """The job once it is over, its progress shown until then."""
    bar = progress.add_task(what, total=job.total, told="")
    while job.state not in ("complete", "failed"):
        time.sleep(POLL_SECONDS)
        job = memory.job(job.id, scope=scope)
        progress.update(bar, completed=job.done, total=job.total, told=f"{job.done}")
    progress.update(bar, completed=job.done, total=job.done or 1)
    return job


def _fetch(job: JobOut, file: Path, progress: Progress) -> None:
    """Write the parts one behind the other, a stretch at a time; the manifest beside them."""
    bar = progress.add_task("fetching", total=job.result["bytes"], told="")
    with file.open("wb") as out, _http() as client:
        for part in job.result["parts"]:
            for stretch in _stretches(part["url"], client):
                out.write(stretch)
                progress.advance(bar, len(stretch))
        (manifest,) = job.result["manifest"]
        text = b"".join(_stretches(manifest["url"], client))
    file.with_name(f"{file.name}.manifest.json").write_bytes(text)


def _http() -> httpx.Client:
    import httpx  # a quarter of the time in which any command starts, and few want it

    return httpx.Client(timeout=TIMEOUT)


def _stretches(url: str, client: httpx.Client) -> Iterator[bytes]:
    """What lies at an address, a stretch at a time; a store of one's own gives addresses of files."""
    if path := _own(url):
        with path.open("rb") as source:
            while stretch := source.read(CHUNK):
                yield stretch
        return
    with client.stream("GET", url) as found:
        found.raise_for_status()
        yield from found.iter_bytes(CHUNK)


def _own(url: str) -> Path | None:
    """The file of an address that is one of this machine."""
    parts = urlsplit(url)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None


def _parts(file: Path) -> Iterator[tuple[int, int]]:
    """Where the pieces of a file begin and how long they are: each ends with a line."""
    size, start = file.stat().st_size, 0
    with file.open("rb") as source:
        while start < size:
            source.seek(min(start + PART_BYTES, size) - 1)
            source.readline()
            yield start, source.tell() - start
            start = source.tell()


def _put(
    file: Path, parts: Sequence[tuple[int, int]], links: Sequence[dict[str, Any]], progress: Progress
) -> None:
    """Put each piece where it belongs; an empty file is one empty piece."""
    bar = progress.add_task("sending", total=file.stat().st_size, told="")
    pieces = parts or [(0, 0)]
    with file.open("rb") as source, _http() as client:
        for (start, length), link in zip(pieces, links, strict=True):
            source.seek(start)
            if path := _own(link["url"]):
                path.write_bytes(source.read(length))
            else:
                client.put(link["url"], content=source.read(length)).raise_for_status()
            progress.advance(bar, length)


def _told(job: JobOut, *, as_json: bool) -> None:
    for addresses in ("parts", "manifest", "uploads"):
        job.result.pop(addresses, None)  # they are as good as keys, and were used
    answer(job, show.job(job), wants_json=as_json)
    if job.state == "failed":
        raise typer.Exit(3)
    if job.result.get("refused") and not job.result.get("imported") and not job.result.get("skipped"):
        raise typer.Exit(2)
