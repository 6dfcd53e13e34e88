"""JSON without loss: kinds and digits come back, and what would lose something is refused."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unsay_core.contracts.exact_json import Written, canonical, dumps, loads, loads_stored
from unsay_core.domain.errors import InvalidRequestError

DEPTH = 40

TEXT = st.text(st.characters(exclude_categories=("Cs",)))
INTEGERS = st.integers(min_value=-(10**38 - 1), max_value=10**38 - 1)
DECIMALS = st.builds(
    lambda digits, scale: Decimal(digits).scaleb(scale, context=None) if digits else Decimal("0.0"),
    st.integers(min_value=-(10**27), max_value=10**27),
    st.integers(min_value=-90, max_value=90),
)
VALUES = st.recursive(
    st.none() | st.booleans() | INTEGERS | DECIMALS | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=20,
)


def kinds(value: object) -> object:
    """The value with the name of every kind in it, so that `1`, `1.0` and `true` compare as different."""
    if isinstance(value, dict):
        return {name: kinds(child) for name, child in value.items()}
    if isinstance(value, list):
        return [kinds(child) for child in value]
    return type(value).__name__, value


def refused(body: bytes | str, max_depth: int = DEPTH) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as refusal:
        loads(body, max_depth=max_depth)
    return refusal.value


@given(VALUES)
def test_what_is_written_reads_back_equal_and_of_the_same_kinds(value: object) -> None:
    read = loads(dumps(value), max_depth=DEPTH)
    assert kinds(read) == kinds(value)
    assert dumps(read) == dumps(value)


@given(VALUES)
def test_what_was_stored_reads_back_as_from_a_stranger(value: object) -> None:
    text = dumps(value)
    assert kinds(loads_stored(text)) == kinds(loads(text, max_depth=DEPTH))


@pytest.mark.parametrize("text", ["", "{", "NaN", "[Infinity]", "1 2"])
def test_what_cannot_have_been_stored_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        loads_stored(text)


@given(VALUES)
def test_what_is_written_is_json_to_anyone(value: object) -> None:
    assert json.loads(dumps(value), parse_float=Decimal) == value


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("1", 1),
        ("-0", 0),
        ("1.0", Decimal("1.0")),
        ("1.50", Decimal("1.50")),
        ("1e2", Decimal("1E+2")),
        ("1E-2", Decimal("0.01")),
        ("-0.0", Decimal("-0.0")),
        ("0.1", Decimal("0.1")),
        ("9" * 38, 10**38 - 1),
        ("-" + "9" * 38, 1 - 10**38),
        ("0." + "1" * 38, Decimal("0." + "1" * 38)),
        ("12345678901234567890.123456789012345678", Decimal("12345678901234567890.123456789012345678")),
        ("9.99e125", Decimal("9.99E+125")),
        ("1e-130", Decimal("1E-130")),
        ("true", True),
        ("false", False),
        ("null", None),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\u0000"', "\0"),
    ],
)
def test_a_literal_keeps_its_value_and_kind(literal: str, value: object) -> None:
    assert kinds(loads(f"[{literal}]", max_depth=1)) == kinds([value])
    assert kinds(loads(dumps([value]), max_depth=1)) == kinds([value])


@pytest.mark.parametrize(
    "literal",
    [
        "NaN",
        "Infinity",
        "-Infinity",
        "1" * 39,
        "-" + "1" * 39,
        "1" + "0" * 38,
        "0." + "1" * 39,
        "1." + "0" * 38,
        "1e126",
        "10e125",
        "-1e126",
        "1e-131",
        "0.1e-130",
        "1e999999999999999999999",
        "1e-999999999999999999999",
        "0e-500",
        "0e999999999",
        "1" * 5000,
        "0." + "0" * 200_000 + "1",
    ],
)
def test_a_number_that_could_not_be_kept_is_refused_where_it_stands(literal: str) -> None:
    error = refused(f'{{"importance": [0.5, {literal}]}}')
    assert [field.path for field in error.errors] == ["importance.1"]


@pytest.mark.parametrize(
    "literal", ["01", "+1", ".5", "1.", "1e", "0x10", "1_000", "nan", "--1", "- 1", "１"]
)
def test_a_number_that_is_no_json_is_refused(literal: str) -> None:
    refused(f"[{literal}]")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ('{"content": "a", "content": "b"}', "content"),
        ('{"content": "a", "content": "a"}', "content"),
        ('{"content": "a", "\\u0063ontent": "b"}', "content"),
        ('{"items": [{}, {"key": 1, "key": 2}]}', "items.1.key"),
        ('{"data": {"canary": {"x": 1, "x": 2}}}', "data"),
        ('{"metadata": {"canary": 1, "canary": 2}}', "metadata"),
        ('{"a canary of text": 1, "a canary of text": 2}', ""),
    ],
)
def test_a_key_given_twice_is_refused_and_the_callers_own_names_are_not_repeated(
    body: str, path: str
) -> None:
    error = refused(body)
    assert [field.path for field in error.errors] == [path]
    assert "canary" not in error.detail


def test_the_same_key_in_two_objects_is_no_duplicate() -> None:
    assert loads('{"a": {"k": 1}, "b": {"k": 1}, "k": 1, "K": 1}', max_depth=2)


@pytest.mark.parametrize(
    "body",
    [
        '"\\ud83d"',
        '"\\ude00"',
        '"\\ude00\\ud83d"',
        '"a\\ud83db"',
        '{"\\ud83d": 1}',
        '["\ud83d"]',
        b'"\xed\xa0\xbd"',
    ],
)
def test_half_a_surrogate_pair_is_refused_however_it_is_written(body: bytes | str) -> None:
    refused(body)
    assert loads('"\\ud83d\\ude00"', max_depth=0) == "😀"


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_nesting_is_limited_before_it_is_parsed(opening: str) -> None:
    closing = {"[": "]", "{": "}"}
    for count, limit in ((3, 6), (200_000, DEPTH)):
        body = opening * count
        ends = "".join(closing[c] for c in reversed(body) if c in closing)
        if count == 3:
            assert loads(body + "0" + ends, max_depth=limit)
            refused(body + "0" + ends, max_depth=len(ends) - 1)
        else:
            refused(body + "0" + ends)
            refused(body)


def test_brackets_inside_text_are_no_nesting() -> None:
    assert loads('["[[[[", "\\"[[[[", "\\\\", {"[{": "]}"}]', max_depth=2)
    refused('["\\\\", [["["]]]', max_depth=2)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"\xef\xbb\xbf{}",
        b"\xff",
        b"\xc0\xaf",
        b"{}\x00",
        b"{} {}",
        b"[1,]",
        b'{"a":1,}',
        b"{'a':1}",
        b"{a:1}",
        b'"a\nb"',
        b'"\x01"',
        b'"\\x41"',
        b'"\\u12"',
        b'"open',
        b"[",
        b"]",
        b"tru",
        b"True",
        b"undefined",
        b"/* */ 1",
        "{}".encode("utf-16"),
    ],
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    refused(body)


def test_a_refusal_neither_says_nor_carries_the_text() -> None:
    for body in (b'{"content": "canary" oops', b'["canary", NaN]', b'["canary\\ud83d"]', b'"canary\xff"'):
        error = refused(body)
        assert "canary" not in f"{error.detail}{error.extra}"
        assert error.__cause__ is None
        assert error.__suppress_context__ or error.__context__ is None


@given(st.binary(max_size=200) | st.text(st.characters(), max_size=200))
def test_any_body_is_a_value_or_an_invalid_request(body: bytes | str) -> None:
    try:
        value = loads(body, max_depth=DEPTH)
    except InvalidRequestError:
        return
    assert kinds(loads(dumps(value), max_depth=DEPTH)) == kinds(value)


@given(st.text('[]{}",:0123456789.eE+-\\ud8trufalsn ', max_size=60))
def test_near_json_is_a_value_or_an_invalid_request(body: str) -> None:
    try:
        loads(body, max_depth=DEPTH)
    except InvalidRequestError as error:
        assert error.detail


def test_text_is_written_compact_and_as_itself() -> None:
    assert dumps({"a": [1, "é\n", None], "b": (True,)}) == '{"a":[1,"é\\n",null],"b":[true]}'


def test_a_decimal_without_a_fraction_is_still_written_as_one() -> None:
    assert dumps(Decimal(1)) == "1.0"
    assert dumps([0.5, 1e22, 1.0]) == "[0.5,1E+22,1.0]"


@pytest.mark.parametrize(
    "value", [Decimal("NaN"), Decimal("Infinity"), float("nan"), float("-inf"), Decimal("sNaN")]
)
def test_what_is_not_finite_is_never_written(value: object) -> None:
    with pytest.raises(ValueError, match="NaN"):
        dumps([value])
    with pytest.raises(ValueError, match="NaN"):
        canonical([value])


@pytest.mark.parametrize("value", [b"bytes", {1}, {1: 2}, {None: 1}, object()])
def test_what_is_no_json_value_is_never_written(value: object) -> None:
    with pytest.raises(TypeError):
        dumps(value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1,"b":[2]}', '{ "b": [2], "a": 1 }'),
        ("1.0", "1.00"),
        ("1.0", "10e-1"),
        ("100.0", "1e2"),
        ("0.0", "-0.0"),
        ("0.0", "0e5"),
        ("-1.50", "-15E-1"),
        ('"\\u00e9"', '"é"'),
    ],
)
def test_equal_values_have_the_same_canonical_bytes(one: str, other: str) -> None:
    assert canonical(loads(one, max_depth=4)) == canonical(loads(other, max_depth=4))


def test_different_values_and_kinds_have_different_canonical_bytes() -> None:
    bodies = [
        "1",
        "1.0",
        "true",
        '"1"',
        '"1E0"',
        "[1]",
        "10.0",
        "0.1",
        "-1.0",
        "null",
        '"null"',
        "{}",
        "[]",
        "[[]]",
        "0",
    ]
    assert len({canonical(loads(body, max_depth=4)) for body in bodies}) == len(bodies)


@given(VALUES, VALUES)
def test_canonical_bytes_agree_exactly_when_the_values_do(one: object, other: object) -> None:
    assert (canonical(one) == canonical(other)) == (kinds(one) == kinds(other))
    assert kinds(loads(canonical(one), max_depth=DEPTH)) == kinds(one)


def test_what_was_written_before_is_taken_as_it_stands() -> None:
    value = {"n": [1, Decimal("1.0")], "text": '"”\n'}
    assert dumps({"items": [Written(dumps(value)), 2]}) == dumps({"items": [value, 2]})
