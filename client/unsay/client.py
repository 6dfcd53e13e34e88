"""`Memory`: remember, recall, correct and forget, over HTTPS."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from pydantic import ValidationError

from unsay.errors import UnexpectedAnswerError
from unsay.https import Https
from unsay_core.contracts.schemas import (
    Answer,
    ErasureOut,
    KeyOut,
    ListOut,
    MemoryOut,
    RecallOut,
    VerifyOut,
)

if TYPE_CHECKING:
    from types import TracebackType

    import httpx

DEFAULT_TIMEOUT_SECONDS = 30.0

Scope = str | Sequence[str]
"""`"acme/users/alice"`, or its segments: `["acme", "users", "a/b"]`."""
Instant = datetime | str
"""A time with an offset, as a `datetime` or in RFC 3339."""
A = TypeVar("A", bound=Answer)


class _Keep(Enum):
    KEEP = "keep"

    def __repr__(self) -> str:
        return self.name


KEEP: Final = _Keep.KEEP
"""In a correction: take this field over from the old memory. `None` clears it."""


def connect(
    url: str,
    *,
    token: str,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    transport: httpx.BaseTransport | None = None,
) -> Memory:
    """The memory service at a URL, with an API key as the token; `timeout` in seconds.

    Nothing is sent yet. Raises `ValueError` for an `http://` URL of another machine.
    """
    return Memory(Https(url, token, timeout=timeout, transport=transport))


class Memory:
    """A memory service. Close it, or use it in a `with` statement; threads may share it.

    Every call names its scope, or takes it from the memory it is given. What goes wrong is an
    `unsay.UnsayError`; reads, and writes that carry an idempotency key, are repeated when the service is
    busy. Fractions in `data` and `metadata` come back as `Decimal`: `1.10` stays `1.10`.
    """

    def __init__(self, https: Https) -> None:
        self._https = https

    def __repr__(self) -> str:
        return f"<unsay.Memory {self._https.url}>"

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self._https.close()

    def remember(
        self,
        content: str,
        *,
        scope: Scope,
        kind: str = "semantic",
        key: str | None = None,
        tags: Sequence[str] = (),
        importance: float = 0.5,
        data: Any = None,
        metadata: Mapping[str, Any] | None = None,
        valid_from: Instant | None = None,
        valid_to: Instant | None = None,
        expires_at: Instant | None = None,
        ttl_seconds: int | None = None,
        derived_from: Sequence[str] = (),
        run_id: str | None = None,
        message_seqs: Sequence[int] = (),
        quote: str | None = None,
        idempotency_key: str | None = None,
    ) -> MemoryOut:
        """Remember a fact. A duplicate of an active one answers with that one, `deduplicated`.

        `kind` is `semantic`, `episodic` or `procedural`; `key` names a slot that holds one active memory.
        Raises `TombstonedError` for a value that was taken back, `SecretRefusedError` for a credential.
        """
        body = {
            "scope": scope,
            "content": content,
            "kind": kind,
            "key": key,
            "tags": tags,
            "importance": importance,
            "data": data,
            "metadata": metadata or {},
            "valid_from": _instant(valid_from),
            "valid_to": _instant(valid_to),
            "expires_at": _instant(expires_at),
            "ttl_seconds": ttl_seconds,
            "derived_from": derived_from,
            "source": {"run_id": run_id, "message_seqs": message_seqs, "quote": quote},
        }
        return self._write(body, "memories", idempotency_key=idempotency_key)

    def get(self, memory: MemoryOut | str, *, scope: Scope | None = None) -> MemoryOut:
        """One memory as it is now, whatever its status; a forgotten one raises `NotFoundError`."""
        memory_id, where = _address(memory, scope)
        return _read(MemoryOut, self._get("memories", memory_id, query={"scope": where}))

    def list(
        self,
        *,
        scope: Scope,
        limit: int = 20,
        cursor: str | None = None,
        order: Literal["asc", "desc"] = "desc",
        status: str = "active",
        kind: str | None = None,
        tag: str | None = None,
        key: str | None = None,
        trust: str | None = None,
        run_id: str | None = None,
        valid_at: Instant | None = None,
    ) -> ListOut:
        """A page of memories, newest first. `next_cursor` leads to the next page; None ends the list."""
        query = {
            "scope": _canonical(scope),
            "limit": str(limit),
            "cursor": cursor,
            "order": order,
            "status": status,
            "kind": kind,
            "tag": tag,
            "key": key,
            "trust": trust,
            "run_id": run_id,
            "valid_at": _instant(valid_at),
        }
        return _read(ListOut, self._get("memories", query=query))

    def correct(
        self,
        memory: MemoryOut | str,
        content: str,
        *,
        because: str,
        scope: Scope | None = None,
        version: int | None = None,
        quote: str | None = None,
        note: str | None = None,
        kind: str | _Keep = KEEP,
        key: str | _Keep | None = KEEP,
        tags: Sequence[str] | _Keep = KEEP,
        importance: float | _Keep = KEEP,
        data: Any = KEEP,
        metadata: Mapping[str, Any] | _Keep = KEEP,
        valid_from: Instant | _Keep | None = KEEP,
        valid_to: Instant | _Keep | None = KEEP,
        expires_at: Instant | _Keep | None = KEEP,
        idempotency_key: str | None = None,
    ) -> MemoryOut:
        """Replace a memory, because the world `changed` or it was `wrong`; returns the new one.

        Only the version that was seen is replaced: the given memory's, or `version` where an id is given.
        Raises `VersionConflictError` when it has moved on, `TombstonedError` for a value that was taken
        back.
        """
        memory_id, where = _address(memory, scope)
        seen = memory.version if version is None and isinstance(memory, MemoryOut) else version
        body = {
            "content": content,
            "because": because,
            "quote": quote,
            "note": note,
            "kind": kind,
            "key": key,
            "tags": tags,
            "importance": importance,
            "data": data,
            "metadata": metadata,
            "valid_from": _instant(valid_from),
            "valid_to": _instant(valid_to),
            "expires_at": _instant(expires_at),
        }
        return self._write(
            {name: value for name, value in body.items() if value is not KEEP},
            "memories",
            memory_id,
            "correct",
            query={"scope": where},
            headers={} if seen is None else {"If-Match": f'"{seen}"'},
            idempotency_key=idempotency_key,
        )

    def forget(
        self,
        memory: MemoryOut | str,
        *,
        reason: str,
        scope: Scope | None = None,
        tombstone: Literal["value", "id"] = "value",
    ) -> ErasureOut:
        """Forget a memory and what it replaced; returns the receipt, `pending` until every store is clean.

        From the answer on no read returns it, and its value may not be written again (unless `tombstone`
        is `"id"`). `reason` is one of `unsay.Reason`. A second time raises `AlreadyForgottenError`.
        """
        memory_id, where = _address(memory, scope)
        query = {"scope": where, "reason": reason, "tombstone": tombstone}
        return _read(ErasureOut, self._https.send("DELETE", "memories", memory_id, query=query))

    def erasure(self, erasure_id: str, *, scope: Scope) -> ErasureOut:
        """The receipt of a forget, as it stands now."""
        return _read(ErasureOut, self._get("erasures", erasure_id, query={"scope": _canonical(scope)}))

    def recall(
        self,
        query: str,
        *,
        scope: Scope | None = None,
        scopes: Sequence[Scope] | None = None,
        limit: int = 5,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        min_trust: str | None = None,
        min_score: float | None = None,
        include: Sequence[Literal["candidate", "disputed"]] = (),
        valid_at: Instant | None = None,
        deadline_ms: int = 3_000,
    ) -> RecallOut:
        """The memories that answer a query best, in one scope or in up to eight `scopes`.

        `degraded` is true when a store was late or down; `reasons` then say which, and what the rest found
        is there.
        """
        body = {
            "scope": scope,
            "scopes": scopes,
            "query": query,
            "limit": limit,
            "kinds": kinds,
            "tags": tags,
            "min_trust": min_trust,
            "min_score": min_score,
            "include": include,
            "valid_at": _instant(valid_at),
            "deadline_ms": deadline_ms,
        }
        return _read(RecallOut, self._https.send("POST", "recall", body=body, repeatable=True))

    def verify_audit(self, *, scope: Scope, start: int = 1) -> VerifyOut:
        """Walk the audit chain of a scope from entry `start`; go on at `next` until it is `complete`."""
        query = {"scope": _canonical(scope), "from": str(start)}
        return _read(VerifyOut, self._get("audit", "verify", query=query))

    def make_key(
        self,
        name: str,
        *,
        kind: Literal["agent", "human"],
        grants: Mapping[str, Sequence[str]],
        expires_at: Instant | None = None,
    ) -> KeyOut:
        """Make an API key: `grants={"acme/users/*": ["read", "write"]}`. Its secret is shown this once."""
        body = {
            "name": name,
            "kind": kind,
            "grants": [{"scope": scope, "actions": actions} for scope, actions in grants.items()],
            "expires_at": _instant(expires_at),
        }
        # Not repeated: a second key with a secret that nobody has seen is worse than an error.
        return _read(KeyOut, self._https.send("POST", "keys", body=body))

    def _get(self, *path: str, query: Mapping[str, str | None]) -> Any:
        given = {name: value for name, value in query.items() if value is not None}
        return self._https.send("GET", *path, query=given, repeatable=True)

    def _write(
        self,
        body: Mapping[str, Any],
        *path: str,
        idempotency_key: str | None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> MemoryOut:
        idempotent = {**(headers or {}), "Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        answer = self._https.send("POST", *path, query=query, body=body, headers=idempotent, repeatable=True)
        return _read(MemoryOut, answer)


def _read(model: type[A], answer: object) -> A:
    try:
        return model.model_validate(answer)
    except ValidationError as error:
        fields = ", ".join(sorted({".".join(map(str, e["loc"])) for e in error.errors()})[:5])
    # Outside the except block, for the validation error quotes memory text.
    raise UnexpectedAnswerError(f"an answer that is not a {model.__name__}, in: {fields or 'all of it'}")


def _address(memory: MemoryOut | str, scope: Scope | None) -> tuple[str, str]:
    """A memory's id and scope."""
    if isinstance(memory, MemoryOut):
        return memory.id, memory.scope if scope is None else _canonical(scope)
    if scope is None:
        raise TypeError("an id does not say whose memory it is: pass scope=…")
    return memory, _canonical(scope)


def _canonical(scope: Scope) -> str:
    """The scope as one string; whether it is a valid one, the service decides."""
    if isinstance(scope, str):
        return scope
    return "/".join(segment.replace("%", "%25").replace("/", "%2F") for segment in scope)


def _instant(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
