"""What IAM checks against: action names, S3 Vectors ARNs, and loopback as a secure transport."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

from ministack import app
from ministack.core import iam_actions as actions
from ministack.core import iam_evaluator as evaluator

PATCHES = {
    "ministack.app": ("pin_request_origin",),
    "ministack.core.iam_actions": (
        "SERVICE_TO_IAM_NAMESPACE",
        "_BOTOCORE_SERVICE_MAP",
        "extract_iam_action",
        "extract_resource_arn",
    ),
    "ministack.core.iam_evaluator": ("pin_request_origin",),
}

# Operations that IAM knows under another action's name.
_ACTION_OF = {
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
    "bedrock:Converse": "bedrock:InvokeModel",
}
# A model id that begins with where it may be asked names an inference profile.
_PROFILE = re.compile(r"/model/(?P<id>(?:global|us|us-gov|eu|apac|jp|au|ca)\.[^/]+)/")
_LOOPBACK = ("127.0.0.1", "::1")
_original_origin = evaluator.pin_request_origin
_original_resource = actions.extract_resource_arn
_original_action = actions.extract_iam_action


def _origin(source_ip: str, secure: bool) -> None:
    """Nothing leaves the machine over loopback, so the `aws:SecureTransport` denials do not apply to it."""
    _original_origin(source_ip, secure or source_ip in _LOOPBACK)


def _action(*request: Any) -> str | None:
    """The action a request needs, by the name that policies use."""
    action: str | None = _original_action(*request)
    return _ACTION_OF.get(action, action) if action else None


def _resource(
    service: str,
    method: str,
    path: str,
    headers: dict[str, str],
    body: bytes,
    query: dict[str, Any],
    region: str,
    account_id: str,
) -> str:
    if service == "s3vectors":
        return _vectors_arn(body, region, account_id)
    profile = _PROFILE.match(unquote(path)) if service == "bedrock-runtime" else None
    if profile:
        return f"arn:aws:bedrock:{region}:{account_id}:inference-profile/{profile['id']}"
    # As it is: for DynamoDB the ARN carries the request's keys.
    arn: str = _original_resource(service, method, path, headers, body, query, region, account_id)
    return arn


def _vectors_arn(body: bytes, region: str, account_id: str) -> str:
    """The index a request names, else its vector bucket, else `*`."""
    try:
        request = json.loads(body or b"{}")
    except ValueError:
        return "*"
    if request.get("indexArn"):
        return str(request["indexArn"])
    bucket = request.get("vectorBucketArn")
    if not bucket and request.get("vectorBucketName"):
        bucket = f"arn:aws:s3vectors:{region}:{account_id}:bucket/{request['vectorBucketName']}"
    if not bucket:
        return "*"
    return f"{bucket}/index/{request['indexName']}" if request.get("indexName") else str(bucket)


def install() -> None:
    """Add S3 Vectors to the emulator's IAM maps, and count loopback as TLS."""
    actions.SERVICE_TO_IAM_NAMESPACE["s3vectors"] = "s3vectors"
    actions._BOTOCORE_SERVICE_MAP["s3vectors"] = ["s3vectors"]
    actions.extract_iam_action = _action
    actions.extract_resource_arn = _resource
    evaluator.pin_request_origin = _origin
    app.pin_request_origin = _origin
