"""The roles of the api are granted what its calls use, and nothing that none of them does."""

from __future__ import annotations

import pytest

from tests.infra.conftest import listed
from tests.isolation.lives import PAGE, ROLES, live, page
from tests.isolation.routes import routes
from unsay_core.application.ledger import Area

# Granted in every area of a table: what belongs together is read together.
READS = {"BatchGetItem", "Query"}
TABLES = {"ledger_table": "TablesLedger", "record_table": "TablesRecord"}


@pytest.fixture(scope="module")
def uses():
    return live()


def granted(template, role):
    """(action, table, area) of every statement on items."""
    found = set()
    for statement in template.statements(f"ScopeRoles{role.capitalize()}"):
        for service, _, action in (each.partition(":") for each in listed(statement["Action"])):
            if service == "dynamodb":
                (resource,) = listed(statement["Resource"])
                name = resource["Fn::GetAtt"][0]
                (table,) = (table for table, prefix in TABLES.items() if name.startswith(prefix))
                keys = statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
                found |= {(action, table, key.rpartition("#")[2]) for key in keys}
    return found


def used(uses, role):
    everything = {use for verb in uses.values() for use in verb if ROLES[use.role] == role}
    return {(u.action, u.table, "*" if u.action in READS else u.area) for u in everything}


@pytest.mark.parametrize("role", ROLES.values())
def test_a_role_is_granted_what_the_calls_use_and_no_more(dev, uses, role):
    given, needed = granted(dev, role), used(uses, role)
    assert needed - given == set(), "used and not granted"
    spare = given - needed
    reads = {each for each in spare if each[0] in READS}
    assert spare - reads == set(), "granted and used by nobody"
    assert len({action for action, _, _ in reads}) <= 1, "one of the two ways to read, beside the other"


BESIDE = {"list_scopes", "make_key", "delegate", "policy", "set_policy"}  # what these name is in no scope


def test_every_call_on_a_scope_is_among_the_lives(uses):
    assert {route.name for route in routes() if route.places} - BESIDE - uses.keys() == set()


def test_the_lives_reach_every_area(uses):
    """But the words that a memory is posted under, which are the workers'."""
    areas = {use.area for verb in uses.values() for use in verb}
    assert areas >= {area.value for area in Area} - {Area.LISTED.value}


def test_the_page_shows_what_the_calls_use():
    assert PAGE.read_text() == page(), "write it anew: .venv/bin/python -m tests.isolation.lives"
