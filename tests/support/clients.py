"""AWS clients as tests need them."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

_one_at_a_time = threading.RLock()


class OneAtATime:
    """A client whose calls take turns: the in-process AWS copies its tables while others write to them.

    Callers still interleave between their calls, which is where races are lost and won.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._client, name)
        if not callable(member):
            return member

        def call(**given: Any) -> Any:
            with _one_at_a_time:
                return member(**given)

        return call


def count_calls(session: Any) -> Counter[str]:
    """A counter of the AWS calls that clients of a session make from now on, by `service.Operation`."""
    calls: Counter[str] = Counter()

    def count(model: Any, **_: Any) -> None:
        calls[f"{model.service_model.service_name}.{model.name}"] += 1

    session.events.register("before-call", count)
    return calls
