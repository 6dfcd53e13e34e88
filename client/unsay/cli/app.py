"""The command itself: its global options, and what a refusal exits with."""

from __future__ import annotations

import importlib.metadata
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from typer.core import TyperGroup

import unsay
from unsay.cli import config, conversations, convert, forgetting, jobs, memories, people, serve, transfers
from unsay.cli.profiles import DEFAULT_PROFILE, Profile, ProfileError
from unsay.cli.session import Session

NOT_FOUND, INVALID, CONFLICT, NOT_ALLOWED = 1, 2, 3, 4
"""What a refusal exits with; a conflict's code also stands for a service that is down or busy."""

_EXITS: tuple[tuple[tuple[type[Exception], ...], int], ...] = (
    ((unsay.AlreadyForgottenError,), CONFLICT),
    ((unsay.NotFoundError, unsay.ForgottenError), NOT_FOUND),
    ((unsay.UnauthenticatedError, unsay.ForbiddenError), NOT_ALLOWED),
    (
        (
            ProfileError,
            ValueError,
            OSError,
            unsay.InvalidRequestError,
            unsay.TooLargeError,
            unsay.SecretRefusedError,
            unsay.IdempotencyMismatchError,
            unsay.PreconditionRequiredError,
        ),
        INVALID,
    ),
)


def exit_code(error: Exception) -> int:
    """What a refusal exits with."""
    return next((code for kinds, code in _EXITS if isinstance(error, kinds)), CONFLICT)


def _refuse(error: Exception, said: str) -> NoReturn:
    Console(stderr=True).print(said, style="red", markup=False, highlight=False)
    raise typer.Exit(exit_code(error)) from None


class _Commands(TyperGroup):
    """Commands whose refusals are a line on the standard error and an exit code, not a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (unsay.UnsayError, ProfileError) as error:
            _refuse(error, error.explanation if isinstance(error, unsay.ProblemError) else str(error))
        except OSError as error:
            if error.filename is None:  # no file that was named: a pipe that was closed, for one
                raise
            _refuse(error, f"{error.strerror}: {error.filename}")


app = typer.Typer(
    cls=_Commands,
    help="Agent memory you own, and can take back.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)
for commands in (
    memories.app,
    forgetting.app,
    conversations.app,
    jobs.app,
    people.app,
    transfers.app,
    config.app,
    serve.app,
    convert.app,
):
    app.registered_commands += commands.registered_commands
    app.registered_groups += commands.registered_groups


def _say_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"unsay {importlib.metadata.version('unsay')}")
        raise typer.Exit


@app.callback()
def main_options(
    context: typer.Context,
    url: Annotated[
        str | None,
        typer.Option(help="The service, or sqlite:///FILE; else UNSAY_URL, else the profile's."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            help="The key; else, for a service, UNSAY_TOKEN or the profile's. Others may see a flag."
        ),
    ] = None,
    aws: Annotated[
        str | None,
        typer.Option(
            help="Sign with AWS credentials in place of a key: a profile of AWS, or auto; else UNSAY_AWS."
        ),
    ] = None,
    profile: Annotated[str, typer.Option(envvar="UNSAY_PROFILE", help="Which profile.")] = DEFAULT_PROFILE,
    version: Annotated[
        bool,
        typer.Option("--version", help="Say which release this is.", is_eager=True, callback=_say_version),
    ] = False,
) -> None:
    """Agent memory you own, and can take back."""
    context.obj = Session(Profile(url, token, aws=aws), profile)
    context.call_on_close(context.obj.close)


def main() -> None:
    """Entry point of the command."""
    app()
