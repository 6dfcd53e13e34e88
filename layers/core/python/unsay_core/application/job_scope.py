"""The name of a scope that is known by its id alone: what background work opens it by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.ledger import HEAD
from unsay_core.domain.scope import Scope

if TYPE_CHECKING:
    from unsay_core.application.keys import Keyring
    from unsay_core.application.ports import Ledger


def named_by(ledger: Ledger, scope_id: str, keyring: Keyring) -> Scope | None:
    """The scope that a head names, held against the id under which it lies; None where none is named.

    Raises `ValueError` for a head that names another scope.
    """
    head = ledger.read([HEAD]).get(HEAD)
    if head is None or head.scope is None:
        return None
    scope = Scope.parse(head.scope)
    if keyring.scope_id(scope.canonical) != scope_id:
        raise ValueError("a head names another scope than the one it lies in")
    return scope
