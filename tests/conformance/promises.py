"""The promises, one by one: which checks of this run show each, and where else it is shown."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

from tests.conformance.acceptance import scope_id
from tests.conformance.checks import Check
from tests.conformance.product import Product
from tests.support.stack import eventually

HOSTILE = ("ana:b", "a#b", "a@b", "a+b", "a=b", "a%25b", "a b", "名前", "🦉", "שלום", "x" * 128)


def names_stay_apart(product: Product) -> None:
    scopes = [f"{product.root}/names/{name}" for name in (*HOSTILE, "Alice", "alice")]
    for number, scope in enumerate(scopes):
        product.remember(scope, f"The number of this scope is {number}.")
    for number, scope in enumerate(scopes):
        assert product.listed(scope) == [f"The number of this scope is {number}."], scope
    corp = product.as_({"scope": f"{product.root}/names/*", "actions": ["read", "write"]})
    assert corp.send("GET", "/v1/memories", scope=f"{product.root}/names-corp/x").status_code == 403
    assert corp.send("GET", "/v1/memories", scope=f"{product.root}/names").status_code == 403
    assert corp.listed(scopes[0]), "the control"


def filters_narrow(product: Product) -> None:
    scope, other = f"{product.root}/filters/own", f"{product.root}/filters/other"
    product.remember(scope, "A red crate.", metadata={"team": "red"})
    product.remember(scope, "A blue crate.", metadata={"team": "blue"})
    product.remember(other, "A foreign crate.", metadata={"team": "red"})
    wide = {"or": [{"eq": ["metadata.team", "red"]}, {"not": {"eq": ["metadata.team", "red"]}}]}
    assert sorted(product.recalled(scope, "crate", filter=wide)) == ["A blue crate.", "A red crate."]
    assert product.recalled(scope, "crate", filter={"eq": ["metadata.team", "red"]}) == ["A red crate."]
    outside = {"scope": scope, "query": "crate", "filter": {"eq": ["scope", other]}}
    assert product.send("POST", "/v1/recall", outside).status_code == 400


def written_is_found_at_once(product: Product) -> None:
    scope = f"{product.root}/truth/lag"
    product.stack.faults(kb_lag_seconds=30)
    try:
        kept = product.remember(scope, "Petra conducts the choir.")
        gone = product.remember(scope, "Petra sings alto.")
        assert "Petra conducts the choir." in product.recalled(scope, "Who conducts the choir?")
        product.retract(scope, gone)
        assert product.recalled(scope, "Petra choir alto") == [kept["content"]]
    finally:
        product.stack.no_faults()


def one_correction_wins(product: Product) -> None:
    scope = f"{product.root}/truth/race"
    old = product.remember(scope, "The gate opens at six.")

    def correct(number: int) -> int:
        body = {"content": f"The gate opens at {number}.", "because": "changed"}
        path, header = f"/v1/memories/{old['id']}/correct", {"If_Match": '"1"'}
        return product.send("POST", path, body, scope=scope, headers=header).status_code

    with ThreadPoolExecutor(4) as pool:
        statuses = sorted(pool.map(correct, range(7, 11)))
    assert statuses[0] == 201
    assert set(statuses[1:]) <= {409, 412}, statuses
    assert len(product.listed(scope)) == 1


def time_has_two_axes(product: Product) -> None:
    scope = f"{product.root}/truth/time"
    old = product.remember(scope, "The office is in Delft.", valid_from="2019-01-01T00:00:00Z")
    before = product.get(scope, old["id"])["recorded_at"]
    product.correct(scope, old, "The office is in Leiden.", "changed", valid_from="2022-01-01T00:00:00Z")
    assert product.recalled(scope, "office") == ["The office is in Leiden."]
    assert product.recalled(scope, "office", valid_at="2020-01-01T00:00:00Z") == ["The office is in Delft."]
    assert product.recalled(scope, "office", valid_at="2018-01-01T00:00:00Z") == []
    assert product.recalled(scope, "office", known_at=before) == ["The office is in Delft."]


def reading_changes_nothing(product: Product) -> None:
    scope = f"{product.root}/truth/reads"
    product.remember(scope, "The clock was wound today.")
    product.settled(scope)
    before = (product.memories(scope), product.events(scope))
    for _ in range(30):
        assert product.recalled(scope, "clock")
    assert (product.memories(scope), product.events(scope)) == before


def told_twice_is_told_so(product: Product) -> None:
    scope = f"{product.root}/forget/twice"
    gone = product.remember(scope, "Said once.")
    receipt = product.forget(scope, gone["id"])
    again = product.send("DELETE", f"/v1/memories/{gone['id']}", scope=scope, reason="test")
    assert (again.status_code, again.json()["erasure_id"]) == (410, receipt["id"])
    never = product.send("DELETE", f"/v1/memories/mem_{0:026d}", scope=scope, reason="test")
    assert never.status_code == 404, "the control: what never was is not said to be forgotten"


def each_change_is_one_event(product: Product) -> None:
    scope = f"{product.root}/audit/events"
    first = product.remember(scope, "One event each.")
    product.tried(scope, "One event each.")  # a duplicate: no change
    product.edit(scope, first, tags=["a"])
    product.dispute(scope, first)
    product.decide(scope, first["id"], "approve")
    product.tried(scope, "the key is AKIAIOSFODNN7EXAMPLE")
    product.send("POST", "/v1/memories", {"scope": scope, "content": ""})  # invalid: no event
    product.forget(scope, first["id"])
    expected = ["remembered", "edited", "disputed", "approved", "refused", "forgotten"]
    assert [event["event"].partition(".")[2] for event in product.events(scope)] == expected
    assert len({event["actor"] for event in product.events(scope)}) == 1


def a_changed_entry_is_found(product: Product) -> None:
    scope = f"{product.root}/audit/tampered"
    for number in range(4):
        product.remember(scope, f"Entry {number}.")
    eventually(lambda: (product.verified(scope)["anchored"] or {}).get("seq") == 4, within=60)
    assert product.verified(scope)["ok"], "the control: untouched it holds"
    table, dynamodb = product.stack.outputs["RecordTable"], product.stack.aws("dynamodb")
    key = {"pk": {"S": f"{scope_id(product, scope)}#A"}, "sk": {"S": f"{2:012d}"}}
    item = dynamodb.get_item(TableName=table, Key=key)["Item"]
    text = json.loads(item["record"]["S"])
    text["actor"] = "key_somebody_else"
    dynamodb.put_item(TableName=table, Item={**item, "record": {"S": json.dumps(text)}, "actor": {"S": "x"}})
    found = product.verified(scope)
    assert (found["ok"], found["first_bad"]) == (False, 2)


def a_bad_item_stops_no_other(product: Product) -> None:
    scope = f"{product.root}/write/batch"
    items = [{"content": "A good item."}, {"content": ""}, {"content": "Another good item."}]
    for _ in range(2):
        results = product.call("POST", "/v1/memories/batch", {"scope": scope, "items": items})["results"]
        assert [result["status"] < 400 for result in results] == [True, False, True]
    assert len(product.listed(scope)) == 2


def what_is_not_named_stays(product: Product) -> None:
    scope = f"{product.root}/write/edit"
    made = product.remember(scope, "The shelf is oak.", tags=["wood"], data={"n": 1}, key="shelf")
    assert product.edit(scope, made, importance=0.9).status_code == 200
    now = product.get(scope, made["id"])
    assert (now["content"], now["tags"], now["data"], now["key"]) == (
        "The shelf is oak.",
        ["wood"],
        {"n": 1},
        "shelf",
    )
    stale = product.send(
        "PATCH", f"/v1/memories/{made['id']}", {"tags": []}, scope=scope, headers={"If_Match": '"1"'}
    )
    assert (stale.status_code, stale.json()["current_version"]) == (412, 2)


def only_the_user_is_believed(product: Product) -> None:
    scope = f"{product.root}/write/extraction"
    said = [
        ("user", "I raise alpacas."),
        ("assistant", "I know that you raise llamas."),
        ("user", "Do I raise ostriches?"),
        ("user", "Ich wohne in Köln. I speak German."),
    ]
    messages = [{"seq": n, "role": role, "content": text} for n, (role, text) in enumerate(said, start=1)]
    body = {"scope": scope, "messages": messages, "flush": True}
    product.call("POST", "/v1/conversations/r/messages", body, expect=202)
    found = eventually(lambda: product.listed(scope) + product.listed(scope, "candidate"), within=90)
    assert any("alpacas" in text for text in found), "the control"
    assert not any(word in str(found) for word in ("llamas", "ostriches"))


def nothing_is_a_server_error(product: Product) -> None:
    scope = f"{product.root}/standing/hostile"
    for body in (
        {"content": "\u0000\u202e\ud7ff"},
        {"content": "x", "importance": 10**40},
        {"content": "x", "data": [[[[[[[]]]]]]] * 1000},
        {"content": "x", "valid_from": "0000-00-00T00:00:00Z"},
        {"content": "x", "metadata": {"a": None}},
        {"content": "x" * 20_000},
        {"content": 7},
        {},
    ):
        assert product.send("POST", "/v1/memories", {"scope": scope, **body}).status_code < 500, body
    for path in ("/v1/memories?limit=0", "/v1/nothing", "/v1/memories/%00", "/v1/audit?after=-1"):
        assert product.send("GET", path).status_code < 500, path
    assert product.tried(scope, "The control is stored.")[0] == 201


def no_log_holds_a_word(product: Product) -> None:
    scope = f"{product.root}/standing/logs"
    canary = "chrysoprase"
    product.remember(scope, f"A ring of {canary}.", tags=[canary], metadata={"m": canary})
    product.recall(scope, f"Where is the {canary}?")
    product.tried(scope, f"{canary} AKIAIOSFODNN7EXAMPLE")
    product.send("POST", "/v1/memories", {"scope": scope, "content": canary, "importance": canary})
    product.settled(scope)
    raw = product.raw()
    assert canary not in raw["logs"]
    assert not any(canary in text for name, text in raw.items() if name.startswith("queue "))
    assert canary in raw["LedgerTable"], "the control"


def _check(name: str, run: object, holds: str, control: str, not_shown: str) -> Check:
    return Check(name, run, holds, control, not_shown)  # type: ignore[arg-type]


CHECKS = (
    _check(
        "names",
        names_stay_apart,
        "hostile ids are scopes of their own; a grant below one reaches no other",
        "each reads its own",
        "every id there is",
    ),
    _check(
        "filters",
        filters_narrow,
        "an OR over everything stays in scope; a filter on scope is refused",
        "the filter that fits finds one",
        "ten thousand better matches outside",
    ),
    _check(
        "lag",
        written_is_found_at_once,
        "while the index lags by half a minute, what is written is found and what is retracted is not",
        "the neighbour",
        "beyond a page of pending work",
    ),
    _check(
        "race",
        one_correction_wins,
        "of four corrections of one version one wins",
        "one is active",
        "a crash in between (model tests)",
    ),
    _check(
        "two times",
        time_has_two_axes,
        "`valid_at` before the row, `known_at` before the correction",
        "now has the new",
        "all interval ends",
    ),
    _check(
        "reads",
        reading_changes_nothing,
        "thirty recalls change neither memory nor audit",
        "each finds it",
        "a thousand",
    ),
    _check(
        "twice",
        told_twice_is_told_so,
        "a second delete is `410` with the first receipt",
        "what never was is `404`",
        "a failing audit write (functional tests)",
    ),
    _check(
        "one event",
        each_change_is_one_event,
        "six changes and refusals are six events, a duplicate and an invalid request none",
        "in order, by one actor",
        "concurrency",
    ),
    _check(
        "tampered",
        a_changed_entry_is_found,
        "a changed entry is found, and where",
        "untouched the chain holds",
        "tails cut before an anchor",
    ),
    _check(
        "batch",
        a_bad_item_stops_no_other,
        "one bad item of three; the whole again changes nothing",
        "two are stored",
        "kills between two writes",
    ),
    _check(
        "edit",
        what_is_not_named_stays,
        "an edit leaves what it does not name; a stale one is refused",
        "what it names is changed",
        "late duplicates of events",
    ),
    _check(
        "the user alone",
        only_the_user_is_believed,
        "an assistant's words and a question make nothing",
        "the user's statement does",
        "a model's judgement",
    ),
    _check(
        "hostile",
        nothing_is_a_server_error,
        "hostile bodies and paths are 4xx",
        "a plain write is stored",
        "fuzzing (`tests/fuzz`)",
    ),
    _check(
        "logs",
        no_log_holds_a_word,
        "no log line and no dead letter holds a word, refusals included",
        "the ledger does",
        "traces of other tools",
    ),
)

SHOWN_BY = {
    "S1": ("scope-1 absent", "scope-3 background"),
    "S2": ("scope-2 not widened",),
    "S3": ("names",),
    "S4": ("filters",),
    "S5": ("`tests/isolation/test_wall_on_stack.py`, `tests/infra/test_policy_matrix.py`",),
    "S6": ("`tests/isolation/test_warm_process.py`",),
    "S7": ("scope-3 background",),
    "T1": ("lag", "step 04 read"),
    "T2": ("step 04 read", "correct-1 five shapes", "scope-1 absent"),
    "T3": ("correct-1 five shapes", "correct-2 retraction alone"),
    "T4": ("race", "`tests/model/test_crash_points.py`"),
    "T5": ("two times",),
    "T6": ("gateway-2 no borrowed authority", "reads"),
    "T7": ("correct-1 five shapes", "`tests/functional/test_recall.py`"),
    "T8": ("recall-1 k",),
    "F1": ("step 04 read", "step 09 raw", "delete-1 stays gone"),
    "F2": ("step 09 raw",),
    "F3": ("step 07 restate", "step 10 rebuild", "step 12 restore", "gateway-1 one path"),
    "F4": ("tomb-3 look-alikes", "step 05 re-feed", "tomb-4 re-extraction"),
    "F5": ("tomb-1 laundering", "tomb-2 outlives"),
    "F6": ("evidence-2 source gone",),
    "F7": ("`tests/functional/test_forget.py`, `tests/model/test_crash_points.py`",),
    "F8": ("twice",),
    "E1": ("evidence-1 resolves",),
    "E2": ("one event", "gateway-1 one path"),
    "E3": ("tampered", "step 13 audit"),
    "E4": ("evidence-3 rebuild",),
    "W1": ("`tests/model/test_delivery.py`",),
    "W2": ("batch",),
    "W3": ("edit",),
    "W4": ("`tests/functional/test_extraction.py`",),
    "W5": ("the user alone",),
    "W6": ("batch",),
    "R1": ("`tests/stack/test_faults.py`",),
    "R2": ("hostile",),
    "R3": ("logs", "step 09 raw"),
    "R4": ("`tests/infra/test_cdk_deploy.py`",),
}
"""By promise: checks of this run, and tests of the gate for what HTTP does not show."""
