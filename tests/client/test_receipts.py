"""A receipt as a file: what it says to people, and what it proves without the service."""

import json
import os
import re

import pytest
from typer.testing import CliRunner

os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "api")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "true")

from tests.support.fakes import FakeService
from tests.support.http import Caller, principal
from tests.support.server import served
from unsay import connect
from unsay.cli import app
from unsay.proof import ReceiptError, check, read_receipt, receipt_of
from unsay.receipt_page import MOST_ROWS, page
from unsay_core.application.anchor import anchor_head
from unsay_core.domain.scope import Action

SCOPE = "acme/alice"
WORD = "walrus"


@pytest.fixture
def service():
    return FakeService()


@pytest.fixture
def caller(service):
    return Caller(service)


@pytest.fixture
def memory(caller):
    with served(caller) as url, connect(url, token="t") as found:
        yield found


def forgotten(caller, count=1):
    """A receipt of a chain that goes on behind it."""
    last = caller.remember(f"The {WORD} has a <b>name</b>.")
    for number in range(count):
        last = caller.correct(last["id"], f"The {WORD} has {number} names.", "changed")
    receipt = caller.forget(last["id"], reason="consent_withdrawn")
    caller.remember("A neighbour.")
    return receipt["id"]


def anchored(service, seq):
    anchor_head(seq, service.project_scope(service.keyring.scope_id(SCOPE)))


def test_it_proves_by_itself_who_asked_when_and_why_up_to_the_anchor(service, caller, memory):
    receipt = forgotten(caller)
    anchored(service, 4)
    document = receipt_of(memory, receipt, SCOPE)
    found = check(json.loads(json.dumps(document)))
    assert (found.erasure_id, found.entry, found.entries) == (receipt, 3, 2)
    assert found.anchor.endswith(document["chain"]["entries"][-1]["hash"])
    assert document["receipt"]["actor"] == "key_admin"
    assert WORD not in json.dumps(document)


TAMPERINGS = {
    "another reason": lambda d: d["receipt"].update(reason="test"),
    "another actor": lambda d: d["receipt"].update(actor="key_x"),
    "another actor in the entry too": lambda d: [
        x.update(actor="key_x") for x in (d["receipt"], d["chain"]["entries"][0])
    ],
    "another time": lambda d: d["chain"]["entries"][0].update(at="2020-01-01T00:00:00.000000Z"),
    "an entry left out": lambda d: d["chain"]["entries"].pop(1),
    "an entry changed": lambda d: d["chain"]["entries"][1].update(channel="x"),
    "another receipt's number": lambda d: d["receipt"].update(audit_seq=1),
    "another anchor": lambda d: d["chain"]["anchor"].update(location="s3://b/x/000000000005-" + "0" * 64),
    "no anchor's name": lambda d: d["chain"]["anchor"].update(location="s3://elsewhere"),
    "no entries": lambda d: d["chain"].update(entries=[]),
    "half an entry": lambda d: d["chain"]["entries"][0].pop("prev"),
    "no chain": lambda d: d.update(chain=None),
}


@pytest.mark.parametrize("tamper", TAMPERINGS.values(), ids=TAMPERINGS)
def test_whatever_is_changed_in_it_is_found(service, caller, memory, tamper):
    receipt = forgotten(caller)
    caller.remember("One more.")
    anchored(service, 5)
    document = receipt_of(memory, receipt, SCOPE)
    check(document)
    tamper(document)
    with pytest.raises(ReceiptError):
        check(document)


def test_without_an_anchor_or_the_right_to_audit_it_says_so(caller, memory):
    receipt = forgotten(caller)
    assert check(receipt_of(memory, receipt, SCOPE)).anchor is None
    eraser = caller.as_(principal(SCOPE, Action.FORGET))
    with served(eraser) as url, connect(url, token="t") as less:
        document = receipt_of(less, receipt, SCOPE)
    assert document["chain"] is None
    assert "may not read the audit" in page(document)


def test_the_page_tells_people_all_of_it_on_a_sheet_and_holds_the_proof(service, caller, memory):
    receipt = forgotten(caller, count=30)
    anchored(service, caller.verify()["length"])
    document = receipt_of(memory, receipt, SCOPE)
    drawn = page(document)
    for said in (receipt, SCOPE, "consent_withdrawn", "key_admin", "backup", "retained", "Pending", "@page"):
        assert said in drawn
    until = next(s["until"] for s in document["receipt"]["stores"] if s["state"] == "retained")
    assert until[:10] in drawn
    assert f"and {30 - MOST_ROWS} more" in drawn
    assert WORD not in drawn
    assert read_receipt(drawn) == document
    assert check(read_receipt(drawn)).anchor


def test_what_a_receipt_holds_cannot_become_markup(service, caller, memory):
    document = receipt_of(memory, forgotten(caller), SCOPE)
    document["receipt"]["selector"] = {"filter": {"tags": ["</script><script>alert(1)</script>"]}}
    drawn = page(document)
    assert "<script>alert" not in drawn
    assert len(re.findall("<script", drawn)) == 1
    assert read_receipt(drawn)["receipt"]["selector"] == document["receipt"]["selector"]


def test_the_command_writes_it_and_checks_it_without_a_service(service, caller, monkeypatch, tmp_path):
    receipt = forgotten(caller)
    anchored(service, 4)
    with served(caller) as url:
        for name, value in (("UNSAY_URL", url), ("UNSAY_TOKEN", "t"), ("UNSAY_SCOPE", SCOPE)):
            monkeypatch.setenv(name, value)
        for name in ("receipt.html", "receipt.json"):
            ran = CliRunner().invoke(app, ["erasure", "show", receipt, "--file", str(tmp_path / name)])
            assert ran.exit_code == 0, ran.output
        assert (
            json.loads(CliRunner().invoke(app, ["erasure", "show", receipt]).output)["actor"] == "key_admin"
        )
    for name in ("UNSAY_URL", "UNSAY_TOKEN", "UNSAY_SCOPE"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("receipt.html", "receipt.json"):
        ran = CliRunner().invoke(app, ["audit", "verify", "--receipt", str(tmp_path / name)])
        assert (ran.exit_code, receipt in ran.output) == (0, True), ran.output
    forged = tmp_path / "forged.json"
    forged.write_text((tmp_path / "receipt.json").read_text().replace("consent_withdrawn", "test"))
    assert CliRunner().invoke(app, ["audit", "verify", "--receipt", str(forged)]).exit_code == 3
    forged.write_text("{}")
    assert CliRunner().invoke(app, ["audit", "verify", "--receipt", str(forged)]).exit_code == 3
    gone = str(tmp_path / "gone")
    assert CliRunner().invoke(app, ["audit", "verify", "--receipt", gone]).exit_code == 2
