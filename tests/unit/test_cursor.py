"""Page cursors: good where they were sealed, refused everywhere else."""

from __future__ import annotations

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unsay_core.application.keys import Keyring
from unsay_core.contracts.cursor import open_, seal
from unsay_core.domain.errors import InvalidCursorError

RING = Keyring.from_pepper("an example pepper of some length")
HERE, THERE = RING.scope_id("acme/users/alice"), RING.scope_id("acme/users/bob")
QUERY = b'{"order":"desc"}'
CURSOR = seal(RING, HERE, QUERY, "mem_01j")
ALPHABET = string.ascii_letters + string.digits + "-_"


@given(st.binary(), st.text(st.characters(exclude_categories=("Cs",))))
def test_a_cursor_opens_where_it_was_sealed(query: bytes, position: str) -> None:
    cursor = seal(RING, HERE, query, position)
    assert open_(RING, HERE, query, cursor) == position
    assert set(cursor) <= set(ALPHABET)


def test_a_cursor_does_not_open_in_another_scope_query_or_deployment() -> None:
    other_ring = Keyring.from_pepper("another pepper of some length")
    for ring, scope_id, query in (
        (RING, THERE, QUERY),
        (RING, HERE, QUERY + b" "),
        (other_ring, HERE, QUERY),
    ):
        with pytest.raises(InvalidCursorError):
            open_(ring, scope_id, query, CURSOR)
    assert open_(RING, HERE, QUERY, CURSOR) == "mem_01j"


def test_a_cursor_with_any_one_character_changed_dropped_or_added_does_not_open() -> None:
    for place in range(len(CURSOR)):
        changed = [
            CURSOR[:place] + other + CURSOR[place + 1 :] for other in ALPHABET if other != CURSOR[place]
        ]
        for tampered in (
            *changed,
            CURSOR[:place] + CURSOR[place + 1 :],
            CURSOR[:place] + "A" + CURSOR[place:],
        ):
            with pytest.raises(InvalidCursorError):
                open_(RING, HERE, QUERY, tampered)


@pytest.mark.parametrize("end", ["=", "==", " ", "\n", ".", "AAAA", "é", "\ud83d"])
def test_other_spellings_of_a_cursor_do_not_open(end: str) -> None:
    with pytest.raises(InvalidCursorError):
        open_(RING, HERE, QUERY, CURSOR + end)


@given(st.text())
def test_any_text_is_refused_without_another_error(text: str) -> None:
    with pytest.raises(InvalidCursorError):
        open_(RING, HERE, QUERY, text)


def test_the_position_is_not_to_be_read_in_the_cursor() -> None:
    assert "mem_01j" not in CURSOR
    # It is encoded, not enciphered: whoever decodes it finds a position they were given anyway.
    assert base64.urlsafe_b64decode(CURSOR + "=" * (-len(CURSOR) % 4)).endswith(b"mem_01j")
