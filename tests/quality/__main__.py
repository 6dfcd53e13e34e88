"""`make quality`: how well recall finds, through the whole product in this process; no AWS, no network.

One table, and `build/quality.json` to compare runs. Our own dialogues always; with `LOCOMO=…`, a path, the
conversations of a file in the form of LoCoMo, too.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from contextlib import contextmanager, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "api")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "true")
os.environ.setdefault("POWERTOOLS_METRICS_NAMESPACE", "unsay")

from tests.quality.conversations import locomo, ours
from tests.quality.measures import Answers
from tests.quality.product import Product, Told
from tests.support.stack import ROOT
from unsay_core.adapters.sqlite.file import LedgerFile
from unsay_core.adapters.sqlite.ledger import SqliteLedger

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.quality.conversations import Conversation

OUTPUT = ROOT / "build" / "quality"
COLUMNS = ("questions", "recall@5", "recall@10", "mrr", "without an answer", "told apart", "replaced shown")
WAYS = ("words and meaning", "words alone", "words and meaning, SQLite")


@contextmanager
def _products() -> Iterator[dict[str, Product]]:
    """A product on each ledger."""
    with tempfile.TemporaryDirectory() as folder:
        file = LedgerFile(Path(folder) / "quality.db")
        yield {"memory": Product(), "sqlite": Product(lambda scope_id: SqliteLedger(file, scope_id))}
        file.close()


def _asked(conversation: Conversation) -> dict[str, Answers]:
    """One conversation, asked in every way; the service's metrics, which go to the output, are swallowed."""
    with _products() as products, redirect_stdout(io.StringIO()):
        told = {name: Told(product, conversation) for name, product in products.items()}
        whole = Answers.of(conversation, told["memory"])
        products["memory"].is_down = True
        without = Answers.of(conversation, told["memory"])
        return dict(zip(WAYS, (whole, without, Answers.of(conversation, told["sqlite"])), strict=True))


def _rows(name: str, conversations: Iterator[Conversation]) -> Iterator[dict[str, Any]]:
    """The figures of each conversation of a set, and of all together."""
    found: dict[str, list[Answers]] = {way: [] for way in WAYS}
    for conversation in conversations:
        print(f"asking about {name}/{conversation.name} …", file=sys.stderr)
        for way, answers in _asked(conversation).items():
            found[way].append(answers)
            yield {"data": f"{name}/{conversation.name}", "by": way, **answers.figures()}
    for way, several in found.items():
        yield {"data": name, "by": way, **Answers.together(several).figures()}


def as_markdown(rows: Sequence[dict[str, Any]]) -> str:
    """The table."""
    lines = [f"| data | by | {' | '.join(COLUMNS)} |", "|---|---|" + "---:|" * len(COLUMNS)]
    for row in rows:
        shown = ["" if row[name] is None else f"{row[name]:g}" for name in COLUMNS]
        lines.append(f"| {row['data']} | {row['by']} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, show, keep."""
    rows = list(_rows("ours", ours()))
    if given := os.environ.get("LOCOMO"):
        rows += _rows("locomo", locomo(Path(given)))
    OUTPUT.parent.mkdir(exist_ok=True)
    run = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "rows": rows}
    OUTPUT.with_suffix(".json").write_text(json.dumps(run, indent=1) + "\n")
    OUTPUT.with_suffix(".md").write_text(as_markdown(rows) + "\n")
    print(as_markdown(rows))


if __name__ == "__main__":
    main()
