"""A whole vector bucket, for whoever removes a generation."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from unsay_core.adapters.s3vectors.index import is_missing


def remove_bucket(client: Any, name: str) -> int | None:
    """Delete every index of a bucket and then the bucket; how many that were, None if there is no bucket."""
    removed = 0
    try:
        while indexes := client.list_indexes(vectorBucketName=name)["indexes"]:
            for index in indexes:
                client.delete_index(vectorBucketName=name, indexName=index["indexName"])
                removed += 1
        client.delete_vector_bucket(vectorBucketName=name)
    except ClientError as refused:
        if not is_missing(refused):
            raise
        return None
    return removed
