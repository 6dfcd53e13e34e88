"""What an answer may weigh, and what a newcomer can do to it."""

from __future__ import annotations

from tests.support.fakes import FakeService
from tests.support.http import Caller
from unsay_core.domain.errors import UnavailableError
from unsay_core.endpoints.call import MOST_ERRORS
from unsay_core.endpoints.reply import ANSWER_BYTES

HEAVY = "\u0001" * 16_000  # six bytes each on the wire


def test_a_page_is_cut_before_it_is_too_heavy_to_answer_and_goes_on(api: Caller) -> None:
    for number in range(60):
        assert api.remember(f"{number:02d}{HEAVY}").status == 201
    seen: list[str] = []
    cursor = ""
    while True:
        answer = api.send("GET", "/v1/memories", query=f"scope=acme%2Falice&limit=100{cursor}")
        assert len(answer.text.encode()) < ANSWER_BYTES + 200_000
        seen += [item["content"][:2] for item in answer["items"]]
        if answer["next_cursor"] is None:
            break
        cursor = f"&cursor={answer['next_cursor']}"
    assert seen == [f"{number:02d}" for number in reversed(range(60))]


def test_a_recall_is_cut_before_it_is_too_heavy_to_answer(api: Caller) -> None:
    for number in range(50):
        api.remember(f"stone {number:02d}{HEAVY}")
    answer = api.send("POST", "/v1/recall", {"scope": "acme/alice", "query": "stone", "limit": 50})
    assert len(answer.text.encode()) < ANSWER_BYTES + 200_000
    assert len(answer["items"]) > 30


def test_a_thousand_faults_are_answered_with_the_first_of_them(api: Caller) -> None:
    answer = api.send(
        "POST", "/v1/memories", {"scope": "a", "content": "x", **{f"u{n}": 1 for n in range(1000)}}
    )
    assert answer.status == 400
    assert len(answer["errors"]) == MOST_ERRORS


def test_what_shows_nothing_is_no_content(api: Caller) -> None:
    for nothing in (" ", "\n\t", "\u200b", "\u2800", "\u00ad \ufeff"):
        assert api.remember(nothing).code == "invalid_request", repr(nothing)
    assert api.remember("\u200bx").status == 201


def test_a_forget_takes_a_note_and_audits_its_digest_alone(api: Caller, service: FakeService) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    path, query = f"/v1/memories/{memory['id']}", "scope=acme%2Falice&reason=user_request"
    assert api.send("DELETE", path, {"nota": "x"}, query=query).status == 400
    assert api.send("DELETE", path, {"note": "canary in a note"}, query=query).status == 202
    events = api.send("GET", "/v1/audit", query="scope=acme%2Falice")["items"]
    assert events[-1]["note_digest"]
    assert "canary" not in service.dump()


def test_health_says_when_the_tables_are_away(api: Caller, service: FakeService) -> None:
    assert api.send("GET", "/v1/health").body == {"status": "ok", "degraded": []}

    def away(_key_id: str) -> None:
        raise UnavailableError

    service.keys.find = away  # type: ignore[method-assign]
    assert api.send("GET", "/v1/health").body == {"status": "degraded", "degraded": ["tables"]}


def test_health_says_that_a_restored_table_waits_for_its_check(api: Caller) -> None:
    api.service.is_restored = True
    assert api.send("GET", "/v1/health").body == {"status": "degraded", "degraded": ["restored"]}


def test_a_key_that_expired_while_the_gateway_remembers_it_is_refused(service: FakeService) -> None:
    caller = Caller(service)
    assert caller.send("GET", "/v1/memories", query="scope=a").status == 200
    caller.expires_at = 1
    assert caller.send("GET", "/v1/memories", query="scope=a").code == "unauthenticated"
    caller.expires_at = 99_999_999_999
    assert caller.send("GET", "/v1/memories", query="scope=a").status == 200
