"""Whose memory it is, and who may do what with it: scopes, patterns over them, grants, principals."""

from __future__ import annotations

import unicodedata
from enum import StrEnum
from typing import TYPE_CHECKING

from unsay_core.domain import labels
from unsay_core.domain.characters import BRAILLE_BLANK, DEFAULT_IGNORABLE
from unsay_core.domain.errors import ForbiddenError, InvalidRequestError, InvalidScopeError
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_SEGMENTS = 8
MAX_SEGMENT_CHARACTERS = 128
MAX_SCOPE_BYTES = 512

_MAX_UNCOMPOSED = 4 * MAX_SEGMENT_CHARACTERS  # no character is composed of more than four
_UNSEEN = DEFAULT_IGNORABLE | {BRAILLE_BLANK}


class Action(StrEnum):
    """What a grant allows."""

    READ = "read"
    WRITE = "write"
    FORGET = "forget"
    REVIEW = "review"
    AUDIT = "audit"
    TRANSFER = "transfer"
    ADMIN = "admin"


class PrincipalKind(StrEnum):
    """Who acts: a program or a person."""

    AGENT = "agent"
    HUMAN = "human"


@dataclass(frozen=True, slots=True)
class Scope:
    """A path of 1 to 8 segments, in NFC. Built by `parse` only, so that every scope is a valid one."""

    segments: tuple[str, ...]

    @classmethod
    def parse(cls, value: object) -> Scope:
        """The scope of a canonical string or of a list of segments.

        Raises `InvalidScopeError` for everything else: a scope repaired into another one would open the
        wrong door.
        """
        if isinstance(value, str):
            parts = _parted(value)
        elif isinstance(value, list):
            parts = value
        else:
            raise InvalidScopeError("A scope is a string or a list of segments.")
        if not 1 <= len(parts) <= MAX_SEGMENTS:
            raise InvalidScopeError(f"A scope has 1 to {MAX_SEGMENTS} segments.")
        scope = cls(tuple(_segment(part) for part in parts))
        if len(scope.canonical.encode("utf-8")) > MAX_SCOPE_BYTES:
            raise InvalidScopeError(f"A scope has at most {MAX_SCOPE_BYTES} bytes.")
        return scope

    @property
    def canonical(self) -> str:
        """The one string of this scope: segments joined by `/`, with `%` and `/` inside them escaped."""
        return labels.joined(self.segments)

    @property
    def root(self) -> str:
        """The first segment, as it stands in the canonical string: what policies and indexes hang on."""
        return Scope(self.segments[:1]).canonical

    def __str__(self) -> str:
        return self.canonical


def _parted(text: str) -> list[str]:
    try:
        return labels.parted(text)
    except ValueError as wrong:
        raise InvalidScopeError(f"In a scope, {wrong}.") from None


def _segment(part: object) -> str:
    if not isinstance(part, str):
        raise InvalidScopeError("Every segment of a scope is a string.")
    # Looked at before it is normalised: sorting a long run of combining marks takes quadratic time.
    segment = unicodedata.normalize("NFC", part) if len(part) <= _MAX_UNCOMPOSED else part
    if not 1 <= len(segment) <= MAX_SEGMENT_CHARACTERS:
        raise InvalidScopeError(f"A segment of a scope has 1 to {MAX_SEGMENT_CHARACTERS} characters.")
    if segment in {".", "..", "*"}:
        raise InvalidScopeError("A segment of a scope is not '.', '..' or '*'.")
    if segment != segment.strip():
        raise InvalidScopeError("A segment of a scope neither starts nor ends with white space.")
    if not segment.isprintable() or not _UNSEEN.isdisjoint(segment):
        raise InvalidScopeError("A segment of a scope has only printable, visible characters.")
    return segment


@dataclass(frozen=True, slots=True)
class ScopePattern:
    """One scope (`acme/users/alice`), all below one (`acme/*`), or all there are (`*`)."""

    prefix: tuple[str, ...]
    below: bool

    @classmethod
    def parse(cls, value: object) -> ScopePattern:
        """The pattern of a string. Raises `InvalidScopeError`; `*` stands for the last segment only."""
        if not isinstance(value, str):
            raise InvalidScopeError("The scope of a grant is a string.")
        if value == "*":
            return cls((), below=True)
        if value.endswith("/*"):
            return cls(Scope.parse(value.removesuffix("/*")).segments, below=True)
        return cls.exactly(Scope.parse(value))

    @classmethod
    def exactly(cls, scope: Scope) -> ScopePattern:
        """The pattern that covers this scope and nothing else."""
        return cls(scope.segments, below=False)

    def covers(self, scope: Scope) -> bool:
        """Whether the scope is one of the pattern's. `acme/*` covers neither `acme` nor `acme-corp/x`."""
        if not self.below:
            return scope.segments == self.prefix
        return len(scope.segments) > len(self.prefix) and self._leads(scope.segments)

    def contains(self, other: ScopePattern) -> bool:
        """Whether every scope of `other` is one of this pattern's."""
        if not self.below:
            return other == self
        return self._leads(other.prefix) and (other.below or len(other.prefix) > len(self.prefix))

    def _leads(self, segments: tuple[str, ...]) -> bool:
        return segments[: len(self.prefix)] == self.prefix

    def __str__(self) -> str:
        if not self.prefix:
            return "*"
        return Scope(self.prefix).canonical + ("/*" if self.below else "")


@dataclass(frozen=True, slots=True)
class Grant:
    """Some actions in some scopes."""

    pattern: ScopePattern
    actions: frozenset[Action]

    def to_json(self) -> dict[str, object]:
        """As the API writes it."""
        return {"scope": str(self.pattern), "actions": sorted(self.actions)}

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Grant:
        """As the API reads it. Raises `InvalidScopeError` or `InvalidRequestError`."""
        if not isinstance(value, dict) or value.keys() != {"scope", "actions"}:
            raise InvalidRequestError.at("grants", "a grant has a scope and actions, and nothing else")
        return cls(ScopePattern.parse(value["scope"]), _actions(value["actions"]))


def _actions(value: object) -> frozenset[Action]:
    if not isinstance(value, list) or not value:
        raise InvalidRequestError.at("grants.actions", "actions is a list of at least one action")
    known = {action.value: action for action in Action}
    if not all(isinstance(item, str) and item in known for item in value):
        raise InvalidRequestError.at("grants.actions", f"an action is one of {', '.join(known)}")
    return frozenset(known[item] for item in value)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling, and what they may do. Only a person may hold `review`."""

    id: str
    kind: PrincipalKind
    grants: tuple[Grant, ...]

    def __post_init__(self) -> None:
        if self.kind is not PrincipalKind.HUMAN and any(Action.REVIEW in g.actions for g in self.grants):
            raise InvalidRequestError.at("grants", "only a human may hold the action review")

    def may(self, action: Action, scope: Scope) -> bool:
        """Whether some grant allows the action in exactly this scope."""
        return any(action in grant.actions and grant.pattern.covers(scope) for grant in self.grants)

    def require(self, action: Action, scope: Scope) -> None:
        """Raise `ForbiddenError` unless allowed, with the same bytes whatever the action and the scope."""
        if not self.may(action, scope):
            raise ForbiddenError("The caller's grants do not allow this.")

    def includes(self, grant: Grant) -> bool:
        """Whether the grant gives nothing this principal lacks.

        Each action must lie within one grant of ours: several that only together cover the pattern do
        not count.
        """
        return all(
            any(action in own.actions and own.pattern.contains(grant.pattern) for own in self.grants)
            for action in grant.actions
        )

    def to_json(self) -> dict[str, object]:
        """For the authorizer's context and the access table."""
        return {"id": self.id, "kind": self.kind.value, "grants": [g.to_json() for g in self.grants]}

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Principal:
        """The inverse of `to_json`. Raises `InvalidRequestError` or `InvalidScopeError`."""
        identity, kind, grants = value.get("id"), value.get("kind"), value.get("grants")
        if not isinstance(identity, str) or not identity:
            raise InvalidRequestError.at("id", "a principal has an id")
        if not isinstance(kind, str) or kind not in {k.value for k in PrincipalKind}:
            raise InvalidRequestError.at("kind", "a principal is an agent or a human")
        if not isinstance(grants, list):
            raise InvalidRequestError.at("grants", "grants is a list")
        return cls(identity, PrincipalKind(kind), tuple(Grant.from_json(grant) for grant in grants))
