"""Where the hosts' own stores were seen to fail, ours does not; and docs/compare.md says what was seen."""

import pytest

from tests.hosts.comparison import CASES, page
from tests.support.stack import ROOT


@pytest.mark.parametrize("case", CASES, ids=[case.what for case in CASES])
def test_ours_does_as_it_should_where_the_other_was_seen_not_to(case):
    assert case.ours() == case.wanted
    assert case.look() == case.seen


def test_the_page_is_of_this_run():
    assert (ROOT / "docs" / "compare.md").read_text() == page()
