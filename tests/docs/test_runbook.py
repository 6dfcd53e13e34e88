"""The pages of the runbook and of the metrics say what the code has."""

from __future__ import annotations

import re

import pytest

from infra.alarms import ALARMS, PAGES
from infra.dashboards import BOARDS
from infra.metrics_page import page
from tests.support.stack import ROOT
from unsay_core.admin.cli import app
from unsay_core.contracts.operations import OPERATIONS

FOLDER = ROOT / "docs" / "runbook"
HEADINGS = ["What it means", "Look here", "Do this", "Verify"]


def test_the_page_of_metrics_is_the_codes_own() -> None:
    assert (ROOT / "docs" / "metrics.md").read_text() == page(), "make metrics"


def test_every_alarm_has_a_page_and_every_page_an_alarm() -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} == set(PAGES)
    assert len(ALARMS) >= len(PAGES) > 10


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_to_do_with_what_there_is(name: str) -> None:
    text = (FOLDER / f"{name}.md").read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    titles = {graph.title for board in BOARDS for graph in board.graphs}
    lines = {line.name for board in BOARDS for graph in board.graphs for line in graph.lines}
    for drawn in re.findall(r"(?<!\*)\*([^*\n]+)\*(?!\*)", text.replace("\n  ", " ")):
        assert drawn in titles | lines, drawn
    assert set(re.findall(r"\*\*(\w+)\*\*", text)) <= {board.name for board in BOARDS}
    known = {(operation.method, operation.path) for operation in OPERATIONS}
    called = re.findall(r"`(GET|POST|PUT|DELETE|PATCH) (/v1/[^?`]*)", text)
    assert {(method, path.replace("{run_id}", "{run_id}")) for method, path in called} <= known
    commands = {command.name for command in app.registered_commands}
    assert set(re.findall(r"unsay-admin ([\w-]+)", text)) <= commands
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (FOLDER / link).resolve().exists(), link
