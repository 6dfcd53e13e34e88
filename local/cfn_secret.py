"""`AWS::SecretsManager::Secret` as CloudFormation makes it: `Ref` is the ARN, and the value is drawn well.

The emulator's `Ref` is the name, which no policy on an ARN matches; its values come from a seedable
generator and keep the punctuation a template excludes.
"""

from __future__ import annotations

import json
import secrets
import string
from typing import Any

from ministack.services.cloudformation import provisioners

PATCHES = {
    "ministack.services.cloudformation.provisioners": (
        "_RESOURCE_HANDLERS",
        "_sm_secret_create",
        "_sm_secret_update",
        "_sm_secret_delete",
        "_sm_secret_string",
    ),
}

_TYPE = "AWS::SecretsManager::Secret"
_DEFAULT_LENGTH = 32
_SUFFIX = 7  # an ARN ends in the name, a dash and six random characters
_ALPHABETS = {
    "ExcludeLowercase": string.ascii_lowercase,
    "ExcludeUppercase": string.ascii_uppercase,
    "ExcludeNumbers": string.digits,
    "ExcludePunctuation": string.punctuation,
}


def _name(arn: str) -> str:
    return arn.partition(":secret:")[2][:-_SUFFIX]


def _create(logical_id: str, properties: dict[str, Any], stack: str) -> tuple[str, dict[str, str]]:
    _, attributes = provisioners._sm_secret_create(logical_id, properties, stack)
    return attributes["Arn"], attributes


def _update(
    arn: str, old: dict[str, Any], new: dict[str, Any], stack: str, logical_id: str | None = None
) -> tuple[str, dict[str, str]]:
    # A secret without a name of its own keeps the one it was given; else it would count as renamed.
    kept = {"Name": _name(arn)}
    _, attributes = provisioners._sm_secret_update(_name(arn), kept | old, kept | new, stack, logical_id)
    return attributes["Arn"], attributes


def _delete(arn: str, properties: dict[str, Any]) -> None:
    provisioners._sm_secret_delete(_name(arn), properties)


def secret_string(properties: dict[str, Any]) -> str:
    """The value a template declares, or one drawn as its GenerateSecretString asks."""
    rules = properties.get("GenerateSecretString")
    if properties.get("SecretString") or not rules:
        return str(properties.get("SecretString", ""))
    excluded = set(rules.get("ExcludeCharacters", ""))
    alphabets = [letters for name, letters in _ALPHABETS.items() if not rules.get(name)]
    characters = [c for letters in alphabets for c in letters if c not in excluded]
    length = int(rules.get("PasswordLength", _DEFAULT_LENGTH))
    drawn = "".join(secrets.choice(characters) for _ in range(length))
    template = rules.get("SecretStringTemplate")
    return json.dumps(json.loads(template) | {rules["GenerateStringKey"]: drawn}) if template else drawn


def install() -> None:
    """Replace the emulator's handlers of the type."""
    provisioners._sm_secret_string = secret_string
    provisioners._RESOURCE_HANDLERS[_TYPE] |= {"create": _create, "update": _update, "delete": _delete}
