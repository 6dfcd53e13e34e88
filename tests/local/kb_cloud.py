"""A local cloud of the test's own, and the knowledge bases deployed to it."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import httpx
from botocore.config import Config

ROOT = Path(__file__).parents[2]
PORTS = range(4630, 4650)
DEADLINE_SECONDS = 60.0
EMBEDDING_MODEL = "arn:aws:bedrock:us-east-1::foundation-model/amazon.titan-embed-text-v2:0"


def wait_until(holds: Callable[[], Any], deadline: float = DEADLINE_SECONDS) -> Any:
    """The first true value of `holds`; fails when the deadline passes without one."""
    end = time.monotonic() + deadline
    while not (value := holds()):
        assert time.monotonic() < end, "deadline passed"
        time.sleep(0.02)
    return value


class Cloud:
    """The local cloud in a process of its own."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.url = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._clients: dict[str, Any] = {}

    def start(self) -> None:
        """Start the server; again at the same address after a stop."""
        self.url = self.url or f"http://127.0.0.1:{next(filter(_is_free, PORTS))}"
        port = self.url.rpartition(":")[2]
        command = [sys.executable, "-m", "local", "serve", "--port", port, "--state", str(self.state)]
        self.state.mkdir(parents=True, exist_ok=True)
        with open(self.state / "test.log", "ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        wait_until(self._answers)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.state / "test.log").read_text()
        try:
            return httpx.get(f"{self.url}/_ministack/health").status_code == 200
        except httpx.TransportError:
            return False

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def client(self, service: str) -> Any:
        """A client of the service with the root test key, made once."""
        if service not in self._clients:
            self._clients[service] = self._new_client(service)
        return self._clients[service]

    def _new_client(self, service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(retries={"total_max_attempts": 1}, max_pool_connections=40),
        )

    def faults(self, **values: Any) -> None:
        httpx.put(f"{self.url}/_faults", json=values).raise_for_status()

    def heal(self) -> None:
        httpx.delete(f"{self.url}/_faults").raise_for_status()

    def deploy(self, name: str, template: dict[str, Any]) -> dict[str, str]:
        """Create or update a stack; its outputs, or an AssertionError with the reasons."""
        cloudformation = self.client("cloudformation")
        stacks = {stack["StackName"] for stack in cloudformation.list_stacks()["StackSummaries"]}
        call = cloudformation.update_stack if name in stacks else cloudformation.create_stack
        call(StackName=name, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_IAM"])
        stack = wait_until(lambda: self._finished(name))
        if stack["StackStatus"] not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            raise AssertionError(f"{stack['StackStatus']}: {self.reasons(name)}")
        return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}

    def _finished(self, name: str) -> Any:
        stack = self.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
        return None if stack["StackStatus"].endswith("IN_PROGRESS") else stack

    def reasons(self, name: str) -> str:
        events = self.client("cloudformation").describe_stack_events(StackName=name)["StackEvents"]
        return "; ".join(event.get("ResourceStatusReason", "") for event in events)

    def delete_stack(self, name: str) -> str:
        """Delete a stack; the status it ends in."""
        cloudformation = self.client("cloudformation")
        identifier = cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackId"]
        cloudformation.delete_stack(StackName=name)
        return wait_until(lambda: self._finished(identifier))["StackStatus"]


@dataclass(frozen=True)
class KnowledgeBase:
    """The deployed knowledge base, as a caller uses it."""

    cloud: Cloud
    id: str
    data_source: str
    index_arn: str
    agent: Any
    runtime: Any

    def ingest(self, *documents: dict[str, Any], **options: Any) -> list[str]:
        """Ingest documents; their statuses."""
        answer = self.agent.ingest_knowledge_base_documents(
            knowledgeBaseId=self.id, dataSourceId=self.data_source, documents=list(documents), **options
        )
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == 202
        return [detail["status"] for detail in answer["documentDetails"]]

    def delete(self, *ids: str, **options: Any) -> list[str]:
        """Delete documents; their statuses."""
        answer = self.agent.delete_knowledge_base_documents(
            knowledgeBaseId=self.id,
            dataSourceId=self.data_source,
            documentIdentifiers=identifiers(*ids),
            **options,
        )
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == 202
        return [detail["status"] for detail in answer["documentDetails"]]

    def status(self, document: str) -> str:
        answer = self.agent.get_knowledge_base_documents(
            knowledgeBaseId=self.id, dataSourceId=self.data_source, documentIdentifiers=identifiers(document)
        )
        return str(answer["documentDetails"][0]["status"])

    def retrieve(self, text: str, **search: Any) -> list[dict[str, Any]]:
        answer = self.runtime.retrieve(
            knowledgeBaseId=self.id,
            retrievalQuery={"text": text},
            retrievalConfiguration={"vectorSearchConfiguration": search},
        )
        return list(answer["retrievalResults"])

    def found(self, text: str, **search: Any) -> list[str]:
        """The ids of what a query finds, best first."""
        return [hit["location"]["customDocumentLocation"]["id"] for hit in self.retrieve(text, **search)]


def identifiers(*ids: str) -> list[dict[str, Any]]:
    return [{"dataSourceType": "CUSTOM", "custom": {"id": each}} for each in ids]


def document(identifier: str, text: str, **attributes: Any) -> dict[str, Any]:
    """An ingestion document with inline text and attributes."""
    custom = {
        "customDocumentIdentifier": {"id": identifier},
        "sourceType": "IN_LINE",
        "inlineContent": {"type": "TEXT", "textContent": {"data": text}},
    }
    made: dict[str, Any] = {"content": {"dataSourceType": "CUSTOM", "custom": custom}}
    if attributes:
        inline = [{"key": key, "value": _typed(value)} for key, value in attributes.items()]
        made["metadata"] = {"type": "IN_LINE_ATTRIBUTE", "inlineAttributes": inline}
    return made


def _typed(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"type": "BOOLEAN", "booleanValue": value}
        case int() | float():
            return {"type": "NUMBER", "numberValue": value}
        case list():
            return {"type": "STRING_LIST", "stringListValue": value}
    return {"type": "STRING", "stringValue": value}


def template(name: str, **changes: Any) -> dict[str, Any]:
    """A knowledge base with its index, bucket, role and data source; `changes` replace resources."""
    get = lambda resource, attribute: {"Fn::GetAtt": [resource, attribute]}  # noqa: E731
    resources: dict[str, Any] = {
        "Bucket": {"Type": "AWS::S3Vectors::VectorBucket", "Properties": {}},
        "Index": index_resource(),
        "Role": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": {
                    "Version": "2012-10-17",
                    "Statement": [
                        {
                            "Effect": "Allow",
                            "Principal": {"Service": "bedrock.amazonaws.com"},
                            "Action": "sts:AssumeRole",
                        }
                    ],
                }
            },
        },
        "RolePolicy": {
            "Type": "AWS::IAM::Policy",
            "Properties": {
                "PolicyName": "index",
                "Roles": [{"Ref": "Role"}],
                "PolicyDocument": {
                    "Version": "2012-10-17",
                    "Statement": [
                        {"Effect": "Allow", "Action": "bedrock:InvokeModel", "Resource": EMBEDDING_MODEL},
                        {
                            "Effect": "Allow",
                            "Action": [
                                "s3vectors:GetIndex",
                                "s3vectors:QueryVectors",
                                "s3vectors:PutVectors",
                                "s3vectors:GetVectors",
                                "s3vectors:DeleteVectors",
                            ],
                            "Resource": get("Index", "IndexArn"),
                        },
                    ],
                },
            },
        },
        "KnowledgeBase": {
            "Type": "AWS::Bedrock::KnowledgeBase",
            "DependsOn": ["RolePolicy"],
            "Properties": {
                "Name": name,
                "RoleArn": get("Role", "Arn"),
                "KnowledgeBaseConfiguration": {
                    "Type": "VECTOR",
                    "VectorKnowledgeBaseConfiguration": {"EmbeddingModelArn": EMBEDDING_MODEL},
                },
                "StorageConfiguration": {
                    "Type": "S3_VECTORS",
                    "S3VectorsConfiguration": {"IndexArn": get("Index", "IndexArn")},
                },
                "Tags": {"Owner": "tests"},
            },
        },
        "DataSource": {
            "Type": "AWS::Bedrock::DataSource",
            "Properties": {
                "Name": "memories",
                "KnowledgeBaseId": {"Ref": "KnowledgeBase"},
                "DataSourceConfiguration": {"Type": "CUSTOM"},
                "VectorIngestionConfiguration": {"ChunkingConfiguration": {"ChunkingStrategy": "NONE"}},
            },
        },
    }
    for resource, change in changes.items():
        if change is None:
            del resources[resource]
        else:
            resources[resource] = change
    outputs = {
        "KnowledgeBaseId": get("KnowledgeBase", "KnowledgeBaseId"),
        "KnowledgeBaseArn": get("KnowledgeBase", "KnowledgeBaseArn"),
        "DataSourceId": get("DataSource", "DataSourceId"),
        "DataSourceRef": {"Ref": "DataSource"},
        "IndexArn": get("Index", "IndexArn"),
        "VectorBucketArn": get("Bucket", "VectorBucketArn"),
    }
    return {"Resources": resources, "Outputs": {key: {"Value": value} for key, value in outputs.items()}}


def index_resource(**changes: Any) -> dict[str, Any]:
    properties = {
        "VectorBucketArn": {"Fn::GetAtt": ["Bucket", "VectorBucketArn"]},
        "DataType": "float32",
        "Dimension": 1024,
        "DistanceMetric": "cosine",
        "MetadataConfiguration": {
            "NonFilterableMetadataKeys": ["AMAZON_BEDROCK_TEXT", "AMAZON_BEDROCK_METADATA"]
        },
    }
    return {"Type": "AWS::S3Vectors::Index", "Properties": {**properties, **changes}}


def knowledge_base(cloud: Cloud, outputs: dict[str, str]) -> KnowledgeBase:
    return KnowledgeBase(
        cloud,
        outputs["KnowledgeBaseId"],
        outputs["DataSourceId"],
        outputs["IndexArn"],
        cloud.client("bedrock-agent"),
        cloud.client("bedrock-agent-runtime"),
    )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
