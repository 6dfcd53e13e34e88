"""Query strings, read from the raw string."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unsay_core.contracts.query_string import parse
from unsay_core.domain.errors import InvalidRequestError, InvalidScopeError

TEXT = st.text(st.characters(exclude_categories=("Cs",)))


@pytest.mark.parametrize(
    ("raw", "parameters"),
    [
        ("", {}),
        ("a=1", {"a": "1"}),
        ("a=1&b=2", {"a": "1", "b": "2"}),
        ("a=1+2", {"a": "1+2"}),
        ("a=1%2B2", {"a": "1+2"}),
        ("a=%20", {"a": " "}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("=1", {"": "1"}),
        ("a=b=c", {"a": "b=c"}),
        ("&a=1&&b=2&", {"a": "1", "b": "2"}),
        ("a=1;b=2", {"a": "1;b=2"}),
        ("a=1,2", {"a": "1,2"}),
        ("scope=acme%2Fa%252Fb", {"scope": "acme/a%2Fb"}),
        ("a=%C3%A9", {"a": "é"}),
        ("a=é", {"a": "é"}),
        ("a=%f0%9f%98%80", {"a": "😀"}),
        ("a=1&A=2", {"a": "1", "A": "2"}),
    ],
)
def test_parameters_are_what_the_raw_string_says(raw: str, parameters: dict[str, str]) -> None:
    assert parse(raw) == parameters


@given(st.dictionaries(TEXT, TEXT))
def test_what_was_percent_encoded_comes_back(parameters: dict[str, str]) -> None:
    raw = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in parameters.items())
    assert parse(raw) == parameters


@pytest.mark.parametrize(
    "raw", ["scope=a&scope=b", "scope=a&scope=a", "scope&scope=", "sc%6Fpe=a&x=1&scope=b"]
)
def test_a_repeated_parameter_is_refused_by_name(raw: str) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        parse(raw)
    assert [error.path for error in refusal.value.errors] == ["scope"]


@pytest.mark.parametrize("raw", ["a=%", "a=%4", "a=%zz", "a=%u0041", "%=1", "a=%%41", "a=% 41"])
def test_a_percent_sign_that_starts_no_escape_is_refused(raw: str) -> None:
    with pytest.raises(InvalidRequestError):
        parse(raw)


@pytest.mark.parametrize(
    "raw", ["a=%ff", "a=%c0%af", "a=%ed%a0%bd", "a=%C3", "%80=1", "a=\ud83d", "a=%f4%90%80%80"]
)
def test_bytes_that_are_not_utf_8_are_refused(raw: str) -> None:
    with pytest.raises(InvalidRequestError):
        parse(raw)


@given(st.text())
def test_any_text_is_parameters_or_an_invalid_request(raw: str) -> None:
    try:
        parameters = parse(raw)
    except InvalidRequestError:
        return
    assert all(value.encode() is not None for value in parameters.values())


def test_a_scope_that_is_no_text_is_no_scope() -> None:
    with pytest.raises(InvalidScopeError) as refusal:
        parse("limit=1&sc%6Fpe=a%ED%A0%80")
    assert [error.path for error in refusal.value.errors] == ["scope"]
    with pytest.raises(InvalidRequestError):
        parse("tag=a%ED%A0%80")
