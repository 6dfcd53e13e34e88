"""The synthesized policies decide as the table says, by an evaluation that no other code has part in."""

from __future__ import annotations

import copy

import pytest

from tests.isolation.decisions import ALLOW, DENY, OPENINGS, rows
from tests.isolation.iam import Template, listed
from tests.isolation.matrix import PAGE, Derived, page


@pytest.fixture(scope="module", params=["dev", "prod"])
def derived(request):
    return Derived(Template(request.getfixturevalue(request.param).body))


def test_every_decision_is_as_the_table_says(derived):
    wrong = [(str(row.session), row.what) for row in rows() if derived.answer(row) != row.answer]
    assert wrong == []
    assert [(o.caller, o.role, o.what) for o in OPENINGS if derived.opening(o) != o.answer] == []


def test_there_are_enough_of_both_kinds():
    answers = [row.answer for row in rows()] + [opening.answer for opening in OPENINGS]
    assert len(answers) >= 80
    assert min(answers.count(ALLOW), answers.count(DENY)) >= 30
    named = [(str(row.session), row.what) for row in rows()]
    assert len(set(named)) == len(named), "each is told apart by what a reviewer reads"


def test_the_page_shows_these_decisions():
    assert PAGE.read_text() == page(), "write it anew: .venv/bin/python -m tests.isolation.matrix"


def weakened(dev, change):
    """What the table would say of a template with one policy changed."""
    body = copy.deepcopy(dev.body)
    for name, resource in body["Resources"].items():
        if resource["Type"] == "AWS::IAM::Role" and name.startswith("ScopeRoles"):
            change(resource["Properties"])
    derived = Derived(Template(body))
    return {row.what for row in rows() if derived.answer(row) != row.answer} | {
        opening.what for opening in OPENINGS if derived.opening(opening) != opening.answer
    }


def each_statement(change):
    def within(role):
        for policy in role["Policies"]:
            for statement in policy["PolicyDocument"]["Statement"]:
                change(statement)

    return within


def without_null(statement):
    statement.get("Condition", {}).pop("Null", None)


def with_every_action(statement):
    if any(action.startswith("dynamodb:") for action in listed(statement["Action"])):
        statement["Action"] = "dynamodb:*"


def by_prefix(statement):
    keys = statement.get("Condition", {}).get("ForAllValues:StringLike")
    if keys and "dynamodb:LeadingKeys" in keys:
        keys["dynamodb:LeadingKeys"] = [k.split("#")[0] + "*" for k in keys["dynamodb:LeadingKeys"]]


def slashless(statement):
    condition = statement.get("Condition", {})
    if "s3:prefix" in condition.get("StringLike", {}):
        condition["StringLike"]["s3:prefix"] = ["${aws:PrincipalTag/scope}*"]


def trusting(role):
    for statement in role["AssumeRolePolicyDocument"]["Statement"]:
        statement.pop("Condition", None)


def with_everything_and_no_guard(statement):
    with_every_action(statement)
    without_null(statement)


@pytest.mark.parametrize(
    ("change", "noticed"),
    [
        (each_statement(with_every_action), "update an audit entry"),
        (each_statement(with_everything_and_no_guard), "scan the ledger"),
        (each_statement(by_prefix), "query the neighbour that begins alike"),
        (each_statement(slashless), "list documents by its id without the slash"),
        (each_statement(without_null), "ask the knowledge base"),
        (trusting, "two tags"),
    ],
)
def test_a_weaker_policy_decides_otherwise(dev, change, noticed):
    assert noticed in weakened(dev, change)
