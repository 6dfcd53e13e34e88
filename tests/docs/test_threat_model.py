"""Every line of the threat model that names a test names one that is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text()
POINTER = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def is_there(path: str, name: str) -> bool:
    tree = ast.parse((ROOT / path).read_text()) if (ROOT / path).is_file() else ast.parse("")
    tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return bool(tests) and (not name or name in tests)


def test_every_test_it_points_to_is_there() -> None:
    pointers = POINTER.findall(PAGE)
    assert len(pointers) > 30
    assert [f"{path}::{name}" for path, name in pointers if not is_there(path, name)] == []
    assert not is_there("tests/docs/test_threat_model.py", "test_that_is_not_there")


def test_every_wall_and_every_row_of_a_table_of_risks_has_a_pointer() -> None:
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
    for title in ("Three walls", "The knowledge base, where there are two"):
        rows = [line for line in sections[title].splitlines() if line.startswith("|")][2:]
        assert rows
        assert [row for row in rows if not POINTER.search(row)] == []
    for title in ("What each still holds when the other two have fallen", "Workers", "One process for many"):
        assert POINTER.search(sections[title]), title
