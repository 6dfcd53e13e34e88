"""The answers to one query, page by page: the one place that follows where DynamoDB says the next begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.domain.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def pages(ask: Callable[..., Any], query: dict[str, Any], what: str = "the ledger") -> Iterator[Any]:
    """Each answer until the last; of `query` the caller may change the `Limit` between two of them.

    A page that ends where one before it ended would be read for ever, with whoever waits for the last: it is
    an `UnavailableError`.
    """
    ends: set[str] = set()
    while True:
        with translated(what):
            answer = ask(**query)
        yield answer
        end = answer.get("LastEvaluatedKey")
        if end is None:
            return
        if repr(end) in ends:
            raise UnavailableError(f"{what} answers with the same page again and again")
        ends.add(repr(end))
        query["ExclusiveStartKey"] = end
