"""Calls that are given up on when they take too long, whatever they hang on.

The calls run on threads of their own and belong to no event loop: a loop that ends, as one does after every
turn of a blocking agent, waits for none of them.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")
_CALLS = ThreadPoolExecutor(32, thread_name_prefix="unsay-call")


def within(seconds: float, call: Callable[[], R]) -> R:
    """What a call returns; raises `TimeoutError` when it has not by then."""
    return _begun(call).result(seconds)


async def awaited_within(seconds: float, call: Callable[[], R]) -> R:
    """`within`, for an event loop, which goes on meanwhile."""
    return await asyncio.wait_for(asyncio.wrap_future(_begun(call)), seconds)


def _begun(call: Callable[[], R]) -> Future[R]:
    return _CALLS.submit(copy_context().run, call)
