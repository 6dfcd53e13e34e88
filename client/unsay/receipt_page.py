"""A receipt on one page, for people: HTML that prints on a sheet, with the proof inside it.

No library makes a PDF here: every browser prints this page to one, and what is checked is the JSON within.
"""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_ROWS = 24  # of one table; a sheet has an end, and the JSON has them all

_STYLE = """
@page { size: A4; margin: 16mm }
body { font: 10.5pt/1.45 system-ui, sans-serif; color: #1a1a1a; max-width: 178mm; margin: 1.5em auto }
h1 { font-size: 17pt; margin: 0 } h2 { font-size: 11.5pt; margin: 1.3em 0 .3em }
p { margin: .3em 0 } .state { font-weight: 600 }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .22em .6em .22em 0; border-bottom: 1px solid #ccc }
th { font-weight: 600; color: #555 } code { font: 9pt ui-monospace, monospace; overflow-wrap: anywhere }
footer { margin-top: 1.4em; color: #555; font-size: 9pt }
@media print { body { margin: 0 } tr { break-inside: avoid } }
"""


def page(document: dict[str, Any]) -> str:
    """The page of a receipt with its proof."""
    receipt = document["receipt"]
    title = f"Receipt of an erasure · {receipt['id']}"
    embedded = json.dumps(document, ensure_ascii=False).replace("<", "\\u003c")
    parts = [
        f"<h1>{'Erased' if receipt['state'] == 'complete' else 'Being erased'}</h1>",
        f'<p class="state">{_state(receipt)}</p>',
        _facts(_asked(document)),
        "<h2>What was done</h2>",
        _facts(_done(receipt)),
        "<h2>Store by store</h2>",
        _table(("store", "state", "proof", "until"), map(_store, receipt["stores"])),
    ]
    if receipt["cascade"]:
        rows = ((each["id"], each["why"], each["outcome"]) for each in receipt["cascade"])
        parts += ["<h2>What went along</h2>", _table(("memory", "why", "outcome"), rows)]
    parts += ["<h2>Where it is recorded</h2>", _facts(_recorded(document))]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n<footer>Check this file without the service: <code>unsay audit verify --receipt FILE</code>. "
        "It holds ids and digests, and no word of what was erased.</footer>\n"
        f'<script type="application/json" id="receipt">{embedded}</script>\n</body></html>\n'
    )


def _state(receipt: dict[str, Any]) -> str:
    if receipt["completed_at"]:
        return f"Complete since {_instant(receipt['completed_at'])}: every store below was looked into."
    return "Pending: unreadable since it was asked for; not every store is proven empty yet."


def _asked(document: dict[str, Any]) -> Iterable[tuple[str, str]]:
    receipt = document["receipt"]
    yield "receipt", receipt["id"]
    yield "scope", document["scope"]
    yield "asked for", json.dumps(receipt["selector"], ensure_ascii=False)
    yield "reason", receipt["reason"]
    yield "by", receipt["actor"]
    yield "at", _instant(receipt["requested_at"])


def _done(receipt: dict[str, Any]) -> Iterable[tuple[str, str]]:
    yield "memories that matched", str(receipt["matched"])
    yield "memories erased", str(receipt["erased"])
    yield "tombstones set, so that they do not come back", str(receipt["tombstones"])


def _store(store: dict[str, Any]) -> tuple[str, str, str, str]:
    until = _instant(store["until"]) if store["until"] else ""
    return store["store"], store["state"], store["proof"] or "", until


def _recorded(document: dict[str, Any]) -> Iterable[tuple[str, str]]:
    receipt, chain = document["receipt"], document["chain"]
    yield "audit entry", str(receipt["audit_seq"])
    yield "its hash", receipt["digest"]
    if chain is None:
        yield "chain", "not part of this receipt: whoever made it may not read the audit"
        return
    anchor = chain["anchor"]
    if anchor is None:
        yield "anchor", "not yet; it follows within minutes"
        return
    yield "anchored with entry", str(anchor["seq"])
    yield "anchored at", _instant(anchor["at"])
    yield "anchor", anchor["location"]


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{_cell(value)}</td></tr>" for name, value in facts)
    return f"<table>{rows}</table>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    found = [f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in rows]
    more = len(found) - MOST_ROWS
    found[MOST_ROWS:] = [f'<tr><td colspan="{len(head)}">and {more} more</td></tr>'] if more > 0 else []
    titles = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f"<table><tr>{titles}</tr>{''.join(found)}</table>"


def _cell(value: str) -> str:
    long = len(value) > 30 and " " not in value
    return f"<code>{escape(value)}</code>" if long else escape(value)


def _instant(value: str) -> str:
    return f"{value[:10]} {value[11:19]} UTC"
