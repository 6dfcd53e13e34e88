"""The deployment pepper: the secret from which scope ids, key hashes and tombstone keys are derived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.checks import acknowledge

if TYPE_CHECKING:
    from infra.stage import Stage

LENGTH = 64


class Pepper(Construct):
    """Generated inside the account; it stands in no template and no log."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.secret = secretsmanager.Secret(
            self,
            "Secret",
            description="unsay: scope ids, key hashes and tombstones derive from it. Losing it loses them.",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                password_length=LENGTH, exclude_punctuation=True
            ),
            removal_policy=stage.removal,
        )
        acknowledge(
            self.secret,
            "SMG4",
            "Scope ids, key hashes and tombstones are derived from the pepper: rotating it would orphan all.",
        )

    @property
    def arn(self) -> str:
        """The secret's ARN. CloudFormation calls it `Id`; a `Ref` gives the same."""
        return str(self.secret.node.default_child.attr_id)
