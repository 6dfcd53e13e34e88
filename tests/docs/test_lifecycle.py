"""docs/lifecycle.md says what the code does."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

from tests.support.stack import ROOT
from unsay_core.contracts.base import parse_path, parse_path_text
from unsay_core.domain.labels import joined
from unsay_core.domain.lifecycle import TRANSITIONS
from unsay_core.domain.memory import Trust
from unsay_core.domain.trust import may_replace

PAGE = (ROOT / "docs" / "lifecycle.md").read_text()


def test_the_drawing_is_the_table() -> None:
    (drawn,) = re.findall(r"```mermaid\n(.*?)\n```", PAGE, re.DOTALL)
    beginnings = ["stateDiagram-v2", "    [*] --> active: remember", "    [*] --> candidate: infer"]
    moves = [f"    {start} --> {end}: {act}" for (start, act), end in TRANSITIONS.items()]
    assert drawn.splitlines() == beginnings + moves


def test_the_table_of_trust_is_the_codes_own() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", PAGE, re.MULTILINE))
    for trust in Trust:
        replaced = {old for old in Trust if may_replace(trust, old)}
        said = {"anything": set(Trust), "nothing": set()}.get(rows[trust])
        assert replaced == (said if said is not None else {Trust(rows[trust].strip("`"))}), trust
    assert set(rows) == set(Trust)


def test_each_path_is_written_as_shown() -> None:
    rows = re.findall(r"^\| `(\[.*\])` \| (?:`(.*?)`)? ?\| `path=(.*)` \|$", PAGE, re.MULTILINE)
    assert len(rows) == 3
    for in_json, text, encoded in rows:
        path = parse_path(json.loads(in_json))
        assert joined(path) == text
        assert parse_path_text(text) == path
        assert quote(text, safe="") == encoded
