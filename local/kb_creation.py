"""What AWS checks before it creates a knowledge base or a data source.

The emulator accepts anything. AWS looks whether the vector index exists and fits the
embedding model, whether Bedrock may assume the role, and what that role may do; a stack
that forgets one of them would deploy here and fail there.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from ministack.core import iam_evaluator
from ministack.core.responses import get_account_id, get_region
from ministack.services import bedrock_agent, iam

from local import nova, titan
from local.aws_json import AwsError, invalid
from local.vector_store import STORE, Index

# What each embedding model can be asked for; the first is what it gives unasked.
DIMENSIONS = {"amazon.titan-embed-text-v2:0": titan.DIMENSIONS, nova.MODEL: nova.DIMENSIONS}
# What a knowledge base does in its index. AWS reports a missing one as a role it cannot assume.
INDEX_ACTIONS = ("GetIndex", "QueryVectors", "PutVectors", "GetVectors", "DeleteVectors")

_ROLE = re.compile(r"arn:aws:iam::\d{12}:role/(?:.*/)?([^/]+)")


def index_arn(storage: Mapping[str, Any]) -> str | None:
    """The index ARN of a storage configuration; None for another kind of store."""
    if storage.get("type") != "S3_VECTORS":
        return None
    configuration = storage.get("s3VectorsConfiguration") or {}
    if arn := configuration.get("indexArn"):
        return str(arn)
    if not configuration.get("vectorBucketArn") or not configuration.get("indexName"):
        raise invalid("s3VectorsConfiguration must name an index by ARN, or by bucket ARN and name.")
    return f"{configuration['vectorBucketArn']}/index/{configuration['indexName']}"


def create_knowledge_base(request: dict[str, Any]) -> dict[str, Any]:
    """Create a knowledge base, if AWS would."""
    name = request.get("name")
    if any(record["Name"] == name for record in bedrock_agent._knowledge_bases.values()):
        raise AwsError("ConflictException", f"KnowledgeBase with name {name} already exists.", 409)
    arn = index_arn(request.get("storageConfiguration") or {})
    if arn is not None:
        _check_vector_knowledge_base(request, arn)
    created = payload_of(bedrock_agent._create_kb(json.dumps(request).encode()))
    return dict(created["knowledgeBase"])


def create_data_source(knowledge_base: str, request: dict[str, Any]) -> dict[str, Any]:
    """Create a data source, if AWS would; its vectors are deleted with it unless it says otherwise."""
    prefix, name = f"{knowledge_base}/", request.get("name")
    records = bedrock_agent._data_sources.items()
    if any(key.startswith(prefix) and record["Name"] == name for key, record in records):
        raise AwsError("ConflictException", f"DataSource with name {name} already exists.", 409)
    request = {"dataDeletionPolicy": "DELETE", **request}
    created = payload_of(bedrock_agent._create_ds(knowledge_base, json.dumps(request).encode()))
    return dict(created["dataSource"])


def payload_of(response: tuple[int, dict[str, str], bytes]) -> dict[str, Any]:
    """The payload of one of the emulator's own answers; its errors are raised."""
    status, _, body = response
    payload: dict[str, Any] = json.loads(body)
    if status >= 300:
        raise AwsError(payload["__type"], payload["message"], status)
    return payload


def _check_vector_knowledge_base(request: Mapping[str, Any], arn: str) -> None:
    configuration = request.get("knowledgeBaseConfiguration") or {}
    if configuration.get("type") != "VECTOR":
        raise invalid("A knowledge base on S3_VECTORS must be of type VECTOR.")
    vector = configuration.get("vectorKnowledgeBaseConfiguration") or {}
    _check_index(STORE.index_at(arn), vector)
    _check_role(request.get("roleArn") or "", arn, vector.get("embeddingModelArn") or "")


def _check_index(index: Index, vector: Mapping[str, Any]) -> None:
    model = (vector.get("embeddingModelConfiguration") or {}).get("bedrockEmbeddingModelConfiguration") or {}
    known = DIMENSIONS.get(str(vector.get("embeddingModelArn")).rpartition("/")[2], titan.DIMENSIONS)
    dimension = model.get("dimensions", known[0])
    if dimension not in known:
        raise invalid(f"The embedding model has no {dimension} dimensions.")
    if model.get("embeddingDataType", "FLOAT32") != "FLOAT32":
        raise invalid("S3 Vectors holds embeddings of type FLOAT32 only.")
    if index.dimension != dimension:
        raise invalid(
            "The knowledge base storage configuration provided is invalid: "
            f"the index has {index.dimension} dimensions, the embedding model {dimension}."
        )


def _check_role(role_arn: str, arn: str, model_arn: str) -> None:
    """AWS gives every one of these causes the same message; ours adds which one it is."""
    match = _ROLE.fullmatch(role_arn)
    role = iam._roles.get(match[1]) if match else None
    if match is None or role is None:
        raise _not_assumed(f"no such role: {role_arn}")
    if not _trusts_bedrock(role["AssumeRolePolicyDocument"]):
        raise _not_assumed(f"{match[1]} does not trust bedrock.amazonaws.com")
    needed = [("bedrock:InvokeModel", model_arn)]
    needed += [(f"s3vectors:{action}", arn) for action in INDEX_ACTIONS]
    for action, resource in needed:
        if not _is_allowed(match[1], role_arn, action, resource):
            raise _not_assumed(f"{match[1]} may not {action} on {resource}")


def _not_assumed(cause: str) -> AwsError:
    return invalid(
        "Bedrock Knowledge Base was unable to assume the given role. "
        f"Provide the proper permissions and retry the request. ({cause})"
    )


def _trusts_bedrock(document: str | Mapping[str, Any]) -> bool:
    policy: Any = json.loads(document) if isinstance(document, str) else document
    statements = policy["Statement"]
    for statement in statements if isinstance(statements, list) else [statements]:
        principal = statement.get("Principal")
        services = principal.get("Service", []) if isinstance(principal, dict) else []
        named = [services] if isinstance(services, str) else services
        if statement.get("Effect") == "Allow" and "bedrock.amazonaws.com" in named:
            return True
    return False


def _is_allowed(role: str, role_arn: str, action: str, resource: str) -> bool:
    account = get_account_id()
    context = iam_evaluator.EvalContext(
        principal_arn=role_arn,
        principal_type="AssumedRole",
        principal_account=account,
        action=action,
        resource_arn=resource,
        region=get_region(),
    )
    decision = iam_evaluator.evaluate(context, iam_evaluator._gather_role_policies(role, account))
    return bool(decision.decision == "Allow")
