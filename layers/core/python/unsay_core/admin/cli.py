"""`unsay-admin`: acts on a deployed stack with the AWS credentials of whoever runs it."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from unsay_core.adapters.dynamodb.access import DynamoKeys
from unsay_core.adapters.world import real_world
from unsay_core.admin.bindings import actor_command, bind_command, bindings_command, unbind_command
from unsay_core.admin.migrate import migrate_command
from unsay_core.admin.redrive import redrive_command
from unsay_core.admin.reindex import reindex_command
from unsay_core.admin.remove_generation import remove_generation_command
from unsay_core.admin.restore import restore_check_command
from unsay_core.admin.stack import DEFAULT_STACK, Stack
from unsay_core.application.access import NewKey, first_admin, store_key
from unsay_core.application.ports import ConflictError
from unsay_core.bootstrap.aws import read_keyring

app = typer.Typer(
    help="Administer a deployed unsay stack with AWS credentials.", no_args_is_help=True, add_completion=False
)
console = Console(stderr=True)


class AlreadyBootstrappedError(Exception):
    """The stack has its first admin; further keys are made with that one."""


def make_first_admin(stack: Stack) -> NewKey:
    """Make the first human admin; raises `AlreadyBootstrappedError` the second time."""
    client = stack.session.client("dynamodb")
    keys = DynamoKeys(lambda: client, stack.outputs["AccessTable"])
    keyring = read_keyring(stack.session, stack.outputs["PepperSecretArn"])
    try:
        return store_key(first_admin(), "bootstrap", keys.first, keyring, real_world())
    except ConflictError:
        raise AlreadyBootstrappedError from None


def bootstrap(stack_name: str = DEFAULT_STACK) -> dict[str, str]:
    """The first admin's key of a stack, as `{"id", "secret"}`."""
    made = make_first_admin(Stack.named(stack_name))
    return {"id": made.key.id, "secret": made.secret}


app.command("bind")(bind_command)
app.command("unbind")(unbind_command)
app.command("bindings")(bindings_command)
app.command("actor")(actor_command)
app.command("reindex")(reindex_command)
app.command("migrate")(migrate_command)
app.command("redrive")(redrive_command)
app.command("remove-generation")(remove_generation_command)
app.command("restore-check")(restore_check_command)


@app.callback()
def main_options() -> None:
    """Administer a deployed unsay stack with AWS credentials."""


@app.command("bootstrap")
def bootstrap_command(
    stack: Annotated[str, typer.Option(help="Name of the CloudFormation stack.")] = DEFAULT_STACK,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a script.")] = False,
) -> None:
    """Make the first human admin, once: unsay-admin bootstrap --stack unsay-dev."""
    try:
        with console.status(f"making the first admin of {stack} …"):
            made = bootstrap(stack)
    except AlreadyBootstrappedError:
        console.print(f"{stack} has its first admin; make further keys with POST /v1/keys.")
        raise typer.Exit(3) from None
    if as_json:
        typer.echo(json.dumps(made))
    else:
        typer.echo(made["secret"])
        console.print("This is the only time the key is shown. It may do everything: keep it safe.")


def main() -> None:
    """Entry point of the command."""
    app()


if __name__ == "__main__":
    main()
