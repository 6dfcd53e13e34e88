"""The check that what we patch in the emulator is still there."""

import subprocess
import sys
import types

import pytest

from local import extension
from tests.local.conftest import ROOT


def module(**patches):
    return types.SimpleNamespace(PATCHES={name.replace("__", "."): names for name, names in patches.items()})


def test_a_name_that_is_gone_is_named_with_its_module():
    wanted = module(ministack__core__arn=("parse_arn", "gone_name"), ministack__nowhere=("anything",))
    with pytest.raises(extension.ExtensionError) as refused:
        extension.check([wanted])
    assert "ministack.core.arn.gone_name" in str(refused.value)
    assert "ministack.nowhere.anything" in str(refused.value)
    assert "parse_arn" not in str(refused.value)


def test_names_that_are_there_pass():
    extension.check([module(ministack__core__arn=("parse_arn",)), types.SimpleNamespace()])


def test_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(extension.importlib.metadata, "version", lambda _: "9.9.9")
    with pytest.raises(extension.ExtensionError, match=r"9\.9\.9"):
        extension.check([])


@pytest.mark.parametrize("name", ["_first_match", "enforce"])
def test_a_server_whose_policy_check_has_moved_does_not_start(tmp_path, name):
    script = (
        f"from ministack.core import iam_evaluator; del iam_evaluator.{name}\n"
        "from local import extension; extension.MODULES = extension.MODULES[:2]; extension.install()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "ExtensionError" in done.stderr
    assert name in done.stderr
