"""A member of a merge is forgotten: the merge goes, the others stand where it stood, and are merged anew."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.model.test_erasure import Killed, kill
from tests.support.consolidating import Desk
from tests.support.erasing import Eraser
from tests.support.extraction import Talk
from tests.support.fakes import FakeService
from tests.support.http import ADMIN, Caller
from tests.support.samples import AT
from tests.support.workers import index_all
from unsay_core.application.draft import Draft
from unsay_core.application.erase import PAGE
from unsay_core.application.ledger import memory_ref
from unsay_core.domain.scope import Action, Scope

TEA = "Alice likes green tea a lot"
PLAIN, NOW, MIND = f"{TEA}.", f"{TEA} now.", f"{TEA}, mind."
ZEBRA = f"{TEA}, says the zebra."  # the longest: its words are those of the merge


class Merged:
    """A scope in which four memories were merged; `into` is what they became."""

    def __init__(self, *contents: str, **fields: Any) -> None:
        self.service = FakeService()
        self.api = Caller(self.service)
        self.eraser = Eraser(self.service, self.api)
        self.desk = Desk(self.service)
        self.ids = {content: self.remember(content, **fields) for content in contents}
        self.job = self.merge()
        self.into = self.job.result["merges"][-1]["into"]

    def remember(self, content: str, **fields: Any) -> str:
        return str(self.api.remember(content, **fields)["id"])

    def merge(self) -> Any:
        return self.desk.consolidate(threshold=0.6)

    def forget(self, content: str) -> Any:
        receipt = self.api.forget(self.ids[content])
        assert receipt.status == 202, receipt.text
        return receipt

    def statuses(self) -> dict[str, Any]:
        """Of every memory, None for what is not there."""
        found = {content: self.api.get(i) for content, i in self.ids.items()}
        return {content: a["status"] if a.status == 200 else None for content, a in found.items()}

    def outcomes(self, receipt: Any) -> dict[str, tuple[str, str]]:
        names = {i: content for content, i in self.ids.items()} | {self.into: "the merge"}
        return {names.get(c["id"], c["id"]): (c["why"], c["outcome"]) for c in receipt["cascade"]}


@pytest.fixture
def scene() -> Merged:
    scene = Merged(PLAIN, NOW, MIND, ZEBRA)
    assert scene.api.listed() == [ZEBRA], "the control: they are one, and it has the words of the longest"
    return scene


WAYS = {
    "one": lambda scene, content: scene.api.forget(scene.ids[content]),
    "a selection": lambda scene, content: scene.eraser.forget(ids=[scene.ids[content]]),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_word_of_it_is_left_and_the_others_are_merged_anew(scene: Merged, way: str) -> None:
    index_all(scene.service)
    receipt = scene.eraser.finish(WAYS[way](scene, ZEBRA))
    assert "zebra" not in scene.service.dump()
    assert scene.outcomes(receipt) == {
        "the merge": ("derived", "erased"),
        **dict.fromkeys((PLAIN, NOW, MIND), ("merged", "restored")),
    }
    assert (receipt["matched"], receipt["erased"], receipt["cascaded"]) == (1, 2, 4)
    assert scene.statuses() == {PLAIN: "active", NOW: "active", MIND: "active", ZEBRA: None}
    assert sorted(scene.api.listed()) == sorted([PLAIN, NOW, MIND])
    assert scene.api.recalled("green tea", limit=9) != []
    assert scene.api.remember(ZEBRA).code == "tombstoned"
    (again,) = scene.merge().result["merges"]
    assert sorted(again["from"]) == sorted(scene.ids[content] for content in (PLAIN, NOW, MIND))
    assert scene.api.listed() == [MIND]
    assert scene.api.events().count("memory.unmerged") == 1
    assert scene.api.verify()["ok"]


def test_the_words_of_a_member_that_stays_are_not_buried_with_the_merge(scene: Merged) -> None:
    scene.forget(PLAIN)
    assert sorted(scene.api.listed()) == sorted([NOW, MIND, ZEBRA])
    assert scene.api.remember(ZEBRA)["id"] == scene.ids[ZEBRA], "it is known by what it says"
    assert scene.api.remember(PLAIN).code == "tombstoned"
    scene.merge()
    assert scene.api.listed() == [ZEBRA]


def test_the_members_tell_their_history_on_both_axes(scene: Merged) -> None:
    merged_at = scene.api.get(scene.into)["recorded_at"]
    scene.service.clock.pass_(seconds=60)
    scene.forget(ZEBRA)
    member = scene.api.get(scene.ids[NOW])
    assert (member["invalidated_at"], member["superseded_by"]) == (None, None)
    told = [each["status"] for each in scene.api.history(scene.ids[NOW])["versions"]]
    assert sorted(told) == ["active", "active", "superseded"]
    assert scene.api.recalled(NOW, known_at=merged_at) == [], "what was known then is what was forgotten"
    assert set(scene.api.recalled(NOW, valid_at=merged_at)) == {PLAIN, NOW, MIND}


def test_several_at_once_and_all_of_them(scene: Merged) -> None:
    gone = [scene.ids[ZEBRA], scene.ids[NOW]]
    receipt = scene.eraser.finish(scene.eraser.forget(ids=gone))
    assert (receipt["matched"], receipt["erased"]) == (2, 3)
    assert sorted(scene.api.listed()) == sorted([PLAIN, MIND])
    receipt = scene.eraser.finish(scene.eraser.forget(ids=[scene.ids[PLAIN], scene.ids[MIND]]))
    assert scene.api.listed() == []
    assert "green tea" not in scene.service.dump()


def test_a_member_that_is_to_go_in_a_later_step_is_not_brought_back() -> None:
    scene = Merged(PLAIN, NOW)
    others = [scene.remember(f"Bob has {n} cats.") for n in range(PAGE)]
    scene.ids[ZEBRA] = scene.remember(ZEBRA)
    scene.merge()
    gone = [scene.ids[PLAIN], *others, scene.ids[ZEBRA]]
    answer = scene.eraser.forget(ids=gone)
    scene.eraser.run(answer, steps=1)
    held = scene.eraser.ledger.read([memory_ref(scene.ids[ZEBRA])]).memories()
    assert [memory.status for memory in held] == ["superseded"], "the control: it is not its turn yet"
    receipt = scene.eraser.finish(answer)
    assert (receipt["matched"], scene.outcomes(receipt)[NOW]) == (PAGE + 2, ("merged", "restored"))
    assert "zebra" not in scene.service.dump()
    assert scene.api.listed() == [NOW]


def test_a_conversation_takes_its_members_and_a_scope_takes_all() -> None:
    scene = Merged(PLAIN, NOW)
    talk = Talk(scene.api, "chat-1")
    talk.say(ZEBRA)
    scene.ids[ZEBRA] = scene.remember(ZEBRA, source={"run_id": "chat-1", "message_seqs": [1], "quote": ZEBRA})
    scene.merge()
    assert scene.api.listed() == [ZEBRA]
    scene.eraser.finish(scene.eraser.forget(run_id="chat-1"))
    assert "zebra" not in scene.service.dump()
    assert scene.api.listed() == [NOW], "what was merged before it is one again"
    scene.merge()
    receipt = scene.eraser.finish(scene.eraser.forget(all=True, confirm="acme/alice"))
    assert receipt["cascaded"] == 0 or {c["outcome"] for c in receipt["cascade"]} == {"erased"}
    assert "green tea" not in scene.service.dump()


# --- merges of merges -------------------------------------------------------------------------------------


def chain() -> Merged:
    """Of two a merge, of it and a third another, and of that and a fourth a last."""
    scene = Merged(PLAIN, ZEBRA)
    for content in (NOW, MIND):
        scene.ids[content] = scene.remember(content)
        scene.merge()
    assert scene.api.listed() == [ZEBRA]
    assert len(scene.api.listed(status="superseded")) == 6
    return scene


@pytest.mark.parametrize("way", WAYS)
def test_merges_of_merges_are_taken_back_one_and_all(way: str) -> None:
    scene = chain()
    receipt = scene.eraser.finish(WAYS[way](scene, ZEBRA))
    assert "zebra" not in scene.service.dump()
    assert receipt["erased"] == 4
    assert scene.statuses() == {PLAIN: "active", NOW: "active", MIND: "active", ZEBRA: None}
    assert sorted(scene.api.listed()) == sorted([PLAIN, NOW, MIND])
    assert scene.api.statistics()["statuses"]["active"] == 3
    assert scene.api.verify()["ok"]


def test_an_inner_merge_of_others_stays() -> None:
    scene = chain()
    scene.forget(MIND)
    assert sorted(scene.api.listed()) == sorted([ZEBRA]), "what it was merged with is one still"
    assert scene.statuses() == {PLAIN: "superseded", NOW: "superseded", MIND: None, ZEBRA: "superseded"}


def test_what_was_undone_and_merged_again_lets_go_of_one_alone(scene: Merged) -> None:
    scene.desk.consolidate(undo=scene.job.id)
    scene.merge()
    scene.forget(ZEBRA)
    assert "zebra" not in scene.service.dump()
    assert sorted(scene.api.listed()) == sorted([PLAIN, NOW, MIND])


# --- what became of the merge, or of a member, meanwhile ---------------------------------------------------


def test_a_doubt_about_the_merge_is_one_about_its_members(scene: Merged) -> None:
    scene.api.dispute(scene.into)
    scene.forget(ZEBRA)
    assert scene.api.listed() == []
    waiting = scene.api.reviews(state="disputed")["items"]
    assert {(item["content"], item["trust"]) for item in waiting} == {
        (content, "disputed") for content in (PLAIN, NOW, MIND)
    }
    assert scene.api.decide(scene.ids[NOW], version=3).status == 200
    assert scene.api.listed() == [NOW]


def test_what_was_retracted_as_one_stays_so(scene: Merged) -> None:
    scene.api.retract(scene.into)
    scene.forget(ZEBRA)
    assert scene.statuses() == {PLAIN: "retracted", NOW: "retracted", MIND: "retracted", ZEBRA: None}


def test_what_was_corrected_as_one_stays_corrected(scene: Merged) -> None:
    coffee = scene.api.correct(scene.into, "Alice likes coffee.", because="wrong")["id"]
    scene.forget(ZEBRA)
    assert scene.api.listed() == ["Alice likes coffee."]
    assert scene.statuses() == {PLAIN: "superseded", NOW: "superseded", MIND: "superseded", ZEBRA: None}
    assert scene.api.get(scene.ids[NOW])["superseded_by"] == coffee
    assert scene.api.forget(coffee)["erased"] == 4
    assert "green tea" not in scene.service.dump()


def test_a_member_that_never_was_true_leaves_the_merge_and_the_others_stand(scene: Merged) -> None:
    assert scene.api.correct(scene.ids[MIND], "Alice likes coffee.", version=2).status == 409
    assert scene.api.edit(scene.ids[MIND], tags=["x"], version=2).status == 409
    assert scene.api.retract(scene.ids[ZEBRA], version=1).status == 412
    assert scene.api.listed() == [ZEBRA], "the control: nothing was done for whoever saw another version"
    answer = scene.api.retract(scene.ids[ZEBRA], version=2)
    assert (answer.status, answer["status"]) == (200, "retracted")
    assert sorted(scene.api.listed()) == sorted([PLAIN, NOW, MIND])
    assert ZEBRA not in scene.api.recalled("zebra")
    assert scene.api.remember(ZEBRA).code == "tombstoned"
    scene.merge()
    assert scene.api.listed() == [MIND]
    scene.eraser.finish(scene.forget(ZEBRA))
    assert "zebra" not in scene.service.dump(), "nor in the merge that was"
    assert scene.api.listed() == [MIND]
    assert scene.api.verify()["ok"]


def test_it_leaves_merges_of_merges_too_and_none_that_somebody_worded() -> None:
    scene = chain()
    assert scene.api.retract(scene.ids[ZEBRA], version=2).status == 200
    assert sorted(scene.api.listed()) == sorted([PLAIN, NOW, MIND])
    worded = Merged(PLAIN, ZEBRA)
    worded.api.edit(worded.into, content="Alice adores sencha.")
    assert worded.api.retract(worded.ids[ZEBRA], version=2).status == 200
    assert worded.api.listed() == ["Alice adores sencha."]


def test_a_member_that_was_retracted_meanwhile_stays_so(scene: Merged) -> None:
    assert scene.api.remember(ZEBRA, source={"run_id": "run-7"})["id"] == scene.into, "others say it, too"
    assert scene.api.retract(scene.ids[NOW], version=2).status == 200
    assert scene.api.listed() == [ZEBRA]
    scene.forget(ZEBRA)
    assert scene.statuses()[NOW] == "retracted"
    assert sorted(scene.api.listed()) == sorted([PLAIN, MIND])


def test_what_was_said_anew_meanwhile_is_not_believed_twice(scene: Merged) -> None:
    twin = scene.remember(NOW)
    assert twin not in scene.ids.values()
    scene.forget(ZEBRA)
    assert sorted(scene.api.listed()) == sorted([PLAIN, NOW, MIND])
    assert scene.api.get(scene.ids[NOW])["superseded_by"] == twin
    assert scene.api.forget(twin)["erased"] == 2


def test_what_was_taken_back_meanwhile_is_not_believed_again(scene: Merged) -> None:
    scene.api.retract(scene.remember(NOW))
    scene.forget(ZEBRA)
    assert scene.statuses()[NOW] == "retracted"
    assert sorted(scene.api.listed()) == sorted([PLAIN, MIND])


def test_a_member_of_the_very_same_value_goes_with_it() -> None:
    loud = PLAIN.upper().replace(".", "!")
    scene = Merged(PLAIN, loud, NOW)
    receipt = scene.forget(PLAIN)
    assert scene.outcomes(receipt)[loud] == ("merged", "erased")
    assert scene.api.listed() == [NOW]
    kept = Merged(PLAIN, loud, NOW)
    kept.api.send(
        "DELETE", f"/v1/memories/{kept.ids[PLAIN]}", query="scope=acme%2Falice&reason=test&tombstone=id"
    )
    assert sorted(kept.api.listed()) == sorted([loud, NOW]), "where values may be said anew it stays"


def test_a_merge_in_somebody_s_own_words_waits_for_a_person_without_its_past(scene: Merged) -> None:
    scene.api.edit(scene.into, content="Alice adores sencha.")
    receipt = scene.eraser.finish(scene.forget(ZEBRA))
    assert "zebra" not in scene.service.dump()
    assert scene.outcomes(receipt) == {"the merge": ("derived", "candidate")}
    assert scene.api.get(scene.into)["review"]["reasons"] == ["source_forgotten"]
    assert scene.statuses()[NOW] == "superseded"
    assert len(scene.api.history(scene.into)["versions"]) == 1
    assert scene.api.decide(scene.into, version=3).status == 200
    assert scene.api.listed() == ["Alice adores sencha."]


def test_a_merge_in_own_words_that_was_merged_again_loses_its_past_too(scene: Merged) -> None:
    scene.api.edit(scene.into, content=f"{TEA} in China.")
    scene.ids[TEA] = scene.remember(f"{TEA} in big China.")
    scene.merge()
    scene.eraser.finish(scene.forget(ZEBRA))
    assert "zebra" not in scene.service.dump()
    assert scene.api.listed() == [f"{TEA} in big China."]


def test_who_else_said_it_is_a_source_of_the_member_that_says_it(scene: Merged) -> None:
    assert scene.api.remember(ZEBRA, source={"run_id": "run-7"})["id"] == scene.into
    scene.forget(NOW)
    opened = scene.service.open_scope(ADMIN, Scope.parse("acme/alice"), Action.READ)
    ref = memory_ref(scene.ids[ZEBRA])
    member = Draft(opened, AT, [ref]).get(ref)
    assert member is not None and [source.run_id for source in member.corroborations] == ["run-7"]
    scene.forget(ZEBRA)
    assert "zebra" not in scene.service.dump()


# --- what was derived from it -----------------------------------------------------------------------------


def test_what_was_derived_from_the_merge_rests_on_the_members_that_stay(scene: Merged) -> None:
    summary = scene.remember("Alice is a tea person.", derived_from=[scene.into])
    same = scene.remember(ZEBRA, kind="episodic", derived_from=[scene.into])
    receipt = scene.forget(ZEBRA)
    assert (scene.api.get(summary)["status"], scene.api.get(same).status) == ("candidate", 404)
    assert "zebra" not in str(receipt.body)
    scene.forget(NOW)
    scene.forget(PLAIN)
    assert scene.api.get(summary)["status"] == "candidate"
    assert scene.forget(MIND)["erased"] == 2
    assert scene.api.get(summary).status == 404


def test_behind_the_fence_no_merge_of_it_is_seen_before_the_job_has_begun() -> None:
    scene = chain()
    index_all(scene.service)
    scene.ids["summary"] = scene.remember(
        "Alice is a tea person.", derived_from=[scene.api.list()["items"][0]["id"]]
    )
    answer = scene.eraser.forget(ids=[scene.ids[ZEBRA]])
    for status in ("active", "superseded"):
        assert "zebra" not in str(scene.api.listed(status=status))
    assert scene.api.recalled("green tea zebra", limit=9) == []
    assert "summary" in scene.statuses() and scene.statuses()["summary"] is None
    scene.eraser.finish(answer)
    assert scene.statuses()["summary"] == "candidate"


# --- kills ------------------------------------------------------------------------------------------------


def outcome(scene: Merged, at: int | None, way: str, *, after: bool) -> tuple[Any, bool]:
    """What is left when the worker dies at its call of that number, and goes on; whether it got so far."""
    stop, died = (lambda: None), False
    if at is not None:
        stop = kill([(scene.eraser.ledger, name) for name in ("read", "page", "commit")], at, after=after)
    try:
        receipt = WAYS[way](scene, ZEBRA)
        scene.eraser.run(receipt)
    except Killed:
        died = True
    stop()
    if died:
        WAYS[way](scene, ZEBRA)
    begun = scene.api.send("GET", "/v1/erasures", query="scope=acme%2Falice")
    for erasure in reversed(begun["items"]):
        scene.eraser.finish(erasure)
    left = {
        content: (status, scene.api.get(scene.ids[content]).body.get("superseded_by"))
        for content, status in scene.statuses().items()
    }
    assert "zebra" not in scene.service.dump()
    assert scene.api.verify()["ok"]
    return (left, sorted(scene.api.listed()), scene.api.statistics()["statuses"]), died


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("way", WAYS)
def test_killed_at_any_call_it_ends_alike(way: str, after: bool) -> None:
    expected, _ = outcome(chain(), None, way, after=after)
    for at in itertools.count():
        found, died = outcome(chain(), at, way, after=after)
        assert found == expected, at
        if not died:
            break
    assert at > 8, "the control: there was something to be killed at"
