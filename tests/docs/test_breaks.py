"""Every break of `tests/breaks.toml` still has its place in the code, its promise, and its test."""

from __future__ import annotations

import re

import pytest

from tools.breaks import ROOT, Break, breaks, promises

BREAKS = list(breaks())


@pytest.mark.parametrize("way", BREAKS, ids=[way.promise for way in BREAKS])
def test_a_break_can_be_tried(way: Break) -> None:
    assert way.promise in promises()
    assert way.applies_to(ROOT), f"{way.file} has not exactly one place for it: {way.old}"
    for test in way.tests:
        file, _, name = test.partition("::")
        assert not name or f"def {name}(" in (ROOT / file).read_text(), test


def test_most_promises_have_a_break_that_is_tried() -> None:
    assert len({way.promise for way in BREAKS}) > 100


def test_every_test_that_the_page_names_is_there() -> None:
    """A name may be shortened at either end."""
    named = re.findall(r"`(\w+/\w+\.py)::([^`]+)`", (ROOT / "tests/README.md").read_text())
    assert len(named) > 150
    missing = [
        f"{file}::{name}"
        for file, name in named
        if re.sub(r"^….*?(?=\w)|….*$|\[.*$", "", name) not in (ROOT / "tests" / file).read_text()
    ]
    assert missing == []
