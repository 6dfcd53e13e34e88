"""A current template costs nothing: no synthesis, and not even an import of the CDK."""

from __future__ import annotations

import subprocess
import sys

import pytest

from infra import freshness


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small repository with every input in place."""
    for name in freshness.FILES:
        (tmp_path / name).write_text(name)
    for folder in freshness.FOLDERS:
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "module.py").write_text(folder)
    monkeypatch.setattr(freshness, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def outdir(tree):
    """Its output, stamped with the inputs as they are."""
    made = tree / "cdk.out"
    made.mkdir()
    (made / "unsay-dev.template.json").write_text("{}")
    (made / "manifest.json").write_text('{"artifacts": {"unsay-dev": {}}}')
    freshness.stamp(str(made), "dev", freshness.inputs_digest())
    return made


def test_an_output_is_fresh_until_an_input_changes(tree, outdir):
    assert freshness.is_fresh(outdir)
    (tree / "functions" / "module.py").write_text("changed")
    assert not freshness.is_fresh(outdir)


def test_a_new_file_and_a_renamed_file_are_changes(tree, outdir):
    (tree / "infra" / "another.py").write_text("")
    assert not freshness.is_fresh(outdir)
    (tree / "infra" / "another.py").unlink()
    assert freshness.is_fresh(outdir)
    (tree / "infra" / "module.py").rename(tree / "infra" / "renamed.py")
    assert not freshness.is_fresh(outdir)


def test_bytecode_is_no_change(tree, outdir):
    (tree / "functions" / "__pycache__").mkdir()
    (tree / "functions" / "__pycache__" / "module.pyc").write_bytes(b"x")
    assert freshness.is_fresh(outdir)


def test_the_output_of_another_stage_is_not_this_ones(outdir):
    (outdir / "manifest.json").write_text('{"artifacts": {"unsay-prod": {}}}')
    assert not freshness.is_fresh(outdir)
    assert not freshness.is_fresh(outdir, "prod")


def test_an_output_without_stamp_or_template_is_not_fresh(outdir):
    (outdir / "unsay-dev.template.json").unlink()
    assert not freshness.is_fresh(outdir)


def test_a_finished_synthesis_is_stamped(dev):
    assert (dev.folder / "unsay-dev.inputs.sha256").read_text() != ""


def test_asking_does_not_import_the_cdk():
    code = "import sys, infra.synth; sys.exit('aws_cdk' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=freshness.ROOT, check=False).returncode == 0
