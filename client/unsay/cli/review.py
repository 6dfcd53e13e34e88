"""`unsay review`: a person looks at what waits, one after the other."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.prompt import Prompt

import unsay
from unsay.cli import show
from unsay.cli.session import JsonOption, LimitOption, ScopeOption, Session, answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unsay_core.contracts.schemas import ReviewItemOut

NEAR = 3  # believed memories shown beside one that waits
_HELP = "[b]a[/b]pprove · [b]r[/b]eject · [b]s[/b]kip · [b]u[/b]ndo · [b]q[/b]uit"


@dataclass(frozen=True)
class _Decision:
    """What a person said about one memory; None for a skip."""

    memory: ReviewItemOut
    approved: bool | None
    reason: str = ""


def review(
    context: typer.Context,
    scope: ScopeOption = None,
    state: Annotated[
        Literal["candidate", "disputed"], typer.Option(help="What is new, or what somebody doubts.")
    ] = "candidate",
    limit: LimitOption = 20,
    as_json: JsonOption = False,
) -> None:
    """Approve or reject what waits for a person; in a pipe, list it.

    A decision is sent when the next one is made, so that `u` can take it back until then.

    Example: unsay review --scope acme/users/alice --state disputed
    """
    session: Session = context.obj
    page = session.memory.reviews(scope=session.scope(scope), state=state, limit=limit)
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()) or not page.items:
        answer(page, show.table(("id",), ()), wants_json=as_json)
        return
    _Sitting(session.memory, Console()).hold(page.items)


class _Sitting:
    """One person's pass over a page of what waits."""

    def __init__(self, memory: unsay.Memory, console: Console) -> None:
        self._memory, self._console = memory, console
        self._made: _Decision | None = None

    def hold(self, items: list[ReviewItemOut]) -> None:
        """Ask about each; what was decided last is sent at the end."""
        at = 0
        while at < len(items):
            said = self._ask(items[at], at + 1, len(items))
            if said == "q":
                break
            if said == "u":
                at -= self._take_back()
                continue
            self._send()
            self._made = self._decision(items[at], said)
            at += 1
        self._send()

    def _ask(self, item: ReviewItemOut, number: int, total: int) -> str:
        self._console.print(show.memory(item), f"{number} of {total}: waits because of", *_why(item))
        for content in self._near(item):
            self._console.print(f"beside it: {show.visible(content)}", markup=False, highlight=False)
        self._console.print(_HELP)
        said = ""
        while said not in tuple("arsuq"):
            said = typer.getchar()[:1].lower()
        return said

    def _near(self, item: ReviewItemOut) -> Iterator[str]:
        """What is believed nearest to it, as far as this person may read it."""
        for memory_id in item.nearest[:NEAR]:
            try:
                yield self._memory.get(memory_id, scope=item.scope).content
            except (unsay.ForbiddenError, unsay.NotFoundError):
                continue

    def _decision(self, item: ReviewItemOut, said: str) -> _Decision:
        if said != "r":
            return _Decision(item, True if said == "a" else None)
        reasons = [str(reason) for reason in unsay.Reason]
        return _Decision(item, False, Prompt.ask("Why", choices=reasons, default="incorrect"))

    def _take_back(self) -> int:
        """How far to step back: to the decision that is not sent yet, if there is one."""
        if self._made is None:
            self._console.print("there is nothing to take back", style="yellow")
            return 0
        self._made = None
        return 1

    def _send(self) -> None:
        made, self._made = self._made, None
        if made is None or made.approved is None:
            return
        try:
            if made.approved:
                self._memory.approve(made.memory)
            else:
                self._memory.reject(made.memory, reason=made.reason)
        except (unsay.VersionConflictError, unsay.WrongStatusError, unsay.TombstonedError) as refused:
            self._console.print(f"{made.memory.id}: {refused.detail}", style="red", markup=False)
        else:
            verdict = "approved" if made.approved else "rejected"
            self._console.print(f"{made.memory.id}: {verdict}", style="green", markup=False)


def _why(item: ReviewItemOut) -> list[str]:
    return item.review.reasons if item.review else []
