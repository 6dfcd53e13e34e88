"""Deploys a synthesized `cdk.out` to the local cloud through CloudFormation, with boto3 alone.

The template goes out byte for byte as it would to AWS. Only the zip of the third-party layer is another:
built for this machine (see `host_layer`).
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import botocore.exceptions
from botocore.config import Config

from local.archive import zipped
from local.host_layer import ROOT, host_layer, host_tag, is_third_party
from local.place import ACCOUNT, REGION, ROOT_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from local.place import Place

CDK_OUT = ROOT / "cdk.out"
_BOOTSTRAP_VERSION = "30"  # what the CDK's own bootstrap stack would say it is
_DEADLINE_SECONDS = 120.0
_POLL_SECONDS = 0.05
_CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
# A first deployment that failed, or died with the server, leaves a stack nothing can be updated on.
_DEAD = frozenset(
    {"CREATE_FAILED", "CREATE_IN_PROGRESS", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED"}
)


class DeployError(RuntimeError):
    """The stack could not be deployed; the message holds CloudFormation's reasons."""


def deploy(
    place: Place, cdk_out: Path = CDK_OUT, say: Callable[[str], None] = lambda _: None
) -> dict[str, str]:
    """Publish the assets and bring every stack of `cdk.out` up to date; returns their outputs."""
    if not (cdk_out / "manifest.json").exists():
        raise DeployError(f"nothing to deploy: {cdk_out} holds no synthesized app (make synth)")
    return _Deployment(place, cdk_out, say).run()


class _Deployment:
    def __init__(self, place: Place, cdk_out: Path, say: Callable[[str], None]) -> None:
        self._place, self._folder, self._say = place, cdk_out, say
        self._artifacts: dict[str, Any] = json.loads((cdk_out / "manifest.json").read_text())["artifacts"]

    def _client(self, service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=self._place.url,
            region_name=REGION,
            aws_access_key_id=ROOT_KEY,
            aws_secret_access_key=ROOT_KEY,
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 2}),
        )

    def run(self) -> dict[str, str]:
        self._s3, self._cloudformation = self._client("s3"), self._client("cloudformation")
        outputs: dict[str, str] = {}
        for name, artifact in self._artifacts.items():
            if artifact["type"] == "aws:cloudformation:stack":
                outputs |= self._deploy(name, artifact)
        return outputs

    def _deploy(self, name: str, artifact: dict[str, Any]) -> dict[str, str]:
        manifests = [self._artifacts[dependency] for dependency in artifact.get("dependencies", [])]
        published = [
            self._publish(asset)
            for manifest in manifests
            if manifest["type"] == "cdk:asset-manifest"
            for asset in self._assets(manifest["properties"])
        ]
        self._say(f"assets: {sum(published)} uploaded, {len(published) - sum(published)} already there")
        stack = artifact["properties"].get("stackName", name)
        return self._up_to_date(stack, _local(artifact["properties"]["stackTemplateAssetObjectUrl"]))

    def _assets(self, properties: dict[str, Any]) -> Iterator[dict[str, Any]]:
        parameter = properties.get("bootstrapStackVersionSsmParameter")
        if parameter:
            self._client("ssm").put_parameter(
                Name=parameter, Type="String", Value=_BOOTSTRAP_VERSION, Overwrite=True
            )
        yield from json.loads((self._folder / properties["file"]).read_text())["files"].values()

    def _publish(self, asset: dict[str, Any]) -> bool:
        """Upload an asset where its template looks for it, unless it is there; True if it was uploaded."""
        source = self._folder / asset["source"]["path"]
        third_party = is_third_party(source)
        metadata = {"host": host_tag()} if third_party else {}
        uploaded = False
        for destination in asset["destinations"].values():
            bucket, key = _local(destination["bucketName"]), _local(destination["objectKey"])
            found = self._published(bucket, key)
            if found is None:
                body = host_layer(source) if third_party else _content(source, asset["source"]["packaging"])
                self._s3.put_object(Bucket=bucket, Key=key, Body=body, Metadata=metadata)
                uploaded = True
            elif found != metadata:
                raise DeployError(
                    f"this state was deployed for {found.get('host')}, and this is {host_tag()}: "
                    "use another state folder, or remove it"
                )
        return uploaded

    def _published(self, bucket: str, key: str) -> dict[str, str] | None:
        """Metadata of a published asset, or None; its bucket exists afterwards."""
        try:
            metadata: dict[str, str] = self._s3.head_object(Bucket=bucket, Key=key)["Metadata"]
        except botocore.exceptions.ClientError as error:
            if error.response["Error"]["Code"] not in ("404", "NoSuchBucket", "NoSuchKey"):
                raise
            self._s3.create_bucket(Bucket=bucket)
            return None
        return metadata

    def _up_to_date(self, stack: str, template: str) -> dict[str, str]:
        status = self._status(stack)
        if status in _DEAD:
            self._cloudformation.delete_stack(StackName=stack)
            self._settled(stack)
            status = None
        request = {
            "StackName": stack,
            "TemplateURL": f"{self._place.url}/{template.removeprefix('s3://')}",
            "Capabilities": _CAPABILITIES,
        }
        started = self._started(request, exists=status not in (None, "DELETE_COMPLETE"))
        if not started:
            self._say("stack: no changes")
            return self._outputs(stack)
        status = self._settled(stack)
        if status not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            raise DeployError(f"{stack}: {status}\n" + "\n".join(self._reasons(stack)))
        self._say(f"stack: {status}")
        return self._outputs(stack)

    def _started(self, request: dict[str, Any], *, exists: bool) -> bool:
        """Start the creation or the update; False when there is nothing to update."""
        try:
            (self._cloudformation.update_stack if exists else self._cloudformation.create_stack)(**request)
        except botocore.exceptions.ClientError as error:
            if "No updates are to be performed" in str(error):
                return False
            raise DeployError(str(error)) from error
        return True

    def _status(self, stack: str) -> str | None:
        try:
            status: str = self._cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
        except botocore.exceptions.ClientError as error:
            if "does not exist" not in str(error):
                raise
            return None
        return status

    def _settled(self, stack: str) -> str | None:
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while (status := self._status(stack)) and status.endswith("_IN_PROGRESS"):
            if time.monotonic() > deadline:
                raise DeployError(f"{stack}: still {status} after {_DEADLINE_SECONDS:.0f} s")
            time.sleep(_POLL_SECONDS)
        return status

    def _reasons(self, stack: str) -> list[str]:
        """Why resources failed, the first cause first."""
        events = self._cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
        failed = [event for event in reversed(events) if event["ResourceStatus"].endswith("_FAILED")]
        return [
            f"  {event['LogicalResourceId']} ({event['ResourceType']}): {event.get('ResourceStatusReason')}"
            for event in failed
        ]

    def _outputs(self, stack: str) -> dict[str, str]:
        found = self._cloudformation.describe_stacks(StackName=stack)["Stacks"][0].get("Outputs", [])
        return {output["OutputKey"]: output["OutputValue"] for output in found}


def _content(source: Path, packaging: str) -> bytes:
    return zipped(source) if packaging == "zip" else source.read_bytes()


def _local(text: str) -> str:
    """A name of the manifest with its pseudo parameters resolved."""
    values = {"${AWS::AccountId}": ACCOUNT, "${AWS::Region}": REGION, "${AWS::Partition}": "aws"}
    for parameter, value in values.items():
        text = text.replace(parameter, value)
    return text
