"""docs/migrating.md says what the commands do."""

import json
import re
import shlex

from typer.testing import CliRunner

from tests.support.stack import ROOT
from unsay.cli import app
from unsay.importers import SOURCES

PAGE = (ROOT / "docs" / "migrating.md").read_text()


def test_the_table_has_every_source():
    rows = re.findall(r"^\| ((?:`[a-z0-9-]+`(?:, )?)+) \|", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row)} - {"--from"}
    assert named == SOURCES.keys()


def test_the_commands_run_as_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record = {"id": "a", "memory": "Alice drinks green tea.", "created_at": "2025-03-04T05:06:07Z"}
    (tmp_path / "mem0.json").write_text(json.dumps({"results": [record]}))
    monkeypatch.setenv("UNSAY_URL", f"sqlite:///{tmp_path}/memory.db")
    told = []
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            _, *arguments = shlex.split(line)
            done = CliRunner().invoke(app, arguments)
            assert done.exit_code == 0, done.output
            told.append(json.loads(done.stdout))
    assert [each["result"] for each in told if "result" in each] == [
        {"imported": 1, "refused": {}},
        {"skipped": 1, "refused": {}},
    ]
    (line,) = (tmp_path / "alice.jsonl").read_text().splitlines()
    assert json.loads(line)["memory"]["valid_from"] == "2025-03-04T05:06:07.000000Z"
