"""A LangGraph store in one scope: `UnsayStore(memory, scope="acme/users/alice")`.

A namespace is the path of an item and a key is its key, so `("users:alice",)` and `("users", "alice")` are
two; every search stays within the scope, whatever prefix it names; and what is deleted is forgotten, with
a receipt.
"""

from __future__ import annotations

import asyncio
import logging
import math
import operator
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
    get_text_at_path,
    validate_op_namespace,
)

from unsay.client import blocking, every
from unsay.errors import ForgottenError, NotFoundError, UnsayError, problem
from unsay_core.contracts import exact_json
from unsay_core.domain.memory import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from langgraph.store.base import Op, Result, TTLConfig

    from unsay.client import Memory
    from unsay.verbs import Scope
    from unsay_core.contracts.schemas import MemoryOut, RecalledOut

_LOG = logging.getLogger(__name__)
_PAGE = 100
_BATCH_ITEMS = 25
_BATCH_BYTES = 192 * 1024  # of the 256 KiB that a request may have, its frame included
_BLANK_LINES = re.compile(r"\n\s*\n")
_CONTENT_BYTES = 16 * 1024
_QUERY_CHARACTERS = 2_000
_RANKED = 50
_READS_AT_ONCE = 8
# The service knows an instant of expiry and not the time to live that it came from.
_TTL = "langgraph.ttl_seconds"


def _now() -> datetime:
    return datetime.now(UTC)


class UnsayStore(BaseStore):
    """LangGraph's `BaseStore` on the items of one scope.

    `fields` are the paths of a value whose text a search with a query looks at, unless a put names its own
    `index`; `("$",)` is the whole value. `ttl` is LangGraph's own configuration, in minutes; what has expired
    is never returned. Deleting needs the `forget` action, and is audited with `forget_reason`.

    Blocking and awaited calls may be mixed, from any thread and any event loop: the store holds none.
    Whole numbers in values come back as `int`, others as `float`.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        scope: Scope,
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
        forget_reason: str = "user_request",
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._memory = blocking(memory)
        self._scope = scope
        self._fields = tuple(fields)
        self.ttl_config = ttl
        self._forget_reason = forget_reason
        self._clock = clock

    @property
    def scope(self) -> Scope:
        """Where everything lies."""
        return self._scope

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do all of them: reads see what was there before, and the last put of a key wins.

        Puts are kept one by one: if one is refused, its error is raised after the others were written.
        """
        asked = list(ops)
        for op in asked:
            validate_op_namespace(op)
        results = self._read_all(asked)
        self._write({(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}.values())
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch`, for an event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read_all(self, ops: Sequence[Op]) -> list[Result]:
        if sum(not isinstance(op, PutOp) for op in ops) < 2:
            return [self._read(op) for op in ops]
        with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
            return list(pool.map(self._read, ops))

    def _read(self, op: Op) -> Result:
        if isinstance(op, PutOp):
            return None
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise ValueError(f"not an operation of a store: {type(op).__name__}")

    def _get(self, op: GetOp) -> Item | None:
        found = self._at(op.namespace, op.key)
        if found is None:
            return None
        self._refresh([found], wanted=op.refresh_ttl)
        return Item(**_described(found))

    def _at(self, namespace: tuple[str, ...], key: str) -> MemoryOut | None:
        """What is at an address: a look-up, not a search."""
        found = self._memory.list(scope=self._scope, kind=Kind.ITEM, key=str(key), path=namespace)
        return next(iter(found.items), None)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        found = list(islice(self._matches(op), op.offset, op.offset + op.limit))
        self._refresh([memory for memory, _ in found], wanted=op.refresh_ttl)
        return [SearchItem(**_described(memory), score=score) for memory, score in found]

    def _matches(self, op: SearchOp) -> Iterator[tuple[MemoryOut, float | None]]:
        """The best first, then whatever else matches, in the order in which it was put.

        What was put without an index has no score, and what has nothing to do with the query scores nothing.
        """
        within = [{"under": ["path", [*op.namespace_prefix]]}] if op.namespace_prefix else []
        is_asked = bool(op.query and op.query.strip())
        # What does not pass may stand before what does.
        most = _RANKED if op.filter else min(_RANKED, max(1, op.offset + op.limit))
        ranked = self._ranked(op, within, most) if is_asked else []
        for hit in ranked:
            if _passes(hit.memory, op.filter):
                yield hit.memory, hit.score
        seen, is_all = {hit.memory.id for hit in ranked}, is_asked and len(ranked) < most
        for memory in self._all(within):
            if memory.id not in seen and _passes(memory, op.filter):
                yield memory, 0.0 if is_all and memory.content else None

    def _ranked(self, op: SearchOp, within: Sequence[Mapping[str, Any]], most: int) -> list[RecalledOut]:
        found = self._memory.recall(
            (op.query or "")[:_QUERY_CHARACTERS],
            scope=self._scope,
            kinds=[Kind.ITEM],
            limit=most,
            filter=_all_of([*within, *_narrowing(op.filter or {})]),
        )
        # What was put without an index has no words, and can only be as new as it is.
        return [hit for hit in found.items if hit.memory.content]

    def _all(self, within: Sequence[Mapping[str, Any]] = ()) -> Iterator[MemoryOut]:
        """Every item, in the order in which they were first put."""
        narrowed = _all_of(within)
        return every(
            self._memory.list, scope=self._scope, kind=Kind.ITEM, order="asc", limit=_PAGE, filter=narrowed
        )

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = {tuple(memory.path) for memory in self._all()}
        for condition in op.match_conditions or ():
            found = {namespace for namespace in found if _fits(namespace, condition)}
        return sorted({path[: op.max_depth] for path in found})[op.offset : op.offset + op.limit]

    def _write(self, puts: Iterable[PutOp]) -> None:
        stated = []
        for put in puts:
            if put.value is None:
                self._delete(put)
            else:
                stated.append(self._item(put, put.value))
        for items in _batches(stated):
            self._remember(items)

    def _remember(self, items: Sequence[Mapping[str, Any]]) -> None:
        if len(items) == 1:
            self._memory.remember(scope=self._scope, **items[0])
            return
        results = self._memory.remember_batch(items, scope=self._scope).results
        for refused in (result.problem for result in results if result.problem):
            raise problem(refused.status, refused.model_dump())

    def _item(self, put: PutOp, value: Mapping[str, Any]) -> dict[str, Any]:
        """What is sent of a put."""
        seconds = None if put.ttl is None else max(1, math.ceil(put.ttl * 60))
        return {
            "kind": Kind.ITEM.value,
            "path": [*put.namespace],
            "key": str(put.key),
            "data": dict(value),
            "content": self._text(value, put.index),
            "ttl_seconds": seconds,
            "metadata": {} if seconds is None else {_TTL: seconds},
        }

    def _text(self, value: Mapping[str, Any], index: Sequence[str] | bool | None) -> str:
        """The words that a query is compared with: a paragraph for each path, of which the best counts."""
        fields = self._fields if index is None or index is True else index or ()
        texts = [text for field in fields for text in get_text_at_path(value, field)]
        text = "\n\n".join(_BLANK_LINES.sub("\n", text).strip() for text in texts).strip()
        return text.encode()[:_CONTENT_BYTES].decode(errors="ignore").strip()

    def _delete(self, put: PutOp) -> None:
        found = self._at(put.namespace, put.key)
        if found is None:
            return
        try:
            self._memory.forget(found, reason=self._forget_reason)
        except (ForgottenError, NotFoundError):
            pass  # somebody else was faster

    def _refresh(self, read: Iterable[MemoryOut], *, wanted: bool) -> None:
        """Let what was read live on for its whole time to live."""
        if not wanted:
            return
        for memory in read:
            if not (seconds := memory.metadata.get(_TTL)):
                continue
            try:
                self._memory.edit(memory, expires_at=self._clock() + timedelta(seconds=int(seconds)))
            except UnsayError:
                # Written anew meanwhile, or by a reader who may not write: what was read was there.
                _LOG.debug("The time to live of %s was not refreshed.", memory.id)


def _described(memory: MemoryOut) -> dict[str, Any]:
    value = _plain(memory.data)
    return {
        "namespace": tuple(memory.path),
        "key": memory.key,
        # What another client has put there may be no object.
        "value": value if isinstance(value, dict) else {"content": memory.content, "data": value},
        "created_at": memory.recorded_at,
        "updated_at": memory.updated_at,
    }


def _plain(value: Any) -> Any:
    """A value as it was put: the client reads fractions as `Decimal`."""
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
    return float(value) if isinstance(value, Decimal) else value


def _batches(items: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """As many at once as a request may carry."""
    batch: list[dict[str, Any]] = []
    size = 0
    for item in items:
        own = len(exact_json.dumps(item).encode())
        if batch and (len(batch) == _BATCH_ITEMS or size + own > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += own
    if batch:
        yield batch


def _all_of(filters: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    if len(filters) > 1:
        return {"and": [*filters]}
    return filters[0] if filters else None


def _narrowing(wanted: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What the service can look for itself, so that one match among many is ranked: texts that are equal.

    It never leaves out what passes here, for its comparisons of text are the wider ones.
    """
    for field, value in wanted.items():
        equal = value["$eq"] if isinstance(value, dict) and value.keys() == {"$eq"} else value
        if isinstance(equal, str) and field.isidentifier():
            yield {"eq": [f"data.{field}", equal]}


def _passes(memory: MemoryOut, wanted: Mapping[str, Any] | None) -> bool:
    value = _described(memory)["value"]
    return all(_holds(value.get(field), expected) for field, expected in (wanted or {}).items())


def _holds(value: Any, expected: Any) -> bool:
    """Whether a filter's expectation holds of a value; an absent one is None, as in `InMemoryStore`."""
    if isinstance(expected, dict):
        if any(name.startswith("$") for name in expected):
            return all(_compared(value, operator, operand) for operator, operand in expected.items())
        return isinstance(value, dict) and all(_holds(value.get(n), e) for n, e in expected.items())
    if isinstance(expected, list | tuple):
        return isinstance(value, list) and len(value) == len(expected) and all(map(_holds, value, expected))
    return bool(value == expected)


_ORDERS: Mapping[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def _compared(value: Any, name: str, operand: Any) -> bool:
    """One operator; what is no number has no order, and raises what `InMemoryStore` raises."""
    if name in _ORDERS:
        return _ORDERS[name](float(value), float(operand))
    if name not in ("$eq", "$ne"):
        raise ValueError(f"an operator that filters do not have: {name}")
    return bool(value == operand) is (name == "$eq")


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    labels: Sequence[str] = condition.path
    if len(labels) > len(namespace):
        return False
    if condition.match_type == "prefix":
        part = namespace[: len(labels)]
    elif condition.match_type == "suffix":
        part = namespace[len(namespace) - len(labels) :]
    else:
        raise ValueError(f"neither prefix nor suffix: {condition.match_type}")
    return all(wanted in ("*", label) for label, wanted in zip(part, labels, strict=True))
