"""Faults on demand: what is slow, wrong or down at the moment, and the names they are set by.

Kept in memory alone: a restart heals everything.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from local import operations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class FaultError(ValueError):
    """A fault that does not exist, or a value it cannot take; the message names it."""


@dataclass(frozen=True)
class Faults:
    """The faults in force. A default means healthy."""

    kb_lag_seconds: float | None = None
    """Seconds until the knowledge base applies a document; None leaves it its own lag."""
    kb_ignore_filters: bool = False
    kb_drop_deletes: bool = False
    kb_keep_answering: bool = False
    """A deleted document is NOT_FOUND, and a search answers with it all the same."""
    delay_seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds to hold a call back, by `service.Operation` as boto3 names them."""
    down: tuple[str, ...] = ()
    """The boto3 services every call of which is answered 503."""
    kb_fail_ids: tuple[str, ...] = ()
    """The documents whose ingestion ends as FAILED."""
    throttle: Mapping[str, float] = field(default_factory=dict)
    """The share of an operation's calls that is refused for being too many."""
    conflict: float = 0.0
    """The share of DynamoDB's write transactions that is cancelled as if another were under way."""
    commit_then_timeout: Mapping[str, float] = field(default_factory=dict)
    """The share of an operation's calls that is carried out and never answered."""
    converse_replies: tuple[Mapping[str, Any], ...] = ()
    """What the model answers, one after the other: `input` of the tool, `text`, `stop`, or a `status`."""
    alarms_ahead_seconds: float = 0.0
    """By how much alarms look ahead, to see one clear without waiting for its periods to pass."""

    @property
    def strike_calls(self) -> bool:
        """Whether any call can meet a fault before or after it is carried out."""
        return bool(
            self.down or self.delay_seconds or self.throttle or self.conflict or self.commit_then_timeout
        )

    def as_json(self) -> dict[str, Any]:
        """The faults as the control URL shows and takes them."""
        return asdict(self) | {"down": list(self.down), "kb_fail_ids": list(self.kb_fail_ids)}


_state = Faults()


def current() -> Faults:
    """The faults in force now."""
    return _state


def change(values: Mapping[str, Any]) -> Faults:
    """Set the named faults, leave the others; null heals one. Raises FaultError and changes nothing."""
    global _state  # noqa: PLW0603 - the one place this state changes
    unknown = sorted(set(values) - set(_PARSERS))
    if unknown:
        raise FaultError(f"unknown fault: {', '.join(unknown)} (known: {', '.join(_PARSERS)})")
    healthy = Faults()
    _state = replace(
        _state,
        **{
            name: getattr(healthy, name) if value is None else _PARSERS[name](name, value)
            for name, value in values.items()
        },
    )
    return _state


def clear() -> Faults:
    """Heal everything."""
    global _state  # noqa: PLW0603 - the one place this state changes
    _state = Faults()
    return _state


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise FaultError(f"{name}: not a number of seconds: {value!r}")
    return float(value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise FaultError(f"{name}: not true or false: {value!r}")
    return value


def _operation(name: str, value: Any) -> str:
    service, _, operation = str(value).partition(".")
    if operation not in operations.operations(service):
        raise FaultError(f"{name}: no such operation: {value!r} (as in 'dynamodb.GetItem')")
    return str(value)


def _delays(name: str, value: Any) -> dict[str, float]:
    if not isinstance(value, dict):
        raise FaultError(f"{name}: not a map of operation to seconds: {value!r}")
    return {_operation(name, key): _seconds(f"{name}.{key}", seconds) for key, seconds in value.items()}


def _share(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise FaultError(f"{name}: not a share from 0 to 1: {value!r}")
    return float(value)


def _shares(name: str, value: Any) -> dict[str, float]:
    if not isinstance(value, dict):
        raise FaultError(f"{name}: not a map of operation to share: {value!r}")
    return {_operation(name, key): _share(f"{name}.{key}", share) for key, share in value.items()}


def _replies(name: str, value: Any) -> tuple[Mapping[str, Any], ...]:
    known = {"when", "input", "text", "stop", "status", "code"}
    if not isinstance(value, list):
        raise FaultError(f"{name}: not a list of replies: {value!r}")
    wrong = [reply for reply in value if not isinstance(reply, dict) or not set(reply) <= known]
    if wrong:
        raise FaultError(f"{name}: a reply has {', '.join(sorted(known))}: {wrong[0]!r}")
    return tuple(value)


def _identifiers(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise FaultError(f"{name}: not a list of document ids: {value!r}")
    wrong = [identifier for identifier in value if not isinstance(identifier, str) or not identifier]
    if wrong:
        raise FaultError(f"{name}: not a document id: {wrong[0]!r}")
    return tuple(value)


def _services(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise FaultError(f"{name}: not a list of services: {value!r}")
    unknown = [service for service in value if service not in operations.services()]
    if unknown:
        raise FaultError(f"{name}: no such service: {unknown[0]!r} (as in 'dynamodb')")
    return tuple(value)


_PARSERS: dict[str, Callable[[str, Any], Any]] = {
    "kb_lag_seconds": _seconds,
    "kb_ignore_filters": _flag,
    "kb_drop_deletes": _flag,
    "kb_keep_answering": _flag,
    "delay_seconds": _delays,
    "down": _services,
    "kb_fail_ids": _identifiers,
    "throttle": _shares,
    "conflict": _share,
    "commit_then_timeout": _shares,
    "converse_replies": _replies,
    "alarms_ahead_seconds": _seconds,
}
