"""The `IndexQueue` port: every task arrives, one that was sent twice once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.ports import IndexTask

if TYPE_CHECKING:
    from tests.contract.conftest import Queue

SCOPE = "a" * 52


def mem(number: int) -> str:
    return f"mem_{number:026d}"


def test_every_task_arrives(queue: Queue) -> None:
    tasks = [IndexTask(SCOPE, mem(number), number) for number in range(23)]
    queue.queue.send(tasks)
    assert sorted(queue.received(), key=lambda task: task.seq) == tasks


def test_nothing_sent_is_nothing_received(queue: Queue) -> None:
    queue.queue.send([])
    assert list(queue.received()) == []
    queue.queue.send([IndexTask(SCOPE, mem(1), 1)])
    assert len(queue.received()) == 1


def test_the_same_task_sent_again_arrives_once(queue: Queue) -> None:
    queue.queue.send([IndexTask(SCOPE, mem(1), 1)])
    queue.queue.send([IndexTask(SCOPE, mem(1), 1), IndexTask(SCOPE, mem(1), 2)])
    assert sorted(task.seq for task in queue.received()) == [1, 2]


def test_the_work_of_one_memory_arrives_in_order(queue: Queue) -> None:
    tasks = [IndexTask(SCOPE, mem(1), number) for number in (3, 1, 2)]
    for task in tasks:
        queue.queue.send([task])
    assert list(queue.received()) == tasks


def test_a_task_comes_back_as_it_was_sent(queue: Queue) -> None:
    tasks = [
        IndexTask(SCOPE, mem(1), 1, "b" * 52),
        IndexTask(SCOPE, mem(1), 1, "b" * 52, rebuild=True),
        IndexTask(SCOPE, mem(2), 7),
    ]
    queue.queue.send(tasks)
    assert queue.queue.waiting() == len(tasks)
    assert sorted(queue.received(), key=str) == sorted(tasks, key=str)
