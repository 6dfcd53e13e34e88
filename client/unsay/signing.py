"""Requests signed with AWS credentials, for callers that have a role and no key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unsay.signer import Signer

SIGNED = "/iam"  # what the paths of signed requests begin with
_REGION = re.compile(r"\.execute-api\.([a-z0-9-]+)\.")


@dataclass(frozen=True, slots=True)
class AwsAuth:
    """AWS credentials in place of a key: those of a profile, else whatever the AWS SDKs find by themselves.

    The Region is the one in the service's URL; a domain of one's own wants it named, or set in the profile.
    Needs the extra: `pip install 'unsay[aws]'`.
    """

    profile: str | None = None
    region: str | None = None

    def signer(self, url: str) -> Signer:
        """What signs requests to a service; raises `ValueError` where credentials or Region are missing."""
        try:
            from botocore.exceptions import ProfileNotFound
            from botocore.session import Session

            from unsay.signer import Signer
        except ModuleNotFoundError as missing:
            raise ValueError(
                "signing with AWS credentials needs the extra: pip install 'unsay[aws]'"
            ) from missing
        session = Session(profile=self.profile)
        try:
            credentials = session.get_credentials()
            found = _REGION.search(url)
            region = self.region or (found[1] if found else session.get_config_variable("region"))
        except ProfileNotFound:
            raise ValueError(f"there is no AWS profile {self.profile!r}") from None
        if credentials is None:
            raise ValueError("no AWS credentials were found")
        if not region:
            raise ValueError("the URL names no AWS Region: pass AwsAuth(region=…)")
        return Signer(credentials, region)
