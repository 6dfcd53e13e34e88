"""`dynamodb:LeadingKeys`: the partition keys a request names, per table, item and action.

Without it the emulator fails open: a `ForAllValues` condition on an absent key is true. A transaction is
authorized item by item, each with its own action and its own key, as AWS does.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ministack.core import iam_actions as actions
from ministack.core import iam_evaluator as evaluator

PATCHES = {
    "ministack.core.iam_actions": (
        "dynamodb_resource_arns",
        "dynamodb_transaction_checks",
        "_dynamodb_table_arn",
        "_DYNAMODB_TRANSACT_ITEM_ACTIONS",
        "identity_denial_message",
        "access_denied_response",
    ),
    "ministack.core.iam_evaluator": ("enforce",),
    "ministack.services.dynamodb": ("_tables",),
}

_LEADING_KEYS = "dynamodb:LeadingKeys"
_ONE_ITEM = {
    "GetItem": "Key",
    "PutItem": "Item",
    "UpdateItem": "Key",
    "DeleteItem": "Key",
    "ConditionCheckItem": "Key",
}
_original_enforce = evaluator.enforce
_original_denied = actions.access_denied_response


class TableArn(str):
    """The ARN of a table or index, carrying the part of the request that addresses it.

    The request's router hands the ARN on to the policy check and nothing else; the check needs the keys.
    """

    request: Any

    def leading_keys(self, action: str) -> list[str]:
        """The partition key values this request names here; empty when it names none, as a Scan."""
        operation = action.partition(":")[2]
        if operation == "Query":
            return _queried_keys(self, self.request)
        return [
            key for item in _addressed(operation, self.request) if (key := _key_of(self, item)) is not None
        ]


def _table_arn(arn: str, request: Any) -> TableArn:
    result = TableArn(arn)
    result.request = request
    return result


def _addressed(operation: str, request: Any) -> list[Any]:
    """The keys or items an operation names, each a map with the partition key in it."""
    if operation in _ONE_ITEM:
        return [request.get(_ONE_ITEM[operation])]
    if operation == "BatchGetItem":
        return list(request.get("Keys") or [])
    if operation == "BatchWriteItem":
        return [write.get("Item") or write.get("Key") for entry in request for write in entry.values()]
    return []


def _key_of(arn: str, item: Any) -> str | None:
    name = _hash_key(arn)
    return _scalar(item.get(name)) if name and isinstance(item, dict) else None


def _scalar(value: Any) -> str | None:
    return str(next(iter(value.values()))) if isinstance(value, dict) and value else None


def _hash_key(arn: str) -> str | None:
    """Name of the partition key of a table, or of the index the ARN ends in."""
    from ministack.services import dynamodb  # only now: the service loads on first use

    table_name, _, index = arn.partition(":table/")[2].partition("/index/")
    table = dynamodb._tables.get(table_name)
    if not table:
        return None
    indexes = (table.get("GlobalSecondaryIndexes") or []) + (table.get("LocalSecondaryIndexes") or [])
    schema = (
        next((i["KeySchema"] for i in indexes if i["IndexName"] == index), [])
        if index
        else table["KeySchema"]
    )
    return next((key["AttributeName"] for key in schema if key["KeyType"] == "HASH"), None)


def _queried_keys(arn: str, request: Any) -> list[str]:
    """Every partition key value a Query's key condition compares with."""
    name = _hash_key(arn)
    if name is None:
        return []
    legacy = (request.get("KeyConditions") or {}).get(name)
    if legacy:
        return [str(_scalar(value)) for value in legacy.get("AttributeValueList") or []]
    aliases = [a for a, n in (request.get("ExpressionAttributeNames") or {}).items() if n == name]
    names = "|".join(re.escape(n) for n in [name, *aliases])
    values = request.get("ExpressionAttributeValues") or {}
    expression = request.get("KeyConditionExpression") or ""
    forward = re.findall(rf"(?<![\w#.])(?:{names})\s*=\s*(:\w+)", expression)
    backward = re.findall(rf"(:\w+)\s*=\s*(?:{names})(?![\w.])", expression)
    return [key for v in forward + backward if (key := _scalar(values.get(v))) is not None]


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body or b"{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def resource_arns(body: bytes, region: str, account_id: str) -> list[str]:
    """Every table or index a request addresses, each with its own part of the request."""
    data = _parsed(body)
    table = data.get("TableName")
    if isinstance(table, str) and table:
        index = data.get("IndexName")
        suffix = f"/index/{index}" if isinstance(index, str) and index else ""
        return [_table_arn(actions._dynamodb_table_arn(table, region, account_id) + suffix, data)]
    items = data.get("RequestItems")
    return [
        _table_arn(actions._dynamodb_table_arn(name, region, account_id), part)
        for name, part in (items.items() if isinstance(items, dict) else ())
        if name
    ]


def transaction_checks(iam_action: str, body: bytes, region: str, account_id: str) -> list[tuple[str, str]]:
    """The action and table of every item of a transaction, each with the item itself."""
    if iam_action not in ("dynamodb:TransactWriteItems", "dynamodb:TransactGetItems"):
        return []
    items = _parsed(body).get("TransactItems")
    return [
        (action, _table_arn(actions._dynamodb_table_arn(detail["TableName"], region, account_id), detail))
        for item in (items if isinstance(items, list) else [])
        for member, action in actions._DYNAMODB_TRANSACT_ITEM_ACTIONS.items()
        if isinstance(detail := item.get(member), dict) and detail.get("TableName")
    ]


def _enforce(
    access_key_id: str,
    iam_action: str,
    service: str,
    region: str,
    resource_arn: str = "*",
    service_context: dict[str, Any] | None = None,
) -> Any:
    context = dict(service_context or {})
    if isinstance(resource_arn, TableArn) and (keys := resource_arn.leading_keys(iam_action)):
        context[_LEADING_KEYS] = keys
    return _original_enforce(
        access_key_id, iam_action, service, region, resource_arn=resource_arn, service_context=context
    )


def _denied(service: str, action: str, principal_arn: str, request_id: str, **details: Any) -> Any:
    """A denial as the service words it: DynamoDB answers 400 and names the resource."""
    plain = service == "dynamodb" and not details.get("error_code")
    if plain and not details.get("message"):
        arn, explicit = str(details.get("resource_arn", "*")), bool(details.get("explicit_deny"))
        details["message"] = actions.identity_denial_message(action, principal_arn, arn, explicit)
    status, headers, body = _original_denied(service, action, principal_arn, request_id, **details)
    return (400 if plain else status), headers, body


def install() -> None:
    """Give every DynamoDB policy check the keys of the item it is about."""
    actions.dynamodb_resource_arns = resource_arns
    actions.dynamodb_transaction_checks = transaction_checks
    actions.access_denied_response = _denied
    evaluator.enforce = _enforce
