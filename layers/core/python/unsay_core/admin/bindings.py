"""`unsay-admin bind`, `unbind`, `bindings` and `actor`: who of another house is granted what here."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from unsay_core.adapters.world import real_world
from unsay_core.admin.stack import DEFAULT_STACK, Stack
from unsay_core.application.authenticate import role_id, subject_id
from unsay_core.application.bindings import Binding, Template
from unsay_core.bootstrap.operator import Operator
from unsay_core.domain.errors import UnsayError
from unsay_core.domain.scope import Action, PrincipalKind

console = Console(stderr=True)

Issuer = Annotated[str, typer.Option(help="The issuer of the tokens, as their claim iss writes it.")]
Role = Annotated[str, typer.Option(help="arn:aws:iam::<account>:role/<name>; * in the name for any.")]
StackName = Annotated[str, typer.Option("--stack", help="Name of the CloudFormation stack.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]


def bind_command(
    grant: Annotated[list[str], typer.Option(help='What is granted: "acme/users/{sub}=read,write".')],
    kind: Annotated[PrincipalKind, typer.Option(help="What acts: a program or a person.")],
    issuer: Issuer = "",
    claim: Annotated[list[str] | None, typer.Option(help="name=value; all that are given must fit.")] = None,
    role: Role = "",
    note: Annotated[str, typer.Option(help="Why, for whoever lists the bindings.")] = "",
    stack: StackName = DEFAULT_STACK,
    as_json: AsJson = False,
) -> None:
    """Grant something to whom an issuer or IAM vouches for; {sub}, {role} stand for one segment each."""
    try:
        binding = Binding(
            kind=kind,
            grants=tuple(_template(text) for text in grant),
            issuer=issuer or None,
            claims=tuple(_claim(text) for text in claim or []),
            role=role or None,
            note=note,
        )
    except UnsayError as refused:
        raise typer.BadParameter(refused.detail) from None
    _operator(stack).bindings.add(binding)
    if as_json:
        typer.echo(json.dumps(_described(binding)))
    else:
        typer.echo(binding.id)
        console.print("It holds within a minute.")


def unbind_command(
    binding: Annotated[str, typer.Argument(help="The id of the binding.")], stack: StackName = DEFAULT_STACK
) -> None:
    """Take a binding back, and what was delegated by it: unsay-admin unbind bnd_…"""
    if not _operator(stack).bindings.remove(binding):
        console.print(f"{stack} has no such binding.", highlight=False)
        raise typer.Exit(1)
    console.print(f"{binding} is removed; it ends within a minute.", highlight=False)


def bindings_command(stack: StackName = DEFAULT_STACK, as_json: AsJson = False) -> None:
    """List the bindings."""
    found = _operator(stack).bindings.all()
    if as_json:
        typer.echo(json.dumps([_described(binding) for binding in found]))
        return
    table = Table("id", "kind", "for", "grants", "note")
    for binding in found:
        table.add_row(binding.id, binding.kind, _whom(binding), "\n".join(_grants(binding)), binding.note)
    Console().print(table)


def actor_command(
    issuer: Issuer = "",
    subject: Annotated[str, typer.Option(help="Whom the issuer calls so: the claim sub.")] = "",
    role: Role = "",
    stack: StackName = DEFAULT_STACK,
) -> None:
    """Say under which id somebody acts here, in sources and the audit: it cannot be told from the id."""
    if bool(role) == bool(issuer and subject):
        raise typer.BadParameter("name an issuer with a subject, or a role")
    keyring = _operator(stack).keyring
    typer.echo(role_id(role, keyring) if role else subject_id(issuer, subject, keyring))


def _operator(stack: str) -> Operator:
    return Stack.named(stack).operator(real_world())


def _template(text: str) -> Template:
    scope, _, actions = text.rpartition("=")
    known = {action.value for action in Action}
    named = actions.split(",")
    if not scope or not set(named) <= known:
        raise typer.BadParameter(f"a grant is scope=actions, and an action one of {', '.join(sorted(known))}")
    return Template(scope, frozenset(map(Action, named)))


def _claim(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not name or not found:
        raise typer.BadParameter("a claim is name=value")
    return name, value


def _grants(binding: Binding) -> list[str]:
    return [f"{grant.scope}={','.join(sorted(grant.actions))}" for grant in binding.grants]


def _whom(binding: Binding) -> str:
    if binding.role is not None:
        return binding.role
    return "\n".join([binding.issuer or "", *(f"{name}={value}" for name, value in binding.claims)])


def _described(binding: Binding) -> dict[str, Any]:
    return {
        "id": binding.id,
        "kind": binding.kind.value,
        "issuer": binding.issuer,
        "claims": dict(binding.claims),
        "role": binding.role,
        "grants": [{"scope": g.scope, "actions": sorted(g.actions)} for g in binding.grants],
        "note": binding.note,
    }
