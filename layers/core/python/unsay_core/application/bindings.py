"""Bindings: what the claims of a token, or the ARN of a role, are granted here."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from unsay_core.domain.errors import InvalidRequestError, InvalidScopeError
from unsay_core.domain.scope import Action, Grant, PrincipalKind, Scope, ScopePattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

BELIEVED = timedelta(seconds=60)
_PLACEHOLDER = re.compile(r"{([^{}/]{1,128})}")
# A session names its role without the path; within an account a role's name is enough.
_SESSION = re.compile(
    r"arn:(aws[a-z-]*):sts::(\d{12}):assumed-role/([\w+=,.@-]{1,64})/[\w+=,.@-]{2,64}", re.ASCII
)
_PATTERN = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@*-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Template:
    """A grant whose scope may name claims: `acme/users/{sub}`."""

    scope: str
    actions: frozenset[Action]

    def __post_init__(self) -> None:
        """Raises `InvalidScopeError` for a template that no claims could make a pattern of."""
        ScopePattern.parse("/".join("x" if _PLACEHOLDER.fullmatch(s) else s for s in self.scope.split("/")))

    def filled(self, claims: Mapping[str, Any]) -> Grant:
        """The grant for these claims; raises `InvalidScopeError` where a value is not one whole segment."""
        segments = (_filled(segment, claims) for segment in self.scope.split("/"))
        return Grant(ScopePattern.parse("/".join(segments)), self.actions)


def _filled(segment: str, claims: Mapping[str, Any]) -> str:
    match = _PLACEHOLDER.fullmatch(segment)
    if match is None:
        return segment
    value = claims.get(match[1])
    # In NFC already: two subjects of an issuer that differ must not meet in one scope.
    if not isinstance(value, str) or unicodedata.normalize("NFC", value) != value:
        raise InvalidScopeError("a claim that a binding needs is not there, or is no segment")
    return Scope.parse([value]).canonical


@dataclass(frozen=True, slots=True)
class Binding:
    """Whoever an issuer says all of `claims` of, or whose role fits the ARN pattern in `role`, is granted.

    Of `issuer` and `role` one is set. A claim that is a list needs to hold the value.
    """

    kind: PrincipalKind
    grants: tuple[Template, ...]
    issuer: str | None = None
    claims: tuple[tuple[str, str], ...] = ()
    role: str | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if (self.issuer is None) == (self.role is None):
            raise InvalidRequestError.at("binding", "a binding is for an issuer or for a role")
        if self.role is not None and not _PATTERN.fullmatch(self.role):
            raise InvalidRequestError.at(
                "arn", "arn:aws:iam::<account>:role/<name>, where * in the name alone stands for anything"
            )
        actions = {action for grant in self.grants for action in grant.actions}
        if not actions:
            raise InvalidRequestError.at("grants", "a binding grants something")
        if self.kind is not PrincipalKind.HUMAN and Action.REVIEW in actions:
            raise InvalidRequestError.at("grants", "only a human may hold the action review")

    @property
    def id(self) -> str:
        """Follows from what it says: a binding that is still there is the binding it was."""
        said = [self.kind, self.issuer, sorted(self.claims), self.role]
        grants = sorted([grant.scope, *sorted(grant.actions)] for grant in self.grants)
        return "bnd_" + hashlib.sha256(json.dumps([said, grants]).encode()).hexdigest()[:24]

    def fits(self, issuer: str | None, claims: Mapping[str, Any]) -> bool:
        """Whether it is for somebody of whom the issuer says this; no issuer is IAM."""
        if self.role is not None:
            return issuer is None and _fits(self.role, claims["arn"])
        return issuer == self.issuer and all(value in _texts(name, claims) for name, value in self.claims)


def _fits(pattern: str, arn: str) -> bool:
    body = ".*".join(re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(body, arn) is not None


def _texts(name: str, claims: Mapping[str, Any]) -> list[str]:
    """What a claim says: nothing, one thing or several; what is no string, as JSON writes it."""
    if name not in claims:
        return []
    value = claims[name]
    members = value if isinstance(value, list) else [value]
    return [member if isinstance(member, str) else json.dumps(member) for member in members]


@dataclass(frozen=True, slots=True)
class Granted:
    """What several bindings give together, and which they are."""

    kind: PrincipalKind
    grants: tuple[Grant, ...]
    bindings: tuple[str, ...]


class Bindings(Protocol):
    """The access table, as far as bindings go."""

    def all(self) -> Sequence[Binding]:
        """Every binding, in the order of their ids."""

    def add(self, binding: Binding) -> None:
        """Store a binding; again changes nothing."""

    def remove(self, binding_id: str) -> bool:
        """Remove a binding; False if there was none."""


class RecentBindings:
    """The bindings as they were a minute ago at the most: so long a removed one may still be believed."""

    def __init__(self, bindings: Bindings, now: Callable[[], datetime]) -> None:
        self._bindings = bindings
        self._now = now
        self._read: tuple[datetime, Sequence[Binding]] | None = None

    def __call__(self) -> Sequence[Binding]:
        """All of them."""
        now = self._now()
        if self._read is None or now - self._read[0] >= BELIEVED:
            self._read = now, self._bindings.all()
        return self._read[1]


def granted(bindings: Iterable[Binding], issuer: str | None, claims: Mapping[str, Any]) -> Granted | None:
    """The union of what fits, or None if nothing does; a human is who some binding says is one."""
    fitting = [(b, tuple(_grants(b, claims))) for b in bindings if b.fits(issuer, claims)]
    fitting = [(binding, grants) for binding, grants in fitting if grants]
    if not fitting:
        return None
    human = any(binding.kind is PrincipalKind.HUMAN for binding, _ in fitting)
    return Granted(
        kind=PrincipalKind.HUMAN if human else PrincipalKind.AGENT,
        grants=tuple(dict.fromkeys(grant for _, several in fitting for grant in several)),
        bindings=tuple(binding.id for binding, _ in fitting),
    )


def _grants(binding: Binding, claims: Mapping[str, Any]) -> Iterator[Grant]:
    for template in binding.grants:
        try:
            yield template.filled(claims)
        except InvalidScopeError:  # a claim that is no segment grants nothing
            continue


def role_claims(arn: str) -> dict[str, str] | None:
    """What a binding may ask and name of an IAM role: `arn`, `account`, `role`; None for anybody else.

    Users, the account itself and federated callers are nobody here.
    """
    match = _SESSION.fullmatch(arn)
    if match is None:
        return None
    partition, account, name = match.groups()
    return {"arn": f"arn:{partition}:iam::{account}:role/{name}", "account": account, "role": name}
