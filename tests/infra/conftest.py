"""Both stages, synthesized once per session in this process, and a way to read them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from app import synthesize

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Template:
    """One synthesized stack, as CloudFormation would get it."""

    folder: Path
    stage: str

    @property
    def path(self) -> Path:
        return self.folder / f"unsay-{self.stage}.template.json"

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.path.read_text())

    @property
    def resources(self) -> dict[str, Any]:
        return self.body["Resources"]

    def of_type(self, kind: str) -> dict[str, Any]:
        """Logical id → resource; never empty, so that no loop over it passes by finding nothing."""
        found = {name: each for name, each in self.resources.items() if each["Type"] == kind}
        assert found, f"no {kind} in the template"
        return found

    def one(self, kind: str, prefix: str = "") -> dict[str, Any]:
        """The properties of the only resource of that type whose logical id starts with `prefix`."""
        (found,) = (each for name, each in self.of_type(kind).items() if name.startswith(prefix))
        return found["Properties"]

    def logical_id(self, prefix: str, kind: str) -> str:
        (found,) = (name for name in self.of_type(kind) if name.startswith(prefix))
        return found

    def statements(self, role_prefix: str) -> list[dict[str, Any]]:
        """Every statement a role holds: its inline policies and the policies attached to it."""
        role = self.logical_id(role_prefix, "AWS::IAM::Role")
        documents = [
            each["PolicyDocument"] for each in self.resources[role]["Properties"].get("Policies", [])
        ]
        for policy in self.of_type("AWS::IAM::Policy").values():
            if {"Ref": role} in policy["Properties"]["Roles"]:
                documents.append(policy["Properties"]["PolicyDocument"])
        return [statement for document in documents for statement in document["Statement"]]

    def asset(self, display_name: str) -> Path:
        """The folder that becomes the zip of a layer or of the functions."""
        files = json.loads((self.folder / f"unsay-{self.stage}.assets.json").read_text())["files"]
        (found,) = (each for each in files.values() if each["displayName"] == display_name)
        return self.folder / found["source"]["path"]


def assert_same_bytes(folder: Path, template: Template) -> None:
    """The stack in `folder` was synthesized elsewhere, from the same sources, into the same bytes."""
    stamp = f"unsay-{template.stage}.inputs.sha256"
    unchanged = (folder / stamp).read_text() == (template.folder / stamp).read_text()
    assert unchanged, "a source was edited while this test ran: run it again"
    for name in (template.path.name, f"unsay-{template.stage}.assets.json"):
        assert (folder / name).read_bytes() == (template.folder / name).read_bytes()


def listed(value: Any) -> list[Any]:
    """IAM writes one value bare and several as a list."""
    return value if isinstance(value, list) else [value]


@pytest.fixture(scope="session")
def dev(tmp_path_factory) -> Template:
    folder = tmp_path_factory.mktemp("dev") / "cdk.out"
    synthesize(str(folder), stage="dev")
    return Template(folder, "dev")


@pytest.fixture(scope="session")
def prod(tmp_path_factory) -> Template:
    folder = tmp_path_factory.mktemp("prod") / "cdk.out"
    synthesize(str(folder), stage="prod")
    return Template(folder, "prod")


@pytest.fixture(scope="session")
def guarded(tmp_path_factory) -> Template:
    """What a deployer who trusts nobody else's key, and no open door, asks for."""
    folder = tmp_path_factory.mktemp("guarded") / "cdk.out"
    synthesize(str(folder), stage="prod", encryption="cmk", waf="cloudfront")
    return Template(folder, "prod")
