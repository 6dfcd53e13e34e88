"""Items of the access table that an earlier release stored without saying their form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.dynamodb.access import SCHEMA, partition_items
from unsay_core.application.ports import ConflictError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mypy_boto3_dynamodb import DynamoDBClient


def say_forms(connected: Callable[[], DynamoDBClient], table: str, roots: Iterable[str]) -> int:
    """Have the counters of these roots and the read pointer say their form; how many did not.

    Counts of requests are left: they are gone within minutes. Whoever stops it runs it again.
    """
    partitions = ["INDEX", *(f"METER#{root}" for root in roots)]
    silent = [
        {"pk": item["pk"], "sk": item["sk"]}
        for partition in partitions
        for item in partition_items(connected, table, partition)
        if "schema" not in item
    ]
    return sum(_say(connected(), table, key) for key in silent)


def _say(client: DynamoDBClient, table: str, key: Any) -> bool:
    """False if the item went meanwhile, or says it by now."""
    try:
        with translated("the access table"):
            client.update_item(
                TableName=table,
                Key=key,
                UpdateExpression="SET #schema = :schema",
                ConditionExpression="attribute_exists(pk) AND attribute_not_exists(#schema)",
                ExpressionAttributeNames={"#schema": "schema"},
                ExpressionAttributeValues={":schema": SCHEMA["schema"]},
            )
    except ConflictError:
        return False
    return True
