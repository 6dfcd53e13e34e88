"""What docs/quotas.md shows is what happens."""

from __future__ import annotations

import re
import shlex

import pytest
from typer.testing import CliRunner

from tests.support.stack import ROOT
from unsay.cli import app

PAGE = (ROOT / "docs" / "quotas.md").read_text()


def test_the_command_sets_every_quota(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("UNSAY_URL", "UNSAY_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    (command,) = re.findall(r"^```sh\nunsay (.*)\n```", PAGE, re.MULTILINE)
    done = CliRunner().invoke(app, [*shlex.split(command), "--json"])
    assert done.exit_code == 0, done.output
    quotas = '"quotas":{"memories":10000,"bytes":5000000,"messages_per_day":2000,"requests_per_minute":600}'
    assert quotas in re.sub(r"\s", "", done.output)
