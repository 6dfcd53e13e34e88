"""A part of the conformance run in the gate: one story and a few checks, on a shared cloud."""

from __future__ import annotations

import pytest

from tests.conformance import acceptance, promises, thirteen
from tests.conformance.builds import FAULTS
from tests.conformance.checks import FAILED, Check, tried
from tests.conformance.product import Product
from tests.support.stack import Stack

IN_THE_GATE = ("scope-2", "gateway-2", "tomb-1", "tomb-3", "prompt-1", "one event", "twice")
EVERY = [*thirteen.Sequence().checks(), *acceptance.CHECKS, *promises.CHECKS]
FEW = [check for check in EVERY if check.id.startswith(IN_THE_GATE)]


@pytest.mark.stack
def test_the_thirteen_steps_hold(stack: Stack) -> None:
    """But the tenth, which restarts the cloud: the whole run does."""
    product = Product(stack, "gate")
    outcomes = [tried(check, product) for check in thirteen.Sequence().checks()]
    assert [(each.check.id, each.why) for each in outcomes if each.verdict == FAILED] == []
    assert len([each for each in outcomes if not each.why]) >= 11


@pytest.mark.stack
@pytest.mark.parametrize("check", FEW, ids=lambda check: check.id)
def test_a_check_holds(stack: Stack, check: Check) -> None:
    found = tried(check, Product(stack, "gate"))
    assert (found.verdict, found.why) == ("holds", "")


def test_the_checks_are_the_thirteen_the_twenty_and_every_promise() -> None:
    names = [check.id for check in EVERY]
    assert len(set(names)) == len(names)
    assert len([n for n in names if n.startswith("step ")]) == 13
    assert len(acceptance.CHECKS) == 20
    letters = {"S": 7, "T": 8, "F": 8, "E": 4, "W": 6, "R": 4}
    expected = {f"{letter}{n}" for letter, most in letters.items() for n in range(1, most + 1)}
    assert promises.SHOWN_BY.keys() == expected
    for shown in promises.SHOWN_BY.values():
        assert shown
        assert all(name in names or name.startswith("`tests/") for name in shown), shown


def test_each_fault_of_the_control_build_is_meant_to_be_seen_by_checks_that_exist() -> None:
    names = {check.id for check in EVERY}
    assert len(FAULTS) == 6
    for _, _, _, seen_by in FAULTS.values():
        assert set(seen_by) <= names
