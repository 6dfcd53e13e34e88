"""Who calls, once that is known: what the authorizer tells the api λ."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from unsay_core.domain.scope import Principal
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Identity:
    """A principal with what its delegations hang on: a key (`root`), or the bindings that grant to it.

    `last_used` is the day a key was noted to be used last; None for what no such note is kept of.
    """

    principal: Principal
    expires_at: datetime | None = None
    root: str = ""
    bindings: tuple[str, ...] = ()
    last_used: str | None = None

    def to_context(self) -> dict[str, str]:
        """What the authorizer tells the api λ: texts alone, as every kind of gateway passes them on."""
        return {
            "principal": json.dumps(self.principal.to_json()),
            "expires_at": str(int(self.expires_at.timestamp())) if self.expires_at else "0",
            "root": self.root,
            "bindings": " ".join(self.bindings),
            **({} if self.last_used is None else {"last_used": self.last_used}),
        }

    @classmethod
    def from_context(cls, value: Mapping[str, Any]) -> Identity:
        """The inverse of `to_context`; an end is known to the second before it."""
        ends = int(value.get("expires_at") or 0)
        return cls(
            principal=Principal.from_json(json.loads(value["principal"])),
            expires_at=datetime.fromtimestamp(ends, UTC) if ends else None,
            root=value.get("root") or "",
            bindings=tuple((value.get("bindings") or "").split()),
            last_used=value.get("last_used"),
        )
