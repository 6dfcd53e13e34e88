"""docs/lifecycle.md says what the code does."""

from __future__ import annotations

import re

from tests.support.stack import ROOT
from unsay_core.domain.lifecycle import TRANSITIONS, drawing
from unsay_core.domain.memory import Trust
from unsay_core.domain.trust import may_replace

PAGE = (ROOT / "docs" / "lifecycle.md").read_text()


def test_the_drawing_is_the_table() -> None:
    (drawn,) = re.findall(r"```mermaid\n(.*?)\n```", PAGE, re.DOTALL)
    assert drawn == drawing()


def test_the_drawing_has_a_line_for_each_move_and_two_beginnings() -> None:
    lines = drawing().splitlines()
    assert len(lines) == 1 + 2 + len(TRANSITIONS)
    for (start, act), end in TRANSITIONS.items():
        assert f"    {start} --> {end}: {act}" in lines


def test_the_table_of_trust_is_the_codes_own() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", PAGE, re.MULTILINE))
    for trust in Trust:
        replaced = {old for old in Trust if may_replace(trust, old)}
        said = {"anything": set(Trust), "nothing": set()}.get(rows[trust])
        assert replaced == (said if said is not None else {Trust(rows[trust].strip("`"))}), trust
    assert set(rows) == set(Trust)
