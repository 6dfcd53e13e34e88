"""What the endpoints need of a deployment, whichever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from unsay_core.application.ports import Door

if TYPE_CHECKING:
    from unsay_core.application.access import Keys, UseNotes
    from unsay_core.application.keys import Keyring
    from unsay_core.application.policies import Policies
    from unsay_core.application.ports import AuditScope, TransferScope, World
    from unsay_core.application.scopes import Registry
    from unsay_core.application.uploads import IntakeScope
    from unsay_core.domain.scope import Principal, Scope


class Service(Door, Protocol):
    """One deployment: its door to the scopes, and what lies outside of any."""

    @property
    def world(self) -> World:
        """Clock, ids, chance and threads."""

    @property
    def keyring(self) -> Keyring:
        """The deployment's keys."""

    @property
    def keys(self) -> Keys:
        """API keys."""

    @property
    def uses(self) -> UseNotes:
        """The days on which keys were used."""

    @property
    def registry(self) -> Registry:
        """The names of scopes."""

    @property
    def policies(self) -> Policies:
        """The policies of roots."""

    @property
    def has_backups(self) -> bool:
        """True if what was erased may stand in a backup for a time; receipts say so."""

    def check_tables(self) -> None:
        """Raise `UnavailableError` if the tables came from a backup that nobody has checked."""

    def open_audit(self, principal: Principal, scope: Scope) -> AuditScope:
        """Open a scope to be audited: as for reading, and with its anchors."""

    def open_intake(self, principal: Principal, scope: Scope) -> IntakeScope:
        """Open a scope to be written to, with the place where its files are handed in."""

    def open_transfer(self, principal: Principal, scope: Scope, *, reading: bool = False) -> TransferScope:
        """Open a scope to be exported or imported into, with the place of the files.

        `reading` is for looking at the jobs there are, whether or not any can be begun here.
        """
