"""Where a command goes and as whom: flags over environment over the profile in the configuration file."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

PRIVATE = 0o600
DEFAULT_PROFILE = "default"
AUTO = "auto"  # in place of a profile of AWS


class ProfileError(Exception):
    """The configuration cannot be used; says what to do about it."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A service, a credential for it, and the scope that is meant when none is named.

    `aws` is a credential, too: a profile of the AWS configuration, or `auto` for what the AWS SDKs find.
    """

    url: str | None = None
    token: str | None = None
    scope: str | None = None
    aws: str | None = None

    def over(self, other: Profile) -> Profile:
        """This one, and the other's where this one is silent; who names a credential names it whole."""
        if self.token or self.aws:
            other = replace(other, token=None, aws=None)
        return replace(other, **{name: value for name, value in asdict(self).items() if value is not None})


def from_environment(environment: Mapping[str, str]) -> Profile:
    """What `UNSAY_URL`, `UNSAY_TOKEN`, `UNSAY_AWS` and `UNSAY_SCOPE` say; an empty one says nothing."""
    return Profile(**{f.name: environment.get(f"UNSAY_{f.name.upper()}") or None for f in fields(Profile)})


class ProfileFile:
    """The configuration file: a JSON object of profiles, readable by its owner alone."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or Path(typer.get_app_dir("unsay")) / "config.json"

    def names(self) -> list[str]:
        """The profiles there are."""
        return sorted(self._read())

    def profile(self, name: str) -> Profile:
        """One of them; the default one need not exist. Raises `ProfileError`."""
        found = self._read()
        if name not in found and name != DEFAULT_PROFILE:
            raise ProfileError(f"no profile {name!r} in {self.path}: make it with `unsay config set`")
        return Profile(**found.get(name, {}))

    def save(self, name: str, profile: Profile) -> None:
        """Keep a profile under a name."""
        everything = {**self._read(), name: {k: v for k, v in asdict(profile).items() if v is not None}}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Born private: a file that is made first and protected then is readable for a moment.
        beside = self.path.with_suffix(".new")
        beside.unlink(missing_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "w") as file:
            json.dump(everything, file, indent=2)
        beside.replace(self.path)

    def _read(self) -> dict[str, dict[str, str]]:
        if not self.path.exists():
            return {}
        if os.name == "posix" and self.path.stat().st_mode & 0o077:
            raise ProfileError(f"{self.path} holds a token and others may read it: chmod 600 it")
        try:
            found = json.loads(self.path.read_text())
            return {name: asdict(Profile(**profile)) for name, profile in found.items()}
        except (ValueError, TypeError, AttributeError):
            raise ProfileError(
                f"{self.path} is not an object of profiles with url, token, scope, aws"
            ) from None
