"""A broken line costs itself, is named, and is not repeated."""

import json

import pytest

from local.demo import EXAMPLE
from local.transcript import LONGEST_LINE_BYTES, read_transcript

GOOD = b'{"role": "user", "content": "I like tea.", "at": "2025-05-05T18:02:11+02:00"}'


@pytest.fixture
def read(tmp_path):
    def write_and_read(*lines, end=b"\n"):
        file = tmp_path / "conversation.jsonl"
        file.write_bytes(end.join(lines))
        return read_transcript(file)

    return write_and_read


def test_a_turn_has_its_line_role_content_and_time_in_utc(read):
    (turn,) = read(GOOD).turns
    assert (turn.line, turn.role, turn.content) == (1, "user", "I like tea.")
    assert turn.at.isoformat() == "2025-05-05T16:02:11+00:00"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"role": "user", "content": ', "the line is not JSON: Expecting value at character 27"),
        (b"plain text secret", "the line is not JSON: Expecting value at character 0"),
        (b'["user", "secret"]', "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'{"content": "secret"}', "has no role"),
        (b'{"role": "wizard", "content": "secret"}', "the role is none of user, assistant, system, tool"),
        (b'{"role": ["user"], "content": "secret"}', "the role is none of user, assistant, system, tool"),
        (b'{"role": "user"}', "has no content"),
        (b'{"role": "user", "content": ""}', "the content is empty"),
        (b'{"role": "user", "content": " \\n\\t "}', "the content is empty"),
        (b'{"role": "user", "content": {"text": "secret"}}', "the content is not a string"),
        (b'{"role": "user", "content": "secret \\ud800"}', "content: half of a surrogate pair"),
        (b'{"role": "user", "role": "user", "content": "x"}', "role: given more than once"),
        (b'{"role": "user", "content": "caf\xe9 secret"}', "the line is not UTF-8"),
        (b'{"role": "user", "content": "' + b"secret " * 150_000 + b'"}', "longer than 262,144 bytes"),
        (b"[" * 5_000, "the line is nested more than 32 deep"),
    ],
)
def test_a_broken_line_is_named_with_its_reason_and_nothing_else_is_lost(read, line, why):
    found = read(GOOD, line, GOOD)
    assert [turn.line for turn in found.turns] == [1, 3]
    (refusal,) = found.refused
    assert refusal.line == 2
    assert why in refusal.why
    assert "secret" not in refusal.why


@pytest.mark.parametrize("at", ["2025-05-05T18:02:11", "yesterday", 1746468131, "2025-13-01T00:00:00Z", ""])
def test_a_time_that_is_none_is_refused(read, at):
    found = read(json.dumps({"role": "user", "content": "x", "at": at}).encode())
    assert found.turns == []
    assert found.refused[0].why.startswith("at: ")


@pytest.mark.parametrize(
    "line", [b'{"role": "user", "content": "x"}', b'{"role":"user","content":"x","at":null}']
)
def test_a_turn_may_have_no_time(read, line):
    assert read(line).turns[0].at is None


def test_other_fields_are_passed_over(read):
    assert read(b'{"id": 7, "role": "user", "content": "x", "name": null}').turns[0].content == "x"


def test_a_byte_order_mark_blank_lines_and_dos_line_ends_are_no_turns(read):
    found = read(b"\xef\xbb\xbf" + GOOD, b"", b"   ", GOOD, b"", end=b"\r\n")
    assert [turn.line for turn in found.turns] == [1, 4]
    assert found.refused == []


def test_a_line_as_long_as_the_limit_is_read_and_the_next_is_not(read):
    around = len(b'{"role":"user","content":""}')
    most = b'{"role":"user","content":"' + b"x" * (LONGEST_LINE_BYTES - around) + b'"}'
    found = read(most, most[:-2] + b'x"}', GOOD)
    assert [turn.line for turn in found.turns] == [1, 3]
    assert [refusal.line for refusal in found.refused] == [2]


def test_an_empty_file_holds_nothing(read):
    found = read(b"")
    assert (found.turns, found.refused) == ([], [])


def test_turns_are_told_apart_by_role(read):
    found = read(GOOD, GOOD.replace(b"user", b"assistant"), GOOD.replace(b"user", b"system"))
    assert [turn.line for turn in found.of("user")] == [1]
    assert len(found.turns) == 3


def test_the_conversation_that_comes_with_the_product_is_whole():
    found = read_transcript(EXAMPLE)
    assert found.refused == []
    assert len(found.of("user")) >= 8
    assert all(turn.at for turn in found.turns)
    assert [turn.at for turn in found.turns] == sorted(turn.at for turn in found.turns)
