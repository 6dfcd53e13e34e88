"""When waiting messages become batches."""

from __future__ import annotations

from unsay_core.extraction.conversation import MOST_AT_ONCE, Cadence, Unread, cut


def test_of_messages_that_fill_a_batch_each_some_wait_for_the_next_transaction() -> None:
    waiting = [Unread(seq, 100, turn=True) for seq in range(MOST_AT_ONCE + 5)]
    found = cut(waiting, Cadence(turns=50, size=100))
    assert found.due == tuple((seq,) for seq in range(MOST_AT_ONCE))
    assert [item.seq for item in found.waiting] == list(range(MOST_AT_ONCE, MOST_AT_ONCE + 5))
    assert cut(found.waiting, Cadence(turns=50, size=100), everything=True).waiting == ()
