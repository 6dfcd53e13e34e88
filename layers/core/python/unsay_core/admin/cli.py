"""`unsay-admin`: acts on a deployed stack with the AWS credentials of whoever runs it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import boto3
import typer
from rich.console import Console

from unsay_core.adapters.dynamodb.access import DynamoKeys, DynamoRegistry
from unsay_core.adapters.world import real_world
from unsay_core.application.access import NewKey, first_admin, store_key
from unsay_core.application.ports import ConflictError
from unsay_core.application.reindex import reindex
from unsay_core.bootstrap.aws import open_as_operator, read_keyring
from unsay_core.domain.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_STACK = "unsay-dev"

app = typer.Typer(
    help="Administer a deployed unsay stack with AWS credentials.", no_args_is_help=True, add_completion=False
)
console = Console(stderr=True)


class AlreadyBootstrappedError(Exception):
    """The stack has its first admin; further keys are made with that one."""


@dataclass(frozen=True)
class Stack:
    """A deployed stack: its outputs by name."""

    session: boto3.session.Session
    outputs: dict[str, str]

    @classmethod
    def named(cls, name: str) -> Stack:
        """Read the outputs of a stack of this account and Region."""
        session = boto3.session.Session()
        described: Any = session.client("cloudformation").describe_stacks(StackName=name)
        outputs = described["Stacks"][0].get("Outputs", [])
        return cls(session, {output["OutputKey"]: output["OutputValue"] for output in outputs})


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


def every_scope(stack: Stack) -> Iterator[Scope]:
    """The scopes that were ever written to, by the list that is kept of them."""
    client = stack.session.client("dynamodb")
    registry = DynamoRegistry(lambda: client, stack.outputs["AccessTable"])
    return (scope for root in registry.roots() for scope in registry.below(root))


@app.command("reindex")
def reindex_command(
    scope: Annotated[str, typer.Option(help="The scope to rebuild; leave out with --all.")] = "",
    every: Annotated[bool, typer.Option("--all", help="Rebuild every scope.")] = False,
    after: Annotated[str, typer.Option(help="With --scope: go on behind this memory id.")] = "",
    stack: Annotated[str, typer.Option(help="Name of the CloudFormation stack.")] = DEFAULT_STACK,
) -> None:
    """Rebuild documents and index from the ledger: unsay-admin reindex --scope acme/users/alice."""
    if bool(scope) == every:
        raise typer.BadParameter("name one scope with --scope, or take --all")
    deployed, world = Stack.named(stack), real_world()
    for one in every_scope(deployed) if every else [Scope.parse(scope)]:
        with console.status(f"rebuilding {one} …") as status:
            for reached in reindex(
                open_as_operator(deployed.session, deployed.outputs, one), world, after=after or None
            ):
                status.update(f"rebuilding {one} … through {reached}")
        console.print(f"{one}: documents and index are being written anew", highlight=False)


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
