"""The three tables: the ledger, the append-only record, and who may call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

if TYPE_CHECKING:
    from infra.stage import Stage

DUE_INDEX = "due"
RECOVERY_DAYS = 35  # for which a table can be restored to any of its moments; receipts say it


class Tables(Construct):
    """Ledger, record and access, apart because roles are granted per table.

    Put, Update and Delete inside one table cannot be told apart per item of a transaction, so what must never
    be deleted lives in a table where nobody may delete.
    """

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self._stage = stage
        self.ledger = self._table(
            "Ledger", stream=dynamodb.StreamViewType.KEYS_ONLY, time_to_live_attribute="ttl"
        )
        self.ledger.add_global_secondary_index(
            index_name=DUE_INDEX,
            partition_key=_string("due_pk"),
            sort_key=_string("due_at"),
            projection_type=dynamodb.ProjectionType.KEYS_ONLY,
        )
        self.record = self._table("Record", stream=dynamodb.StreamViewType.KEYS_ONLY)
        self.access = self._table("Access", time_to_live_attribute="ttl")

    def _table(
        self,
        construct_id: str,
        *,
        stream: dynamodb.StreamViewType | None = None,
        time_to_live_attribute: str | None = None,
    ) -> dynamodb.Table:
        return dynamodb.Table(
            self,
            construct_id,
            partition_key=_string("pk"),
            sort_key=_string("sk"),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True, recovery_period_in_days=RECOVERY_DAYS
            ),
            stream=stream,
            time_to_live_attribute=time_to_live_attribute,
            deletion_protection=self._stage.protected,
            removal_policy=self._stage.removal,
        )


def _string(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)
