"""A receipt as a file: with the stretch of the audit chain that proves it, to be checked without the service.

The entry that records a forget binds who asked, when and why, and everything before it. The stretch leads
from there to an entry that is anchored where no role of the service can change it; the anchor's own name
holds the hash, so whoever may list that bucket needs nobody's word.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from unsay.errors import ForbiddenError
from unsay_core.contracts import exact_json
from unsay_core.domain.audit import AuditEntry, Before, Event, Happening, entry_hash

if TYPE_CHECKING:
    from unsay.client import Memory
    from unsay_core.contracts.schemas import AuditOut, ErasureOut, VerifyOut

FORMAT = "unsay-receipt/1"
MOST_ENTRIES = 2_000  # of a stretch; an anchor follows within minutes
EMBEDDED = re.compile(r'<script type="application/json" id="receipt">(.*?)</script>', re.DOTALL)
_ANCHOR = re.compile(r"[/:]([0-9]{12})-([0-9a-f]{64})$")


class ReceiptError(Exception):
    """A receipt that does not hold; the message says where."""


@dataclass(frozen=True)
class Checked:
    """What a receipt proves by itself: which entry it rests on, and the anchor that is to be looked up."""

    erasure_id: str
    entry: int
    entries: int
    anchor: str | None


def receipt_of(memory: Memory, erasure_id: str, scope: str) -> dict[str, Any]:
    """The receipt with its proof, as JSON; without one where the caller may not read the audit."""
    found = memory.erasure(erasure_id, scope=scope)
    document: dict[str, Any] = {"format": FORMAT, "scope": scope, "receipt": _plain(found)}
    try:
        chain = memory.verify_audit(scope=scope, start=max(1, found.audit_seq))
    except ForbiddenError:
        return {**document, "chain": None}
    return {**document, "chain": _stretch(memory, found, chain, scope)}


def _stretch(memory: Memory, found: ErasureOut, chain: VerifyOut, scope: str) -> dict[str, Any]:
    anchored = chain.anchored if chain.anchored and chain.anchored.seq >= found.audit_seq else None
    last = anchored.seq if anchored else found.audit_seq
    entries: list[dict[str, Any]] = []
    while len(entries) < min(MOST_ENTRIES, last - found.audit_seq + 1):
        page: AuditOut = memory.audit(scope=scope, after=found.audit_seq - 1 + len(entries), limit=100)
        if not page.items:
            break
        entries += [_plain(event) for event in page.items]
    return {
        "entries": entries[: last - found.audit_seq + 1],
        "anchor": _plain(anchored) if anchored else None,
        "length": chain.length,
    }


def _plain(answer: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(answer.model_dump_json(by_alias=True)))


def read_receipt(text: str) -> dict[str, Any]:
    """The receipt in a file, be it JSON or the page that was printed; raises `ReceiptError`."""
    embedded = EMBEDDED.search(text)
    try:
        document = exact_json.loads_stored(embedded[1] if embedded else text)
    except ValueError:
        raise ReceiptError("this file holds no receipt") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ReceiptError("this file holds no receipt")
    return document


def check(document: dict[str, Any]) -> Checked:
    """Follow the chain from the entry of the forget to the anchor; raises `ReceiptError` where it breaks."""
    receipt, chain = document["receipt"], document.get("chain")
    if chain is None:
        raise ReceiptError("it was made without a look at the audit, and proves nothing by itself")
    try:
        entries = [_entry(event) for event in chain["entries"]]
    except (KeyError, TypeError, ValueError):
        raise ReceiptError("an entry of the chain is not one") from None
    if not entries:
        raise ReceiptError("it has no entry of the chain")
    _check_links(entries)
    _check_entry(receipt, entries[0])
    return Checked(receipt["id"], entries[0].seq, len(entries), _anchored(chain["anchor"], entries[-1]))


def _check_links(entries: list[AuditEntry]) -> None:
    for at, entry in enumerate(entries):
        if entry_hash(entry) != entry.hash:
            raise ReceiptError(f"entry {entry.seq} is not what its hash says")
        if at and (entry.prev, entry.seq) != (entries[at - 1].hash, entries[at - 1].seq + 1):
            raise ReceiptError(f"entry {entry.seq} does not follow the one before it")


def _check_entry(receipt: dict[str, Any], entry: AuditEntry) -> None:
    """The receipt says nothing of its entry that the entry does not say."""
    happening = entry.happening
    said = (receipt["id"], receipt["audit_seq"], receipt["digest"], receipt["reason"], receipt["actor"])
    if said != (happening.erasure_id, entry.seq, entry.hash, happening.reason, entry.actor):
        raise ReceiptError(f"the receipt is not the one that entry {entry.seq} records")


def _anchored(anchor: dict[str, Any] | None, last: AuditEntry) -> str | None:
    """Where the anchor of the last entry lies; None if it had none yet."""
    if anchor is None:
        return None
    named = _ANCHOR.search(str(anchor["location"]))
    if named is None or (int(named[1]), named[2]) != (last.seq, last.hash):
        raise ReceiptError(f"the anchor is not that of entry {last.seq}")
    return str(anchor["location"])


def _entry(event: dict[str, Any]) -> AuditEntry:
    happening = Happening(
        event=Event(event["event"]),
        memory_id=event["memory_id"],
        version=event["version"],
        commitment=event["commitment"],
        related=tuple(event["related"]),
        reason=event["reason"],
        note_digest=event["note_digest"],
        erasure_id=event["erasure_id"],
        tombstone=event["tombstone"],
        before=tuple(Before(each["memory_id"], each["seq"]) for each in event["before"]),
        channel=event["channel"],
    )
    at = datetime.fromisoformat(event["at"].replace("Z", "+00:00"))
    return AuditEntry(
        event["seq"], at, event["actor"], happening, event["prev"], event["hash"], event["schema"]
    )
