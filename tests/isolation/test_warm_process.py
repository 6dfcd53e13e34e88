"""One warm process serves fifty tenants at once: every answer is right, and no credential serves another."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.isolation.cloud import Cloud
from tests.support.http import Answer, Caller, principal
from unsay_core.adapters.scoped_session import EARLY, KEPT, LIFETIME, ScopedSessions

TENANTS, ROUNDS = 50, 200  # a call each a round: ten thousand
THREADS = 8
ROLES = 3  # reader, writer, eraser

Life = Iterator[Answer]


class Tenant:
    """One tenant, what it believes it has, and a life of calls, each of which it checks."""

    def __init__(self, api: Caller, number: int, among: int) -> None:
        self.scope = f"tenant/{number}"
        self.others = [f"tenant/{other}" for other in range(among) if other != number]
        self.api = api.as_(principal(self.scope, key=f"key_{number}"))
        self.lots = random.Random(number)
        self.believed: dict[str, tuple[str, int]] = {}
        self.number, self.said = number, 0
        self.foreign = ""

    def fact(self) -> str:
        self.said += 1
        return f"Tenant {self.number} keeps the number {self.said} in a box."

    def check(
        self, answer: Answer, status: int, is_right: Callable[[Answer], bool] = lambda _: True
    ) -> Answer:
        assert answer.status == status, f"{self.scope}: {answer.status} {answer.text[:300]}"
        assert is_right(answer), f"{self.scope}: {answer.text[:300]}"
        return answer

    def call(self) -> None:
        """One call, and a look at whether it was answered rightly."""
        verbs = [Tenant.remember] if not self.believed else VERBS
        self.lots.choice(verbs)(self)

    def any_of_mine(self) -> tuple[str, str, int]:
        memory_id = self.lots.choice(list(self.believed))
        return memory_id, *self.believed[memory_id]

    def remember(self) -> None:
        text = self.fact()
        answer = self.check(self.api.remember(text, self.scope), 201)
        self.believed[answer["id"]] = (text, 1)

    def get(self) -> None:
        memory_id, text, version = self.any_of_mine()
        shown = (text, version, self.scope)
        self.check(
            self.api.get(memory_id, self.scope),
            200,
            lambda answer: (answer["content"], answer["version"], answer["scope"]) == shown,
        )

    def list(self) -> None:
        newest = sorted(self.believed, reverse=True)[:100]
        answer = self.api.list(self.scope, limit=100)
        self.check(answer, 200, lambda answer: [item["id"] for item in answer["items"]] == newest)

    def recall(self) -> None:
        memory_id, text, _ = self.any_of_mine()

        def is_right(answer: Answer) -> bool:
            found = {item["memory"]["id"] for item in answer["items"]}
            return memory_id in found and found <= self.believed.keys()

        self.check(self.api.recall(text, self.scope, limit=50), 200, is_right)

    def correct(self) -> None:
        memory_id, _, version = self.any_of_mine()
        text = self.fact()
        answer = self.check(self.api.correct(memory_id, text, version=version, scope=self.scope), 201)
        del self.believed[memory_id]
        self.believed[answer["id"]] = (text, 1)

    def edit(self) -> None:
        memory_id, text, version = self.any_of_mine()
        self.said += 1
        answer = self.api.edit(memory_id, version=version, scope=self.scope, tags=[f"t{self.said}"])
        self.check(answer, 200, lambda answer: answer["content"] == text)
        self.believed[memory_id] = (text, version + 1)

    def forget(self) -> None:
        memory_id, _, _ = self.any_of_mine()
        self.check(self.api.forget(memory_id, scope=self.scope), 202)
        del self.believed[memory_id]

    def count(self) -> None:
        there = len(self.believed)
        self.check(
            self.api.statistics(self.scope), 200, lambda answer: answer["statuses"].get("active", 0) == there
        )

    def trespass(self) -> None:
        self.check(self.api.list(self.lots.choice(self.others)), 403)
        if self.foreign:
            self.check(self.api.get(self.foreign, self.scope), 404)


VERBS: list[Callable[[Tenant], None]] = [
    *[Tenant.remember] * 3,
    *[Tenant.get] * 4,
    Tenant.list,
    *[Tenant.recall] * 2,
    Tenant.correct,
    Tenant.edit,
    Tenant.forget,
    Tenant.count,
    Tenant.trespass,
]


def interleave(cloud: Cloud, tenants: int, rounds: int) -> None:
    """Rounds of calls side by side; time passes between them, often past what credentials live."""
    lots = random.Random(7)
    api = Caller(cloud.service())  # type: ignore[arg-type]
    all_ = [Tenant(api, number, tenants) for number in range(tenants)]
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(rounds):
            list(pool.map(Tenant.call, lots.sample(all_, tenants)))
            cloud.settle()
            cloud.clock.pass_(minutes=lots.choice([0, 1, 7, 30, 61]))
            for tenant in all_:
                tenant.foreign = lots.choice(list(lots.choice(all_).believed) or [""])
                if tenant.foreign in tenant.believed:
                    tenant.foreign = ""


def test_ten_thousand_interleaved_calls_of_fifty_tenants_are_answered_rightly() -> None:
    cloud = Cloud()
    interleave(cloud, TENANTS, ROUNDS)
    assert cloud.refused == [], "no credential was used for another scope, and none beyond its end"
    held = Counter(issued.scope_id for issued in cloud.issued.values())
    assert len(held) == TENANTS
    assert min(held.values()) > 10 * ROLES, "credentials ran out under each of them, again and again"


def test_a_cache_that_forgets_the_scope_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the same lives over sessions that are kept for their role alone."""
    plain, first = ScopedSessions.assume, {}

    def assume(self: ScopedSessions, role: str, scope_id: str | None) -> object:
        return plain(self, role, first.setdefault(role, scope_id))

    monkeypatch.setattr(ScopedSessions, "assume", assume)
    cloud = Cloud()
    with pytest.raises(AssertionError, match="500"):
        interleave(cloud, 10, 5)
    assert any(refused.startswith("denied") for refused in cloud.refused)


def test_credentials_that_are_kept_beyond_their_end_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unsay_core.adapters.scoped_session.EARLY", -EARLY * LIFETIME)
    cloud = Cloud()
    with pytest.raises(AssertionError, match="500"):
        interleave(cloud, 10, 20)
    assert any(refused.startswith("expired") for refused in cloud.refused)


def test_the_wall_costs_one_call_to_sts_for_a_role_and_scope_and_a_warm_request_none() -> None:
    cloud = Cloud()
    api = Caller(cloud.service())  # type: ignore[arg-type]

    def asked(call: Callable[[], Answer]) -> int:
        before = len(cloud.issued)
        assert call().status < 300
        return len(cloud.issued) - before

    memory = api.remember("Alice lives in Lisbon.")
    assert len(cloud.issued) == 1
    assert asked(lambda: api.get(memory["id"])) == 1
    assert asked(lambda: api.forget(memory["id"])) == 1
    for warm in (lambda: api.remember("x"), api.list, api.recall, api.verify, api.tombstones, api.statistics):
        assert asked(warm) == 0
    assert asked(lambda: api.list("acme/bob")) == 1


def test_what_is_kept_is_bounded() -> None:
    cloud = Cloud()
    service = cloud.service()
    api = Caller(service)  # type: ignore[arg-type]
    for number in range(KEPT + 20):
        assert api.list(f"many/{number}").status == 200
    assert len(service.sessions._open) == KEPT
