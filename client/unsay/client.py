"""`Memory` and `AsyncMemory`: the verbs, asked over HTTPS or in this process."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from unsay import verbs
from unsay.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
    from types import TracebackType

    import httpx

    from unsay.asking import A, Ask
    from unsay.embedding import Choice, Extractor
    from unsay.signing import AwsAuth
    from unsay.transport import AsyncTransport, Transport

DEFAULT_TIMEOUT_SECONDS = 30.0

P = ParamSpec("P")
I_co = TypeVar("I_co", covariant=True)


class Page(Protocol[I_co]):
    """A page of anything; `next_cursor` leads to the next, None ends them."""

    @property
    def items(self) -> Sequence[I_co]:
        """What is on it."""

    @property
    def next_cursor(self) -> str | None:
        """Where it goes on."""


def connect(
    url: str,
    *,
    token: str | None = None,
    aws: AwsAuth | None = None,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    embedder: Choice = "packaged",
    extractor: Extractor | None = None,
    transport: httpx.BaseTransport | None = None,
) -> Memory:
    """The memory service at a URL, with an API key as the token; `timeout` in seconds. Nothing is sent yet.

    With `aws=unsay.AwsAuth()` in place of the key, requests are signed with AWS credentials.

    `sqlite:///memory.db` and `memory://` are a service in this process, which needs no key: with one, it
    does what that key may. Its `embedder` is the model of the extra `local`, if that is installed, one of
    your own, or None: then recall goes by words alone, and says so. Its `extractor` is a model of your own
    that finds what is worth remembering in conversations; without one a rule does.

    Raises `ValueError` for an `http://` URL of another machine, `StoreError` for a file that is no store.
    """
    if is_embedded(url):
        from unsay.embedded import InProcess

        _refuse_signing(aws)
        return Memory(InProcess(url, token, embedder, extractor))
    from unsay.https import Https

    _require_url(url)
    return Memory(Https(url, _one_of(token, aws), timeout=timeout, transport=transport))


def connect_async(
    url: str,
    *,
    token: str | None = None,
    aws: AwsAuth | None = None,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    embedder: Choice = "packaged",
    extractor: Extractor | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncMemory:
    """`connect`, for an event loop."""
    if is_embedded(url):
        from unsay.embedded import AsyncInProcess

        _refuse_signing(aws)
        return AsyncMemory(AsyncInProcess(url, token, embedder, extractor))
    from unsay.https import AsyncHttps

    _require_url(url)
    return AsyncMemory(AsyncHttps(url, _one_of(token, aws), timeout=timeout, transport=transport))


def is_embedded(url: str) -> bool:
    """True for a store in this process: no service, and no key that is needed."""
    return url.startswith(("sqlite:", "memory:"))


def blocking(memory: Memory) -> Memory:
    """The same; raises `TypeError` for an `AsyncMemory`, whose answers nobody would await."""
    if isinstance(memory, AsyncMemory):
        raise TypeError("pass what unsay.connect gives: it is never waited for on the event loop")
    return memory


def _require_url(url: str) -> None:
    if "://" not in url:
        raise ValueError(
            f"{url!r} is no URL: https://… is a service, sqlite:///memory.db a store of your own"
        )


def _refuse_signing(aws: AwsAuth | None) -> None:
    if aws is not None:
        raise ValueError("a store in this process sends nothing that AWS credentials could sign")


def _one_of(token: str | None, aws: AwsAuth | None) -> str | AwsAuth:
    credential = token if aws is None else aws
    if credential is None or (token is not None and aws is not None):
        raise ValueError("a service at a URL wants one credential: pass token=…, or aws=unsay.AwsAuth()")
    return credential


def _asked(verb: Callable[P, Ask[A]]) -> Callable[Concatenate[Memory, P], A]:
    @wraps(verb)
    def method(self: Memory, /, *given: P.args, **named: P.kwargs) -> A:
        return self.ask(verb(*given, **named))

    return method


def _awaited(verb: Callable[P, Ask[A]]) -> Callable[Concatenate[AsyncMemory, P], Awaitable[A]]:
    @wraps(verb)
    async def method(self: AsyncMemory, /, *given: P.args, **named: P.kwargs) -> A:
        return await self.ask(verb(*given, **named))

    return method


class Memory:
    """A memory service. Close it, or use it in a `with` statement; threads may share it.

    Every call names its scope, or takes it from the memory it is given. What goes wrong is an
    `unsay.UnsayError`; reads, and writes that carry an idempotency key, are repeated when the service is
    busy. Fractions in `data` and `metadata` come back as `Decimal`: `1.10` stays `1.10`.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<unsay.Memory {self._transport.url}>"

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._transport.url

    def close(self) -> None:
        """Give the connections back, or close the file."""
        self._is_closed = True
        self._transport.close()

    def sweep(self) -> None:
        """In a store of one's own: do what a crash left behind, drop what is over. A service does it."""
        self._open().sweep()

    def ask(self, ask: Ask[A]) -> A:
        """Put a question of `unsay.verbs`."""
        return self._open().send(ask)

    def _open(self) -> Transport:
        if self._is_closed:
            raise ClosedError
        return self._transport

    remember = _asked(verbs.remember)
    remember_batch = _asked(verbs.remember_batch)
    recall = _asked(verbs.recall)
    get = _asked(verbs.get)
    list = _asked(verbs.list)
    history = _asked(verbs.history)
    edit = _asked(verbs.edit)
    correct = _asked(verbs.correct)
    retract = _asked(verbs.retract)
    dispute = _asked(verbs.dispute)
    forget = _asked(verbs.forget)
    forget_all = _asked(verbs.forget_all)
    would_forget = _asked(verbs.would_forget)
    prune = _asked(verbs.prune)
    erasure = _asked(verbs.erasure)
    erasures = _asked(verbs.erasures)
    export = _asked(verbs.export)
    bring = _asked(verbs.bring)
    start_import = _asked(verbs.start_import)
    consolidate = _asked(verbs.consolidate)
    job = _asked(verbs.job)
    reviews = _asked(verbs.reviews)
    approve = _asked(verbs.approve)
    reject = _asked(verbs.reject)
    tombstones = _asked(verbs.tombstones)
    lift_tombstone = _asked(verbs.lift_tombstone)
    audit = _asked(verbs.audit)
    verify_audit = _asked(verbs.verify_audit)
    converse = _asked(verbs.converse)
    flush = _asked(verbs.flush)
    retry = _asked(verbs.retry)
    upload = _asked(verbs.upload)
    conversations = _asked(verbs.conversations)
    conversation = _asked(verbs.conversation)
    policy = _asked(verbs.policy)
    set_policy = _asked(verbs.set_policy)
    statistics = _asked(verbs.statistics)
    scopes = _asked(verbs.scopes)
    make_key = _asked(verbs.make_key)
    keys = _asked(verbs.keys)
    revoke_key = _asked(verbs.revoke_key)
    delegate = _asked(verbs.delegate)


class AsyncMemory:
    """`Memory` for an event loop: the same verbs, awaited."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<unsay.AsyncMemory {self._transport.url}>"

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Give the connections back, or close the file."""
        self._is_closed = True
        await self._transport.close()

    async def sweep(self) -> None:
        """As `Memory.sweep`."""
        await self._open().sweep()

    async def ask(self, ask: Ask[A]) -> A:
        """Put a question of `unsay.verbs`."""
        return await self._open().send(ask)

    def _open(self) -> AsyncTransport:
        if self._is_closed:
            raise ClosedError
        return self._transport

    remember = _awaited(verbs.remember)
    remember_batch = _awaited(verbs.remember_batch)
    recall = _awaited(verbs.recall)
    get = _awaited(verbs.get)
    list = _awaited(verbs.list)
    history = _awaited(verbs.history)
    edit = _awaited(verbs.edit)
    correct = _awaited(verbs.correct)
    retract = _awaited(verbs.retract)
    dispute = _awaited(verbs.dispute)
    forget = _awaited(verbs.forget)
    forget_all = _awaited(verbs.forget_all)
    would_forget = _awaited(verbs.would_forget)
    prune = _awaited(verbs.prune)
    erasure = _awaited(verbs.erasure)
    erasures = _awaited(verbs.erasures)
    export = _awaited(verbs.export)
    bring = _awaited(verbs.bring)
    start_import = _awaited(verbs.start_import)
    consolidate = _awaited(verbs.consolidate)
    job = _awaited(verbs.job)
    reviews = _awaited(verbs.reviews)
    approve = _awaited(verbs.approve)
    reject = _awaited(verbs.reject)
    tombstones = _awaited(verbs.tombstones)
    lift_tombstone = _awaited(verbs.lift_tombstone)
    audit = _awaited(verbs.audit)
    verify_audit = _awaited(verbs.verify_audit)
    converse = _awaited(verbs.converse)
    flush = _awaited(verbs.flush)
    retry = _awaited(verbs.retry)
    upload = _awaited(verbs.upload)
    conversations = _awaited(verbs.conversations)
    conversation = _awaited(verbs.conversation)
    policy = _awaited(verbs.policy)
    set_policy = _awaited(verbs.set_policy)
    statistics = _awaited(verbs.statistics)
    scopes = _awaited(verbs.scopes)
    make_key = _awaited(verbs.make_key)
    keys = _awaited(verbs.keys)
    revoke_key = _awaited(verbs.revoke_key)
    delegate = _awaited(verbs.delegate)


def every(page: Callable[P, Page[I_co]], *given: P.args, **named: P.kwargs) -> Iterator[I_co]:
    """Everything on all pages: `for memory in unsay.every(service.list, scope="acme/users/alice")`."""
    found = page(*given, **named)
    yield from found.items
    while found.next_cursor is not None:
        named["cursor"] = found.next_cursor
        found = page(*given, **named)
        yield from found.items


async def every_async(
    page: Callable[P, Awaitable[Page[I_co]]], *given: P.args, **named: P.kwargs
) -> AsyncIterator[I_co]:
    """`every`, for an event loop: `async for memory in unsay.every_async(service.list, scope=…)`."""
    found = await page(*given, **named)
    for item in found.items:
        yield item
    while found.next_cursor is not None:
        named["cursor"] = found.next_cursor
        found = await page(*given, **named)
        for item in found.items:
            yield item
