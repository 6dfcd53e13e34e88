"""`unsay-admin remove-generation`: what CloudFormation leaves of a generation on S3 Vectors."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from unsay_core.adapters.world import real_world
from unsay_core.admin.stack import DEFAULT_STACK, Stack

console = Console(stderr=True)


def remove_generation_command(
    generation: Annotated[int, typer.Argument(help="A generation that cdk.json lists no more.")],
    stack: Annotated[str, typer.Option(help="Name of the CloudFormation stack.")] = DEFAULT_STACK,
) -> None:
    """Delete the vectors of a dropped generation on S3 Vectors: unsay-admin remove-generation 2."""
    operator = Stack.named(stack).operator(real_world())
    if generation in operator.generations:
        raise typer.BadParameter(f"{stack} uses generation {generation}: list it no more, and deploy, first")
    removed = operator.remove_vectors(f"{stack}-g{generation}")
    if removed is None:
        console.print(f"there is no vector bucket {stack}-g{generation}", highlight=False)
    else:
        console.print(f"{stack}-g{generation} and its {removed} indexes are deleted", highlight=False)
