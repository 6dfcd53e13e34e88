"""Commands on conversations: handed in, looked at, extracted; and the policy by which they are."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer
from rich.console import Console, Group
from rich.text import Text

import unsay
from unsay.cli import show
from unsay.cli.memories import CursorOption
from unsay.cli.session import JsonOption, LimitOption, ScopeOption, Session, answer
from unsay_core.contracts import exact_json
from unsay_core.contracts.base import DEPTH
from unsay_core.domain.errors import InvalidRequestError

app = typer.Typer()
conversations = typer.Typer(help="What was said, and what came of it.", no_args_is_help=True)
policy = typer.Typer(help="How the conversations below a root are extracted.", no_args_is_help=True)
app.add_typer(conversations, name="conversation")
app.add_typer(policy, name="policy")

AT_ONCE = 50  # messages in one request
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The conversation, as you call it.")]
RootOption = Annotated[
    str | None, typer.Option("--root", help="The first segment of the scopes; else that of your scope.")
]


@app.command()
def converse(
    context: typer.Context,
    run_id: RunArgument,
    file: Annotated[
        typer.FileText | None, typer.Argument(help="Messages, one in JSON a line; - is the standard input.")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", "-u", help="Or what the user says next.")] = None,
    assistant: Annotated[str | None, typer.Option(help="And what the assistant answers.")] = None,
    flush: Annotated[bool, typer.Option("--flush", help="Extract at once what waits.")] = False,
    scope: ScopeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hand in what was said; facts of it are remembered. Each message is kept once, however often it is sent.

    Example: unsay converse run-1 --user "I live in Lisbon." --flush --scope acme/users/alice
    """
    session: Session = context.obj
    where = session.scope(scope)
    messages = _read(file) if file is not None else _next(session, run_id, where, user, assistant)
    if not messages:
        raise typer.BadParameter("name a file of messages, or say something with --user")
    found = _handed_in(session, run_id, messages, where, flush=flush)
    answer(found, _progress(found), wants_json=as_json)


@conversations.command("list")
def list_conversations(
    context: typer.Context,
    scope: ScopeOption = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the conversations of a scope.

    Example: unsay conversation list --scope acme/users/alice
    """
    session: Session = context.obj
    page = session.memory.conversations(scope=session.scope(scope), limit=limit, cursor=cursor)
    rows = ((r.run_id, r.message_count, r.last_at, r.extracted_through, r.failed or "") for r in page.items)
    columns = ("run", "messages", "last", "extracted through", "failed")
    answer(page, show.table(columns, rows, more=page.next_cursor), wants_json=as_json)


@conversations.command("show")
def show_conversation(
    context: typer.Context,
    run_id: RunArgument,
    scope: ScopeOption = None,
    limit: LimitOption = 100,
    cursor: CursorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was said, and what became of it.

    Example: unsay conversation show run-1 --scope acme/users/alice
    """
    session: Session = context.obj
    found = session.memory.conversation(run_id, scope=session.scope(scope), limit=limit, cursor=cursor)
    answer(found, _conversation(found), wants_json=as_json)


@conversations.command("flush")
def flush_conversation(
    context: typer.Context, run_id: RunArgument, scope: ScopeOption = None, as_json: JsonOption = False
) -> None:
    """Extract what waits, without waiting for more.

    Example: unsay conversation flush run-1 --scope acme/users/alice
    """
    session: Session = context.obj
    found = session.memory.flush(run_id, scope=session.scope(scope))
    answer(found, _progress(found), wants_json=as_json)


@conversations.command("retry")
def retry_conversation(
    context: typer.Context, run_id: RunArgument, scope: ScopeOption = None, as_json: JsonOption = False
) -> None:
    """Try what failed to be extracted again.

    Example: unsay conversation retry run-1 --scope acme/users/alice
    """
    session: Session = context.obj
    found = session.memory.retry(run_id, scope=session.scope(scope))
    answer(found, _progress(found), wants_json=as_json)


@policy.command("show")
def show_policy(context: typer.Context, root: RootOption = None, as_json: JsonOption = False) -> None:
    """Show how the conversations below a root are extracted.

    Example: unsay policy show --root acme
    """
    session: Session = context.obj
    found = session.memory.policy(scope=_root(session, root))
    answer(found, _policy(found), wants_json=as_json)


@policy.command("set")
def set_policy(
    context: typer.Context,
    root: RootOption = None,
    extraction: Annotated[
        Literal["auto", "review", "off"] | None,
        typer.Option(help="Believed at once, after review, or never."),
    ] = None,
    user_turns: Annotated[int | None, typer.Option(help="Extract after so many of the user's turns.")] = None,
    keep: Annotated[str | None, typer.Option(help="What to keep, in your words.")] = None,
    never_keep: Annotated[str | None, typer.Option(help="What never to keep.")] = None,
    daily_tokens: Annotated[int | None, typer.Option(help="What the model may cost in a day.")] = None,
    memories: Annotated[int | None, typer.Option(help="How many memories a scope may believe.")] = None,
    bytes_: Annotated[int | None, typer.Option("--bytes", help="How many bytes of them.")] = None,
    messages_per_day: Annotated[int | None, typer.Option(help="How many messages a scope may take.")] = None,
    requests_per_minute: Annotated[int | None, typer.Option(help="How much a caller may ask.")] = None,
    merge_days: Annotated[int | None, typer.Option(help="Merge near duplicates so often; 0: never.")] = None,
    merged_text: Annotated[
        Literal["longest", "model"] | None, typer.Option(help="Who words what is merged.")
    ] = None,
    memories_days: Annotated[int | None, typer.Option(help="Keep memories so long; 0: for ever.")] = None,
    messages_days: Annotated[int | None, typer.Option(help="Keep messages so long; 0: for ever.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Change how the conversations below a root are extracted, and its quotas; what is not named stays.

    Example: unsay policy set --root acme --extraction review --never-keep "Anything about health."
    """
    session: Session = context.obj
    where = _root(session, root)
    now = session.memory.policy(scope=where)
    merging = now.consolidation.model_dump()
    said = session.memory.set_policy(
        scope=where,
        extraction=extraction or now.extraction.value,
        secrets=now.secrets,
        cadence=now.cadence | _given(user_turns=user_turns),
        instructions=now.instructions | _given(keep=keep, never_keep=never_keep),
        budget=now.budget | _given(daily_tokens=daily_tokens),
        quotas=now.quotas
        | _given(
            memories=memories,
            bytes=bytes_,
            messages_per_day=messages_per_day,
            requests_per_minute=requests_per_minute,
        ),
        consolidation=merging | _days(every_days=merge_days) | _given(text=merged_text),
        retention=now.retention | _days(memories_days=memories_days, messages_days=messages_days),
    )
    answer(said, _policy(said), wants_json=as_json)


def _days(**values: int | None) -> dict[str, int | None]:
    """What was given; nobody writes "never" as a number of days but as 0."""
    return {name: days or None for name, days in values.items() if days is not None}


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _root(session: Session, given: str | None) -> str:
    return given or session.scope(None).partition("/")[0]


def _read(file: typer.FileText) -> list[dict[str, Any]]:
    """The messages of a file, one a line."""
    found = []
    for number, line in enumerate(filter(str.strip, file), 1):
        try:
            message = exact_json.loads(line, max_depth=DEPTH)
        except InvalidRequestError:
            message = None
        if not isinstance(message, dict):
            raise typer.BadParameter(f"line {number} is not a message in JSON", param_hint="FILE")
        found.append(message)
    return found


def _next(
    session: Session, run_id: str, scope: str, user: str | None, assistant: str | None
) -> list[dict[str, Any]]:
    """What was just said, under the numbers that follow."""
    said = [(role, text) for role, text in (("user", user), ("assistant", assistant)) if text is not None]
    try:
        start = session.memory.conversation(run_id, scope=scope, limit=1).high_water + 1
    except unsay.NotFoundError:
        start = 0
    return [{"seq": start + at, "role": role, "content": text} for at, (role, text) in enumerate(said)]


def _handed_in(
    session: Session, run_id: str, messages: list[dict[str, Any]], scope: str, *, flush: bool
) -> unsay.RecordedOut:
    """All of them, in as many requests as it takes; counted together."""
    accepted = duplicates = 0
    with Console(stderr=True).status("handing in …") as status:
        for start in range(0, len(messages), AT_ONCE):
            status.update(f"handing in … {start} of {len(messages)}")
            part = messages[start : start + AT_ONCE]
            is_last = start + AT_ONCE >= len(messages)
            found = session.memory.converse(run_id, part, scope=scope, flush=flush and is_last)
            accepted, duplicates = accepted + found.accepted, duplicates + found.duplicates
    return found.model_copy(update={"accepted": accepted, "duplicates": duplicates})


def _progress(found: unsay.RecordedOut | unsay.HandedOut) -> Text:
    kept = (
        f"{found.accepted} kept, {found.duplicates} known; " if isinstance(found, unsay.RecordedOut) else ""
    )
    state = found.extraction
    return Text(f"{kept}extraction is {state.state}: {state.waiting} wait, batches {len(state.batches)}")


def _conversation(found: unsay.ConversationOut) -> Group:
    said = ((m.seq, m.role, m.name, m.content if isinstance(m.content, str) else "…") for m in found.messages)
    batches = (
        (b.id, f"{b.from_seq}-{b.to_seq}", b.state, ", ".join(b.created), b.error) for b in found.batches
    )
    return Group(
        show.table(("seq", "role", "name", "said"), said, more=found.next_cursor),
        Text(),
        show.table(("batch", "messages", "state", "made", "because"), batches),
    )


def _policy(found: unsay.PolicyOut) -> Any:
    merging = {f"merge_{name}": value for name, value in found.consolidation.model_dump().items()}
    asked = {**found.cadence, **found.instructions, **found.budget, **found.quotas}
    parts = {**asked, **merging, **found.retention}
    rows = [("extraction", found.extraction), *((name, value) for name, value in parts.items())]
    return show.table(("", ""), rows)
