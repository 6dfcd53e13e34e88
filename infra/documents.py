"""The bucket of plain JSON documents, one per memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs import Construct

from infra.checks import acknowledge
from infra.private_bucket import private_bucket

if TYPE_CHECKING:
    from infra.stage import Stage


class Documents(Construct):
    """`<sid>/memories/<id>.json`. Unversioned: a noncurrent version would outlive a forget."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.bucket = private_bucket(
            self,
            versioned=False,
            removal_policy=stage.removal,
        )
        acknowledge(
            self.bucket,
            "S1",
            "Only scope roles under a session tag reach it, and who changed what is in the audit chain. "
            "Access logs would be a second bucket that names every memory.",
        )
