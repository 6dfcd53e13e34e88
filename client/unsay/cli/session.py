"""What every command needs: the service, the scope, and how to answer."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import unsay
from unsay.cli.profiles import AUTO, DEFAULT_PROFILE, Profile, ProfileError, ProfileFile, from_environment
from unsay.cli.show import as_json
from unsay.cli.store import default_store
from unsay.client import is_embedded

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from unsay_core.contracts.schemas import Answer

ScopeOption = Annotated[
    str | None, typer.Option("--scope", "-s", help="The scope; else UNSAY_SCOPE, else the profile's.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="JSON, as it always is where the output is no terminal.")
]
LimitOption = Annotated[int, typer.Option(help="At most so many, 1 to 100.")]
VersionOption = Annotated[
    int | None, typer.Option("--version", help="The version this is meant for; else the one there is.")
]
ReasonOption = Annotated[unsay.Reason, typer.Option("--reason", "-r", help="Why; it is audited.")]
NoteOption = Annotated[str | None, typer.Option(help="A sentence about it; erased with the memory.")]
MemoryArgument = Annotated[str, typer.Argument(metavar="ID", help="The memory: mem_…")]


@dataclass
class Session:
    """The flags that stand before the command, and what follows from them."""

    flags: Profile = field(default_factory=Profile)
    profile_name: str = DEFAULT_PROFILE

    @cached_property
    def profile(self) -> Profile:
        """Flags over environment over the profile."""
        stored = ProfileFile().profile(self.profile_name)
        return self.flags.over(from_environment(os.environ)).over(stored)

    @cached_property
    def memory(self) -> unsay.Memory:
        """The service that is named; else a store of one's own. Raises `ProfileError`."""
        url, token, aws = self.profile.url, self.profile.token, self.profile.aws
        if url is None and (token is not None or aws is not None):
            raise ProfileError(
                "A key of which service? Set UNSAY_URL, or keep it: unsay config set --url URL"
            )
        if url is not None and is_embedded(url):
            token, aws = self._key_of_a_store(url), None
        try:
            return unsay.connect(url or default_store(), token=token, aws=_signing(aws))
        except ValueError as refused:
            raise ProfileError(f"{url}: {refused}") from None

    def _key_of_a_store(self, url: str) -> str | None:
        """A key that is meant for this store: the environment's, or another profile's, is a service's."""
        stored = ProfileFile().profile(self.profile_name)
        return self.flags.token or (stored.token if stored.url == url else None)

    def scope(self, given: str | None) -> str:
        """The scope that is meant; there is no default of ours."""
        found = given or self.profile.scope
        if not found:
            raise ProfileError("Whose memory? Name it with --scope or UNSAY_SCOPE.")
        return found

    def version(self, memory_id: str, scope: str | None, given: int | None) -> int:
        """The version that is meant: without a number, the one that is there now."""
        return given or self.memory.get(memory_id, scope=self.scope(scope)).version

    def close(self) -> None:
        """Give the connections back."""
        if "memory" in self.__dict__:
            self.memory.close()


def _signing(aws: str | None) -> unsay.AwsAuth | None:
    return None if aws is None else unsay.AwsAuth(None if aws == AUTO else aws)


def answer(found: Answer, picture: RenderableType, *, wants_json: bool) -> None:
    """Print an answer: a picture for a person at a terminal, JSON for everything else."""
    if wants_json or not sys.stdout.isatty():
        typer.echo(as_json(found))
    else:
        Console().print(picture)


def confirm(question: Callable[[], str], *, yes: bool) -> None:
    """Ask before what cannot be undone, unless `--yes` was said; the question may need a look first."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("nobody is there to ask: say --yes", param_hint="--yes")
    typer.confirm(question(), abort=True, err=True)
