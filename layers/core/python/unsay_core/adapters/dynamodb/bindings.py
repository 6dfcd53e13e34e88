"""The bindings of the access table: what tokens and roles are granted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.dynamodb.access import SCHEMA, partition_items
from unsay_core.application.bindings import Binding, Template
from unsay_core.contracts import exact_json
from unsay_core.domain.scope import Action, PrincipalKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

BINDINGS = "BINDINGS"  # a partition


class DynamoBindings:
    """See `Bindings`."""

    def __init__(self, client: Callable[[], DynamoDBClient], table: str) -> None:
        self._client = client
        self._table = table

    def all(self) -> list[Binding]:
        """One query for every megabyte of bindings."""
        return [_binding(item) for item in partition_items(self._client, self._table, BINDINGS)]

    def add(self, binding: Binding) -> None:
        """One write."""
        item = {
            "pk": {"S": BINDINGS},
            "sk": {"S": binding.id},
            "binding": {"S": _binding_text(binding)},
            **SCHEMA,
        }
        with translated("the access table"):
            self._client().put_item(TableName=self._table, Item=item)

    def remove(self, binding_id: str) -> bool:
        """One delete."""
        with translated("the access table"):
            answer = self._client().delete_item(
                TableName=self._table,
                Key={"pk": {"S": BINDINGS}, "sk": {"S": binding_id}},
                ReturnValues="ALL_OLD",
            )
        return "Attributes" in answer


def _binding_text(binding: Binding) -> str:
    grants = [{"scope": grant.scope, "actions": sorted(grant.actions)} for grant in binding.grants]
    return exact_json.dumps(
        {
            "kind": binding.kind,
            "grants": grants,
            "issuer": binding.issuer,
            "claims": [list(claim) for claim in binding.claims],
            "role": binding.role,
            "note": binding.note,
        }
    )


def _binding(item: dict[str, Any]) -> Binding:
    said = json.loads(item["binding"]["S"])
    return Binding(
        kind=PrincipalKind(said["kind"]),
        grants=tuple(Template(g["scope"], frozenset(map(Action, g["actions"]))) for g in said["grants"]),
        issuer=said["issuer"],
        claims=tuple((name, value) for name, value in said["claims"]),
        role=said["role"],
        note=said["note"],
    )
