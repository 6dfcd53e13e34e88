"""A deployed stack, found by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3

from unsay_core.bootstrap.operator import Operator

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

    from unsay_core.application.ports import World

DEFAULT_STACK = "unsay-dev"


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

    def queues(self) -> SQSClient:
        """Its queues."""
        client: SQSClient = self.session.client("sqs")
        return client

    def operator(self, world: World) -> Operator:
        """The service of this stack, for whoever has these credentials."""
        return Operator(self.session, self.outputs, world)
