"""The whole service in this process, as the clients of hosts meet it."""

from __future__ import annotations

import os

for _name, _value in (("SERVICE_NAME", "api"), ("TRACE_DISABLED", "true"), ("METRICS_NAMESPACE", "unsay")):
    os.environ.setdefault(f"POWERTOOLS_{_name}", _value)

import unsay  # noqa: E402 the λs read the environment when they are imported
from tests.support.http import Caller, transport_to  # noqa: E402

SCOPE = "acme/users/alice"
URL = "https://x.example"


def connected(caller: Caller) -> unsay.Memory:
    """The client of a caller."""
    return unsay.connect(URL, token="t", transport=transport_to(caller))


def connected_as(caller: Caller, credential: str) -> unsay.Memory:
    """The client of whoever holds a credential."""
    found = caller.service.authenticator.bearer(credential)
    assert found is not None
    return connected(caller.identified({"lambda": found.to_context()}))
