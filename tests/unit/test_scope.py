"""Scopes, patterns and principals: what opens a door, and everything that must not."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unsay_core.domain.errors import ForbiddenError, InvalidRequestError, InvalidScopeError
from unsay_core.domain.scope import Action, Grant, Principal, PrincipalKind, Scope, ScopePattern

READ, WRITE, REVIEW = Action.READ, Action.WRITE, Action.REVIEW

VISIBLE = st.characters(exclude_categories=("C", "Z"), include_characters=" ")
SEGMENTS = st.text(VISIBLE, min_size=1, max_size=20)


def is_valid(segments: list[str]) -> bool:
    try:
        Scope.parse(segments)
    except InvalidScopeError:
        return False
    return True


SCOPES = st.lists(SEGMENTS, min_size=1, max_size=8).filter(is_valid).map(Scope.parse)


def grant(pattern: str, *actions: Action) -> Grant:
    return Grant(ScopePattern.parse(pattern), frozenset(actions))


def principal(*grants: Grant, kind: PrincipalKind = PrincipalKind.HUMAN) -> Principal:
    return Principal("key_1", kind, grants)


@pytest.mark.parametrize(
    "segments",
    [
        ["acme"],
        ["acme", "users", "alice"],
        list("abcdefgh"),
        ["a" * 128],
        ["漢" * 128],
        ["user:1/2#3@4+5=6%7"],
        ["john-doe"],
        ["john_doe"],
        ["a%"],
        ["%2F"],
        ["%25"],
        ["two words"],
        ["😀👍🏽"],
        ["עברית"],
        ["العربية"],
        ["日本語"],
        ["C:\\x"],
        ["..."],
        ["**"],
        [".hidden"],
    ],
)
def test_a_scope_reads_back_from_its_canonical_string(segments: list[str]) -> None:
    scope = Scope.parse(segments)
    assert scope.segments == tuple(segments)
    assert Scope.parse(scope.canonical) == scope


@given(SCOPES, SCOPES)
def test_canonical_strings_are_injective_and_reversible(one: Scope, other: Scope) -> None:
    assert Scope.parse(one.canonical) == one
    assert (one.canonical == other.canonical) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["a#b", "c"], ["a", "b#c"]),
        (["a/b"], ["a", "b"]),
        (["a%2Fb"], ["a/b"]),
        (["a%252Fb"], ["a%2Fb"]),
        (["Alice"], ["alice"]),
        (["john-doe"], ["john_doe"]),
        (["acme"], ["acme-corp"]),
        (["t:u", "x"], ["t", "u:x"]),
        (["a.b"], ["a", "b"]),
    ],
)
def test_neighbours_stay_distinct(one: list[str], other: list[str]) -> None:
    assert Scope.parse(one).canonical != Scope.parse(other).canonical


def test_composed_and_decomposed_forms_are_one_scope() -> None:
    composed, decomposed = "josé", unicodedata.normalize("NFD", "josé")
    assert composed != decomposed
    assert Scope.parse(decomposed) == Scope.parse([composed])
    assert Scope.parse([unicodedata.normalize("NFD", "ǖ" * 128)]).segments == ("ǖ" * 128,)


def test_the_string_form_reads_its_two_escapes_and_no_other() -> None:
    assert Scope.parse("acme/a%2Fb%25c").segments == ("acme", "a/b%c")
    assert Scope.parse("%252F").segments == ("%2F",)


@pytest.mark.parametrize("escape", ["%", "%2", "%2f", "%2e%2e", "%41", "%zz", "%2F%", "% 25", "%u002F"])
def test_any_other_percent_sign_in_the_string_form_is_refused(escape: str) -> None:
    with pytest.raises(InvalidScopeError):
        Scope.parse(f"acme/{escape}")
    assert Scope.parse(["acme", escape]).segments == ("acme", escape)


INVISIBLE = {
    "zero-width space": "\u200b",
    "zero-width non-joiner": "\u200c",
    "zero-width joiner": "\u200d",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "soft hyphen": "\u00ad",
    "right-to-left override": "\u202e",
    "left-to-right isolate": "\u2066",
    "right-to-left mark": "\u200f",
    "Arabic letter mark": "\u061c",
    "variation selector": "\ufe0f",
    "supplementary variation selector": "\U000e0100",
    "tag": "\U000e0041",
    "Hangul filler": "\u3164",
    "half-width Hangul filler": "\uffa0",
    "combining grapheme joiner": "\u034f",
    "braille blank": "\u2800",
    "null": "\0",
    "tab": "\t",
    "line feed": "\n",
    "delete": "\x7f",
    "next line": "\x85",
    "line separator": "\u2028",
    "no-break space": "\u00a0",
    "ideographic space": "\u3000",
    "high surrogate": "\ud83d",
    "low surrogate": "\ude00",
    "private use": "\ue000",
    "noncharacter": "\ufffe",
}


@pytest.mark.parametrize("name", INVISIBLE)
@pytest.mark.parametrize("place", ["{}alice", "al{}ice", "alice{}", "{}"])
def test_characters_that_are_not_seen_are_refused_wherever_they_stand(name: str, place: str) -> None:
    segment = place.format(INVISIBLE[name])
    for value in (segment, ["acme", segment], f"acme/{segment}"):
        with pytest.raises(InvalidScopeError):
            Scope.parse(value)
    assert Scope.parse(["acme", place.format("x")])


@pytest.mark.parametrize(
    "value",
    [
        "",
        "/",
        "//",
        "/acme",
        "acme/",
        "acme//alice",
        ".",
        "..",
        "acme/..",
        "../x",
        "/etc",
        "a/../b",
        "*",
        "acme/*",
        "*/acme",
        " acme",
        "acme ",
        "acme/ alice",
        "acme /alice",
        "a/b/c/d/e/f/g/h/i",
        "a" * 129,
        "/".join(["漢" * 85] * 2) + "/x",
        [],
        [""],
        ["acme", ""],
        ["acme", "."],
        ["acme", ".."],
        ["acme", "*"],
        ["acme", " alice"],
        ["a"] * 9,
        ["a" * 129],
        ["%" * 128, "%" * 43],
        ["acme", None],
        ["acme", 1],
        ["acme", True],
        ["acme", ["alice"]],
        ("acme",),
        None,
        1,
        True,
        {"scope": "acme"},
        b"acme",
    ],
)
def test_what_is_no_scope_is_refused_and_never_repaired(value: object) -> None:
    with pytest.raises(InvalidScopeError):
        Scope.parse(value)


def test_exactly_512_bytes_are_a_scope_and_one_more_is_not() -> None:
    parts = ["a" * 128, "a" * 128, "a" * 128, "a" * 125]
    assert len(Scope.parse(parts).canonical.encode()) == 512
    with pytest.raises(InvalidScopeError):
        Scope.parse([*parts[:3], "a" * 126])


def test_a_refused_scope_is_not_repeated_in_the_error() -> None:
    with pytest.raises(InvalidScopeError) as refusal:
        Scope.parse("canary-7f3a/*")
    assert "canary" not in refusal.value.detail + repr(refusal.value.extra)


@given(st.one_of(st.text(), st.lists(st.text())))
def test_any_text_is_a_scope_or_an_invalid_scope_error(value: str | list[str]) -> None:
    try:
        scope = Scope.parse(value)
    except InvalidScopeError:
        return
    assert scope.canonical == unicodedata.normalize("NFC", scope.canonical)
    assert Scope.parse(scope.canonical) == scope


def test_a_long_run_of_combining_marks_is_refused_at_once() -> None:
    with pytest.raises(InvalidScopeError):
        Scope.parse(["\u0345\u0301" * 1_000_000])


def test_the_root_is_the_first_segment_as_the_canonical_string_has_it() -> None:
    assert Scope.parse(["a/b", "c"]).root == "a%2Fb"


@pytest.mark.parametrize(
    ("pattern", "scope", "covered"),
    [
        ("acme/users/alice", "acme/users/alice", True),
        ("acme/users/alice", "acme/users/alice/notes", False),
        ("acme/users/alice", "acme/users", False),
        ("acme/users/alice", "acme/users/Alice", False),
        ("acme/*", "acme/users", True),
        ("acme/*", "acme/users/alice", True),
        ("acme/*", "acme", False),
        ("acme/*", "acme-corp", False),
        ("acme/*", "acme-corp/users", False),
        ("acme/*", "acme2/users", False),
        ("acme/*", "other/acme/users", False),
        ("acme/us/*", "acme/users", False),
        ("acme%2Fx/*", "acme/x", False),
        ("acme%2Fx/*", "acme%2Fx/y", True),
        ("a_b/*", "a-b/x", False),
        ("*", "acme", True),
        ("*", "acme/users/alice", True),
    ],
)
def test_a_pattern_covers_at_segment_boundaries_only(pattern: str, scope: str, covered: bool) -> None:
    assert ScopePattern.parse(pattern).covers(Scope.parse(scope)) is covered


@pytest.mark.parametrize(
    "value", ["", "/*", "*/x", "acme/*/users", "*/*", "acme/ *", None, ["*"], ["acme", "*"]]
)
def test_a_star_stands_for_a_last_segment_only(value: object) -> None:
    with pytest.raises(InvalidScopeError):
        ScopePattern.parse(value)


@pytest.mark.parametrize("value", ["acme*", "acme/**", "**", "acme/u*"])
def test_a_star_inside_a_name_is_a_plain_character(value: str) -> None:
    pattern = ScopePattern.parse(value)
    assert pattern.covers(Scope.parse(value))
    assert not any(pattern.covers(Scope.parse(name)) for name in ("acme", "acmex", "acme/users", "acme/ux/y"))


WORLD = [
    Scope.parse(list(segments))
    for length in (1, 2, 3, 4)
    for segments in itertools.product(("a", "a-b", "b"), repeat=length)
]
PATTERNS = [
    ScopePattern.parse(text) for text in ("*", *(f"{s}{end}" for s in WORLD[:39] for end in ("", "/*")))
]


def test_a_pattern_contains_another_exactly_when_it_covers_all_its_scopes() -> None:
    covered = {pattern: frozenset(scope for scope in WORLD if pattern.covers(scope)) for pattern in PATTERNS}
    for one, other in itertools.product(PATTERNS, repeat=2):
        assert one.contains(other) == (covered[other] <= covered[one]), (str(one), str(other))


def test_patterns_read_back_from_their_text() -> None:
    assert [ScopePattern.parse(str(pattern)) for pattern in PATTERNS] == PATTERNS
    assert str(ScopePattern.parse("*")) == "*"


def test_a_principal_may_do_what_one_grant_allows_and_nothing_mixed_from_two() -> None:
    caller = principal(grant("acme/*", READ), grant("acme/users/alice", WRITE))
    alice, bob = Scope.parse("acme/users/alice"), Scope.parse("acme/users/bob")
    assert caller.may(WRITE, alice)
    assert caller.may(READ, bob)
    assert not caller.may(WRITE, bob)
    assert not caller.may(Action.FORGET, alice)
    assert not principal().may(READ, alice)


def test_a_refusal_is_the_same_bytes_whatever_was_asked() -> None:
    caller = principal(grant("acme/users/alice", READ))
    caller.require(READ, Scope.parse("acme/users/alice"))
    details = set()
    for action, name in ((READ, "acme/users/bob"), (WRITE, "acme/users/alice"), (READ, "canary")):
        with pytest.raises(ForbiddenError) as refusal:
            caller.require(action, Scope.parse(name))
        details.add((refusal.value.detail, tuple(refusal.value.extra)))
    assert len(details) == 1


def test_only_a_human_may_hold_review() -> None:
    holds = grant("*", READ, REVIEW)
    assert principal(holds).may(REVIEW, Scope.parse("acme"))
    with pytest.raises(InvalidRequestError):
        principal(holds, kind=PrincipalKind.AGENT)
    assert principal(grant("*", READ), kind=PrincipalKind.AGENT)


@pytest.mark.parametrize(
    ("asked", "included"),
    [
        (grant("acme/users", READ), True),
        (grant("acme/users/*", READ, WRITE), True),
        (grant("acme/*", READ, WRITE), True),
        (grant("acme", READ), False),
        (grant("*", READ), False),
        (grant("acme-corp/x", READ), False),
        (grant("acme/users", READ, Action.ADMIN), False),
        (grant("audited/log", Action.AUDIT), True),
        (grant("audited/log", READ), False),
    ],
)
def test_a_grant_is_included_only_when_every_part_of_it_is_held(asked: Grant, included: bool) -> None:
    caller = principal(grant("acme/*", READ, WRITE), grant("audited/log", Action.AUDIT))
    assert caller.includes(asked) is included


@given(SCOPES, st.sets(st.sampled_from(list(Action)), min_size=1), st.sampled_from(["", "/*"]))
def test_a_principal_reads_back_from_its_json(scope: Scope, actions: set[Action], end: str) -> None:
    caller = principal(grant(scope.canonical + end, *actions), grant("*", READ))
    assert Principal.from_json(caller.to_json()) == caller


@pytest.mark.parametrize(
    "change",
    [
        {"id": ""},
        {"id": 1},
        {"kind": "robot"},
        {"kind": None},
        {"kind": ["human"]},
        {"grants": None},
        {"grants": ["*"]},
        {"grants": [{"scope": "*"}]},
        {"grants": [{"scope": "*", "actions": []}]},
        {"grants": [{"scope": "*", "actions": "read"}]},
        {"grants": [{"scope": "*", "actions": ["READ"]}]},
        {"grants": [{"scope": "*", "actions": ["delete"]}]},
        {"grants": [{"scope": "*", "actions": [["read"]]}]},
        {"grants": [{"scope": "*", "actions": ["read"], "more": 1}]},
        {"kind": "agent", "grants": [{"scope": "*", "actions": ["review"]}]},
    ],
)
def test_json_that_is_no_principal_is_refused(change: dict[str, object]) -> None:
    good = {"id": "key_1", "kind": "human", "grants": [{"scope": "*", "actions": ["read"]}]}
    assert Principal.from_json(good).id == "key_1"
    with pytest.raises(InvalidRequestError):
        Principal.from_json({**good, **change})


def test_a_grant_for_what_is_no_scope_is_an_invalid_scope() -> None:
    with pytest.raises(InvalidScopeError):
        Grant.from_json({"scope": "acme//x", "actions": ["read"]})
