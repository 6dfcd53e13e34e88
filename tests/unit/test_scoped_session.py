"""Sessions by role and scope: cached for that scope alone, renewed early, never widened."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.support.clock import FakeClock
from unsay_core.adapters.scoped_session import EARLY, KEPT, LIFETIME, ScopedSessions
from unsay_core.adapters.snapshots import HOOKS, around_snapshots
from unsay_core.domain.errors import UnavailableError


class FakeSession:
    """STS and clients of a fake account; counts what is asked for."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.asked: list[dict[str, Any]] = []
        self.made: list[dict[str, Any]] = []
        self.down = False
        self._making = threading.Lock()

    def client(self, service: str, *, config: object, **credentials: Any) -> Any:
        if service == "sts":
            return self
        if not self._making.acquire(blocking=False):
            raise RuntimeError("a session makes one client at a time")
        try:
            self.made.append({"service": service, **credentials})
            threading.Event().wait(0.002)
        finally:
            self._making.release()
        return len(self.made)

    def assume_role(self, **asked: Any) -> Any:
        if self.down:
            raise ClientError({"Error": {"Code": "ServiceUnavailable"}}, "AssumeRole")  # type: ignore[typeddict-item]
        self.asked.append(asked)
        number = str(len(self.asked))
        ends = self._clock.now() + timedelta(seconds=LIFETIME)
        credentials = {"AccessKeyId": number, "SecretAccessKey": "s", "SessionToken": "t", "Expiration": ends}
        return {"Credentials": credentials}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def account(clock: FakeClock) -> FakeSession:
    return FakeSession(clock)


@pytest.fixture
def sessions(account: FakeSession, clock: FakeClock) -> ScopedSessions:
    return ScopedSessions(account, clock.now)  # type: ignore[arg-type]


def test_a_session_carries_the_scope_as_its_one_tag(sessions: ScopedSessions, account: FakeSession) -> None:
    sessions.assume("reader", "scope-a")
    assert account.asked[0]["Tags"] == [{"Key": "scope", "Value": "scope-a"}]
    assert account.asked[0]["RoleArn"] == "reader"


def test_no_scope_is_no_tag_and_never_an_empty_one(sessions: ScopedSessions, account: FakeSession) -> None:
    sessions.assume("access", None)
    assert account.asked[0]["Tags"] == []


def test_a_session_is_kept_for_its_role_and_scope_alone(
    sessions: ScopedSessions, account: FakeSession
) -> None:
    pairs = [(role, scope) for role in ("reader", "writer") for scope in ("a", "b")]
    first = {pair: sessions.assume(*pair) for pair in pairs}
    again = {pair: sessions.assume(*pair) for pair in pairs}
    assert first == again
    assert len(set(map(id, first.values()))) == 4
    assert len(account.asked) == 4


def test_clients_carry_the_credentials_of_their_own_session(
    sessions: ScopedSessions, account: FakeSession
) -> None:
    for scope in ("a", "b", "a"):
        sessions.assume("reader", scope).client("dynamodb")
    assert [made["aws_access_key_id"] for made in account.made] == ["1", "2"]


def test_a_session_is_renewed_before_it_ends(
    sessions: ScopedSessions, account: FakeSession, clock: FakeClock
) -> None:
    sessions.assume("reader", "a")
    clock.pass_(seconds=LIFETIME - EARLY.total_seconds() - 1)
    sessions.assume("reader", "a")
    assert len(account.asked) == 1
    clock.pass_(seconds=2)
    sessions.assume("reader", "a")
    assert len(account.asked) == 2


def test_without_sts_a_scope_stays_shut_and_opens_again_after(
    sessions: ScopedSessions, account: FakeSession
) -> None:
    account.down = True
    with pytest.raises(UnavailableError):
        sessions.assume("reader", "a")
    account.down = False
    assert sessions.assume("reader", "a").client("dynamodb")


def test_the_least_recently_opened_is_let_go(sessions: ScopedSessions, account: FakeSession) -> None:
    for number in range(KEPT):
        sessions.assume("reader", str(number))
    sessions.assume("reader", "0")
    sessions.assume("reader", "one more")
    asked = len(account.asked)
    sessions.assume("reader", "0")
    assert len(account.asked) == asked
    sessions.assume("reader", "1")
    assert len(account.asked) == asked + 1


def test_many_scopes_opened_at_once_make_their_clients_one_at_a_time(
    sessions: ScopedSessions, account: FakeSession
) -> None:
    def open_(number: int) -> str:
        sessions.assume("reader", str(number % 8)).client("dynamodb")
        return str(number % 8)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(open_, range(50)))
    tags = {asked["Tags"][0]["Value"]: str(at + 1) for at, asked in enumerate(account.asked)}
    assert set(tags) == {str(number) for number in range(8)}
    assert {made["aws_access_key_id"] for made in account.made} <= {
        str(n + 1) for n in range(len(account.asked))
    }


def test_no_session_outlives_a_snapshot(sessions: ScopedSessions, account: FakeSession) -> None:
    sessions.assume("reader", "a")
    sessions.forget()
    sessions.assume("reader", "a")
    assert len(account.asked) == 2


def test_what_lies_around_snapshots_is_forgotten_where_lambda_takes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registered: dict[str, list[Any]] = {"before": [], "after": []}
    hooks = ModuleType(HOOKS)
    hooks.register_before_snapshot = registered["before"].append  # type: ignore[attr-defined]
    hooks.register_after_restore = registered["after"].append  # type: ignore[attr-defined]
    hooks.__spec__ = ModuleSpec(HOOKS, None)
    monkeypatch.setitem(sys.modules, HOOKS, hooks)
    forgotten: list[str] = []
    around_snapshots(lambda: forgotten.append("all"))
    for registration in ("before", "after"):
        (hook,) = registered[registration]
        hook()
    assert forgotten == ["all", "all"]


def test_sts_is_asked_in_the_region_itself() -> None:
    session = boto3.session.Session("test", "test", region_name="eu-central-1")
    sessions = ScopedSessions(session, lambda: datetime.now(UTC))
    assert sessions._sts.meta.endpoint_url == "https://sts.eu-central-1.amazonaws.com"
