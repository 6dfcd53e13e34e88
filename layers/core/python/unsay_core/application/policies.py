"""The policies of roots: who may see and set them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from unsay_core.domain.errors import ForbiddenError, InvalidRequestError
from unsay_core.domain.scope import Action, ScopePattern

if TYPE_CHECKING:
    from unsay_core.domain.scope import Principal, Scope
    from unsay_core.extraction.steering import Steering


class Policies(Protocol):
    """Where the policies of roots are kept."""

    def of(self, root: str) -> Steering:
        """The policy of a root; the default, if nobody has set one."""

    def put(self, root: str, steering: Steering) -> None:
        """Set a root's policy."""


def root_policy(principal: Principal, scope: Scope, policies: Policies) -> Steering:
    """A root's policy, for its admins; raises `ForbiddenError`, `InvalidRequestError`."""
    return policies.of(_root(principal, scope))


def set_policy(principal: Principal, scope: Scope, steering: Steering, policies: Policies) -> Steering:
    """Set a root's policy as its admin."""
    policies.put(_root(principal, scope), steering)
    return steering


def _root(principal: Principal, scope: Scope) -> str:
    """The root, if the principal administers all that is below it: that is what its policy governs."""
    if len(scope.segments) != 1:
        raise InvalidRequestError.at("scope", "a policy is a root's: name the first segment alone")
    everything = ScopePattern.parse(f"{scope.canonical}/*")
    if not any(Action.ADMIN in own.actions and own.pattern.contains(everything) for own in principal.grants):
        raise ForbiddenError("only an admin of everything below this root may do that")
    return scope.segments[0]
