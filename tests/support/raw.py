"""What lies in the stores of a deployed stack, read by nothing that the product runs.

Tables by scans, buckets with all versions, every queue, every line of every log, every metric with its
dimensions, the documents of the knowledge base and the vectors beneath it with their texts.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.support.stack import Stack

TABLES = ("LedgerTable", "RecordTable", "AccessTable")


def raw_stores(stack: Stack) -> dict[str, str]:
    """Everything that lies in any store, by the store's name."""
    parts = (_tables, _objects, _queues, _logs, _metrics, _documents, _vectors)
    return {name: text for part in parts for name, text in part(stack).items()}


def holding(stack: Stack, word: str) -> set[str]:
    """The stores in whose raw content a word is, in any spelling a store may give it."""
    plain = word.encode()
    encoded = [base64.b64encode(b"\0" * shift + plain)[shift + 1 : -4].decode() for shift in range(3)]
    spelled = [word, json.dumps(word)[1:-1], plain.hex(), *encoded]
    return {name for name, text in raw_stores(stack).items() if any(each in text for each in spelled)}


def _tables(stack: Stack) -> dict[str, str]:
    found = {}
    pages = stack.aws("dynamodb").get_paginator("scan")
    for table in TABLES:
        items = [item for page in pages.paginate(TableName=stack.outputs[table]) for item in page["Items"]]
        found[table] = json.dumps(items, default=_text, ensure_ascii=False)
    return found


def _objects(stack: Stack) -> dict[str, str]:
    s3 = stack.aws("s3")
    found = {}
    for bucket in (each["Name"] for each in s3.list_buckets()["Buckets"]):
        if bucket.startswith("cdk-"):
            continue  # the code of the λs, and no memory's
        texts = []
        for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
            for version in page.get("Versions", []):
                where = {"Bucket": bucket, "Key": version["Key"]}
                where |= {"VersionId": version["VersionId"]} if version.get("VersionId") != "null" else {}
                body = s3.get_object(**where)["Body"].read().decode("utf-8", "replace")
                texts.append(f"{version['Key']} {body}")
        found[f"s3 {bucket}"] = "\n".join(texts)
    return found


def _queues(stack: Stack) -> dict[str, str]:
    """Dead letters, and what waits in a queue just now."""
    sqs = stack.aws("sqs")
    found = {}
    for url in sqs.list_queues().get("QueueUrls", []):
        taken = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0, MessageAttributeNames=["All"]
        )
        found[f"queue {url.rpartition('/')[2]}"] = json.dumps(taken.get("Messages", []), ensure_ascii=False)
    return found


def _logs(stack: Stack) -> dict[str, str]:
    logs, lines = stack.aws("logs"), []
    for group in logs.describe_log_groups()["logGroups"]:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"])
        lines += [event["message"] for page in pages for event in page["events"]]
    return {"logs": "\n".join(lines)}


def _metrics(stack: Stack) -> dict[str, str]:
    cloudwatch = stack.aws("cloudwatch")
    told = [*cloudwatch.list_metrics()["Metrics"], *cloudwatch.describe_alarms()["MetricAlarms"]]
    return {"metrics": json.dumps(told, default=str)}


def _documents(stack: Stack) -> dict[str, str]:
    """What the knowledge base lists."""
    agent = stack.aws("bedrock-agent")
    listed = agent.list_knowledge_base_documents(**stack.knowledge_base, maxResults=1000)
    details = [each for each in listed["documentDetails"] if each["status"] != "NOT_FOUND"]
    return {"index": json.dumps(details, default=str)}


def _vectors(stack: Stack) -> dict[str, str]:
    """Every vector with its metadata, in which the text of its chunk lies."""
    client, found = stack.aws("s3vectors"), {}
    for bucket in client.list_vector_buckets()["vectorBuckets"]:
        name = bucket["vectorBucketName"]
        for index in client.list_indexes(vectorBucketName=name)["indexes"]:
            where = {"vectorBucketName": name, "indexName": index["indexName"]}
            pages = client.get_paginator("list_vectors").paginate(**where, returnMetadata=True)
            vectors: list[Any] = [vector for page in pages for vector in page["vectors"]]
            found[f"vectors {name}/{index['indexName']}"] = json.dumps(vectors, ensure_ascii=False)
    return found


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
