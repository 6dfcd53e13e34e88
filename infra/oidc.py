"""The issuers whose tokens are taken, from the context: checked at synth, not at the first caller's token."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit


def oidc_setting(context: Any) -> str:
    """The setting of the λs for the context `oidc`: a list of `{"issuer", "audiences"}`, or JSON of one.

    Raises `ValueError` for an issuer that is not an https address, or that has no audience.
    """
    issuers = json.loads(context) if isinstance(context, str) else context or []
    if not isinstance(issuers, list):
        raise ValueError('oidc is a list of {"issuer": "https://…", "audiences": ["…"]}')
    return json.dumps([_checked(issuer) for issuer in issuers])


def _checked(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or value.keys() != {"issuer", "audiences"}:
        raise ValueError("an issuer of oidc has an issuer and audiences, and nothing else")
    address = urlsplit(value["issuer"])
    if address.scheme != "https" or not address.netloc or address.query or address.fragment:
        raise ValueError("the issuer of oidc is an https address without query and fragment")
    audiences = value["audiences"]
    if not isinstance(audiences, list) or not audiences or not all(map(_is_name, audiences)):
        raise ValueError("audiences of oidc is a list of at least one name")
    return {"issuer": value["issuer"], "audiences": audiences}


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
