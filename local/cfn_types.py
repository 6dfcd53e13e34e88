"""CloudFormation types the emulator lacks: S3 Vectors' and Bedrock's knowledge bases.

`Ref` and `Fn::GetAtt` give what the real schemas give. A changed create-only property
replaces the resource; with a fixed name the replacement fails on the name, as on AWS.
Stricter than AWS in one point: any change of a data source's VectorIngestionConfiguration
or DataSourceConfiguration replaces it. A bucket policy is stored, not enforced.
"""

import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from ministack.services import bedrock_agent
from ministack.services.cloudformation import provisioners

from local import kb_creation, kb_ingestion, s3vectors, vector_store
from local.aws_json import AwsError, invalid
from local.vector_store import STORE, Bucket, Index

PATCHES = {
    "ministack.services.bedrock_agent": ("_update_kb", "_update_ds", "_tags", "_knowledge_bases"),
    "ministack.services.cloudformation.provisioners": (
        "_RESOURCE_HANDLERS",
        "_REPLACING_PROPERTIES",
        "_STACK_TAG_PROPERTY",
        "_physical_name",
        "_reconcile_tag_map",
        "_tag_map",
    ),
}

Properties: TypeAlias = Mapping[str, Any]
Created: TypeAlias = tuple[str, dict[str, Any]]

BUCKET = "AWS::S3Vectors::VectorBucket"
INDEX = "AWS::S3Vectors::Index"
POLICY = "AWS::S3Vectors::VectorBucketPolicy"
KNOWLEDGE_BASE = "AWS::Bedrock::KnowledgeBase"
DATA_SOURCE = "AWS::Bedrock::DataSource"

_CREATE_ONLY = {
    BUCKET: ("VectorBucketName", "EncryptionConfiguration"),
    INDEX: (
        "DataType",
        "Dimension",
        "DistanceMetric",
        "EncryptionConfiguration",
        "IndexName",
        "MetadataConfiguration",
        "VectorBucketArn",
        "VectorBucketName",
    ),
    POLICY: ("VectorBucketArn", "VectorBucketName"),
    KNOWLEDGE_BASE: ("StorageConfiguration", "KnowledgeBaseConfiguration"),
    DATA_SOURCE: ("KnowledgeBaseId", "VectorIngestionConfiguration", "DataSourceConfiguration"),
}
_TAGS = {BUCKET: ("Tags", "list"), INDEX: ("Tags", "list"), KNOWLEDGE_BASE: ("Tags", "map")}


def install() -> None:
    """Register the types with the emulator's CloudFormation."""
    provisioners._RESOURCE_HANDLERS.update(_HANDLERS)
    provisioners._REPLACING_PROPERTIES.update(_CREATE_ONLY)
    provisioners._STACK_TAG_PROPERTY.update(_TAGS)


def _create_bucket(logical_id: str, properties: Properties, stack: str) -> Created:
    name = properties.get("VectorBucketName") or _generated_name(stack, logical_id)
    bucket = STORE.create_bucket(s3vectors.owner(), name, time.time())
    bucket.tags = provisioners._tag_map(properties.get("Tags"))
    return bucket.arn, _bucket_attributes(bucket)


def _update_bucket(arn: str, old: Properties, new: Properties, _stack: str) -> Created:
    bucket = _bucket({"VectorBucketArn": arn})
    provisioners._reconcile_tag_map(bucket.tags, old, new)
    return arn, _bucket_attributes(bucket)


def _delete_bucket(arn: str, _properties: Properties) -> None:
    name = vector_store.parse_arn(arn)
    _if_present(lambda: STORE.delete_bucket(name.owner, name.bucket))


def _bucket_attributes(bucket: Bucket) -> dict[str, Any]:
    return {"VectorBucketArn": bucket.arn, "CreationTime": _iso(bucket.created)}


def _create_index(logical_id: str, properties: Properties, stack: str) -> Created:
    bucket = _bucket(properties)
    if properties.get("DataType") != "float32":
        raise invalid("DataType must be float32")
    name = properties.get("IndexName") or _generated_name(stack, logical_id)
    metadata = properties.get("MetadataConfiguration") or {}
    index = Index(
        name=name,
        arn=f"{bucket.arn}/index/{name}",
        # A template may carry the number as text.
        dimension=int(properties.get("Dimension", 0)),
        metric=properties.get("DistanceMetric", ""),
        non_filterable=tuple(metadata.get("NonFilterableMetadataKeys", ())),
        created=time.time(),
        mode=bucket.default_mode,
        tags=provisioners._tag_map(properties.get("Tags")),
    )
    STORE.create_index(bucket, index)
    return index.arn, _index_attributes(index)


def _update_index(arn: str, old: Properties, new: Properties, _stack: str) -> Created:
    index = STORE.index_at(arn)
    provisioners._reconcile_tag_map(index.tags, old, new)
    return arn, _index_attributes(index)


def _delete_index(arn: str, _properties: Properties) -> None:
    name = vector_store.parse_arn(arn)
    _if_present(lambda: STORE.delete_index(STORE.bucket(name.owner, name.bucket), STORE.index_at(arn).name))


def _index_attributes(index: Index) -> dict[str, Any]:
    return {"IndexArn": index.arn, "CreationTime": _iso(index.created)}


def _put_policy(_logical_id: str, properties: Properties, _stack: str) -> Created:
    bucket = _bucket(properties)
    policy = properties.get("Policy")
    bucket.policy = policy if isinstance(policy, str) else json.dumps(policy)
    return bucket.arn, {"VectorBucketArn": bucket.arn}


def _update_policy(_arn: str, _old: Properties, new: Properties, stack: str) -> Created:
    return _put_policy("", new, stack)


def _delete_policy(arn: str, _properties: Properties) -> None:
    def delete() -> None:
        _bucket({"VectorBucketArn": arn}).policy = None

    _if_present(delete)


def _bucket(properties: Properties) -> Bucket:
    """The bucket that VectorBucketArn or VectorBucketName names."""
    if arn := properties.get("VectorBucketArn"):
        name = vector_store.parse_arn(arn)
        return STORE.bucket(name.owner, name.bucket)
    return STORE.bucket(s3vectors.owner(), properties.get("VectorBucketName"))


def _create_knowledge_base(_logical_id: str, properties: Properties, _stack: str) -> Created:
    request = _request(properties)
    created = kb_creation.create_knowledge_base(request)
    bedrock_agent._tags[created["knowledgeBaseArn"]] = dict(properties.get("Tags") or {})
    return created["knowledgeBaseId"], _knowledge_base_attributes(created)


def _update_knowledge_base(identifier: str, old: Properties, new: Properties, _stack: str) -> Created:
    updated = _answer(bedrock_agent._update_kb(identifier, json.dumps(_request(new)).encode()))[
        "knowledgeBase"
    ]
    tags = bedrock_agent._tags.setdefault(updated["knowledgeBaseArn"], {})
    provisioners._reconcile_tag_map(tags, old, new)
    return identifier, _knowledge_base_attributes(updated)


def _delete_knowledge_base(identifier: str, _properties: Properties) -> None:
    record = bedrock_agent._knowledge_bases.get(identifier)
    if record is not None:
        kb_ingestion.delete_knowledge_base(identifier)
        bedrock_agent._tags.pop(record["KnowledgeBaseArn"], None)


def _knowledge_base_attributes(description: Mapping[str, Any]) -> dict[str, Any]:
    names = {"knowledgeBaseId", "knowledgeBaseArn", "status", "createdAt", "updatedAt"}
    return {name[0].upper() + name[1:]: description[name] for name in names}


def _create_data_source(_logical_id: str, properties: Properties, _stack: str) -> Created:
    knowledge_base = properties["KnowledgeBaseId"]
    created = kb_creation.create_data_source(knowledge_base, _request(properties))
    return f"{knowledge_base}|{created['dataSourceId']}", _data_source_attributes(created)


def _update_data_source(physical_id: str, _old: Properties, new: Properties, _stack: str) -> Created:
    request = json.dumps(_request(new)).encode()
    updated = _answer(bedrock_agent._update_ds(*physical_id.split("|"), request))["dataSource"]
    return physical_id, _data_source_attributes(updated)


def _delete_data_source(physical_id: str, _properties: Properties) -> None:
    _if_present(lambda: kb_ingestion.delete_data_source(*physical_id.split("|")))


def _data_source_attributes(description: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "DataSourceId": description["dataSourceId"],
        "DataSourceStatus": description["status"],
        "CreatedAt": description["createdAt"],
        "UpdatedAt": description["updatedAt"],
    }


def _request(properties: Properties) -> dict[str, Any]:
    """The API request of a resource's properties; tags and the parent's id are no part of it."""
    kept = {name: value for name, value in properties.items() if name not in ("Tags", "KnowledgeBaseId")}
    request: dict[str, Any] = _camel(kept)
    return request


def _camel(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key[0].lower() + key[1:]: _camel(member) for key, member in value.items()}
    return [_camel(member) for member in value] if isinstance(value, list) else value


def _answer(response: tuple[int, dict[str, str], bytes]) -> dict[str, Any]:
    return kb_creation.payload_of(response)


def _generated_name(stack: str, logical_id: str) -> str:
    return str(provisioners._physical_name(stack, logical_id, lowercase=True, max_len=63))


def _if_present(delete: Callable[[], None]) -> None:
    """Deleting what is gone already succeeds, as CloudFormation treats it."""
    try:
        delete()
    except AwsError as error:
        if error.status != 404:
            raise


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()


_HANDLERS: dict[str, dict[str, Callable[..., Any]]] = {
    BUCKET: {"create": _create_bucket, "update": _update_bucket, "delete": _delete_bucket},
    INDEX: {"create": _create_index, "update": _update_index, "delete": _delete_index},
    POLICY: {"create": _put_policy, "update": _update_policy, "delete": _delete_policy},
    KNOWLEDGE_BASE: {
        "create": _create_knowledge_base,
        "update": _update_knowledge_base,
        "delete": _delete_knowledge_base,
    },
    DATA_SOURCE: {
        "create": _create_data_source,
        "update": _update_data_source,
        "delete": _delete_data_source,
    },
}
