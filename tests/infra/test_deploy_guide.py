"""The deployment guide speaks of this stack: its outputs, its commands, its files."""

from __future__ import annotations

import json
import re

import pytest

from infra.freshness import ROOT


@pytest.fixture(scope="module")
def guide() -> str:
    return (ROOT / "docs" / "deploy.md").read_text()


def test_every_output_it_reads_is_an_output_of_the_stack(guide, dev):
    read = set(re.findall(r"OutputKey=='(\w+)'|`([A-Z]\w+(?:Arn|Url))`", guide))
    read = {name for pair in read for name in pair if name}
    assert read >= {"ApiUrl", "DocumentsBucket", "PepperSecretArn"}
    assert read <= dev.body["Outputs"].keys()


def test_the_command_line_it_installs_is_pinned(guide):
    assert "npm ci" in guide
    package = json.loads((ROOT / "package.json").read_text())
    lock = json.loads((ROOT / "package-lock.json").read_text())
    pinned = package["devDependencies"]["aws-cdk"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", pinned)
    assert lock["packages"]["node_modules/aws-cdk"]["version"] == pinned


def test_the_lock_names_no_registry_but_the_public_one():
    text = (ROOT / "package-lock.json").read_text()
    assert set(re.findall(r'"resolved": "(https?://[^/]+)/', text)) <= {"https://registry.npmjs.org"}


def test_every_file_it_points_at_exists(guide):
    files = re.findall(r"`((?:infra|docs|tests)/[\w./-]+)`", guide)
    assert files
    assert [name for name in files if not (ROOT / name).exists()] == []
