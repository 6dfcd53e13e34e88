"""The `Documents` port: the owner's copy of each memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.samples import HARD_MEMORY, memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from unsay_core.application.ports import Documents


def has(documents: Documents, memory_id: str) -> bool:
    return documents.existing([memory_id]) == {memory_id}


@pytest.fixture
def documents(new_documents: Callable[[], Documents]) -> Documents:
    """A store that holds nothing yet."""
    return new_documents()


@pytest.mark.parametrize("kept", [memory(), HARD_MEMORY], ids=["plain", "hard"])
def test_what_was_put_is_there_and_what_was_not_is_not(documents: Documents, kept: object) -> None:
    documents.put(kept)  # type: ignore[arg-type]
    assert has(documents, kept.id)  # type: ignore[attr-defined]
    assert not has(documents, "mem_other")
    assert not has(documents, kept.id[:-1])  # type: ignore[attr-defined]


def test_deleting_takes_one_away_and_leaves_its_neighbour(documents: Documents) -> None:
    documents.put(memory(1))
    documents.put(memory(2))
    documents.delete([memory(1).id])
    assert not has(documents, memory(1).id)
    assert has(documents, memory(2).id)


def test_deleting_what_is_not_there_does_no_harm(documents: Documents) -> None:
    documents.put(memory(2))
    documents.delete([memory(1).id])
    documents.delete([memory(1).id])
    assert has(documents, memory(2).id)


def test_a_version_may_be_put_again_and_a_newer_one_replaces_it(documents: Documents) -> None:
    for version in (1, 1, 2, 2, 3):
        documents.put(replace(memory(1), version=version))
    assert has(documents, memory(1).id)


def test_after_a_delete_the_memory_can_be_put_anew(documents: Documents) -> None:
    documents.put(replace(memory(1), version=4))
    documents.delete([memory(1).id])
    documents.put(memory(1))
    assert has(documents, memory(1).id)


def test_one_scope_sees_nothing_of_another(new_documents: Callable[[], Documents]) -> None:
    one, other = new_documents(), new_documents()
    one.put(memory(1))
    assert has(one, memory(1).id)
    assert not has(other, memory(1).id)
    other.delete(memory(1).id)
    assert has(one, memory(1).id)


def test_writers_of_one_memory_at_once_do_not_fail_each_other(documents: Documents) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda version: documents.put(replace(memory(1), version=version)), [2, 1, 3, 2]))
    assert has(documents, memory(1).id)


def test_what_is_there_is_listed(documents: Documents) -> None:
    assert list(documents.listed()) == []
    for number in (1, 2, 3):
        documents.put(memory(number))
    documents.delete([memory(2).id])
    assert sorted(documents.listed()) == [memory(1).id, memory(3).id]
