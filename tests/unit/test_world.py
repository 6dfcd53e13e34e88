"""Ids outside of tests: unique, of one form, and in the order they were made."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from tests.support.samples import AT
from unsay_core.adapters.world import SystemClock, Ulids, real_world
from unsay_core.domain.ids import require_id


class Jumping(SystemClock):
    """A clock that jumps back an hour each time it is looked at."""

    def __init__(self) -> None:
        self._now = AT

    def now(self):
        self._now -= timedelta(hours=1)
        return self._now


def test_ids_have_their_form_and_sort_as_they_were_made() -> None:
    new_id = real_world().new_id
    ids = [new_id("mem") for _ in range(1_000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 1_000
    assert all(require_id(each, "mem") == each for each in ids)


def test_a_clock_that_jumps_back_does_not_turn_the_order() -> None:
    ulids = Ulids(Jumping())
    ids = [ulids.new("mem") for _ in range(100)]
    assert ids == sorted(set(ids))


def test_threads_never_get_the_same_id() -> None:
    ulids = Ulids(SystemClock())
    with ThreadPoolExecutor(16) as pool:
        ids = list(pool.map(lambda _: ulids.new("mem"), range(2_000)))
    assert len(set(ids)) == 2_000


def test_two_processes_do_not_make_the_same_ids() -> None:
    assert not {Ulids(SystemClock()).new("mem") for _ in range(50)} & {Ulids(SystemClock()).new("mem")}


def test_a_nonce_is_sixteen_bytes_drawn_anew() -> None:
    world = real_world()
    nonces = {world.new_nonce() for _ in range(100)}
    assert len(nonces) == 100
    assert {len(bytes.fromhex(nonce)) for nonce in nonces} == {16}
