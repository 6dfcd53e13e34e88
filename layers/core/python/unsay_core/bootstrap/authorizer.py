"""The authorizer on AWS: it finds out who calls, and opens nothing."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from botocore.config import Config

from unsay_core.adapters.dynamodb.access import DynamoKeys
from unsay_core.adapters.dynamodb.bindings import DynamoBindings
from unsay_core.application.authenticate import Authenticator
from unsay_core.bootstrap.aws import Authenticating, read_secret
from unsay_core.settings import NO_EDGE

if TYPE_CHECKING:
    from unsay_core.settings import AuthorizerSettings

# The gateway gives the authorizer ten seconds, and answers 500 beyond them.
SWIFT = Config(connect_timeout=1, read_timeout=2, retries={"total_max_attempts": 2, "mode": "standard"})


class AuthorizerService(Authenticating):
    """What the authorizer λ needs: keys, read under its own role, and the pepper they are hashed with."""

    def __init__(self, settings: AuthorizerSettings, **given: Any) -> None:
        super().__init__(settings, **given)
        self.settings = settings

    @cached_property
    def authenticator(self) -> Authenticator:
        """Who calls. Nothing is kept between calls: the gateway keeps each answer for a minute."""
        client = self.session.client("dynamodb", config=SWIFT)
        keys = DynamoKeys(lambda: client, self.settings.access_table)
        bindings = DynamoBindings(lambda: client, self.settings.access_table)
        return Authenticator(keys, bindings.all, self.tokens, self.keyring, self.world.clock.now)

    @cached_property
    def edge_secret(self) -> str | None:
        """What requests bring that came through the distribution; None where there is none before the API."""
        arn = self.settings.edge_secret_arn
        return None if arn == NO_EDGE else read_secret(self.session, arn)
