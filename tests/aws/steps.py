"""What the kit tries in an account, each step by itself: what it found, in words and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.aws.account import Account
from tests.aws.cost import cost

SENTENCE = "The heron on the north pier sleeps at noon."
QUESTION = "When does the heron sleep?"
NEIGHBOUR = "A neighbour lives across the street."


@dataclass(frozen=True)
class Finding:
    """An answer of the account to one question; `ok` is None where there is no right one."""

    question: str
    answer: str
    ok: bool | None = None


@dataclass(frozen=True)
class Pair:
    """Two scopes of one root, and a memory that is in the first."""

    first: str
    second: str
    memory_id: str


def scope_pair(account: Account, run: str) -> Iterator[Finding | Pair]:
    """Write in A, wait until it is indexed, find it in A, and not in B."""
    first, second = f"kit-{run}/a", f"kit-{run}/b"
    for scope, content in ((second, NEIGHBOUR), (first, SENTENCE)):
        memory = account.call("POST", "/v1/memories", json={"scope": scope, "content": content})
    memory_id = memory["id"]
    at_once = recalled(account, first)
    yield Finding("found in its scope at once", f"{len(at_once)} hits", memory_id in at_once)
    where = {"params": {"scope": first}}

    def is_indexed() -> bool:
        return bool(account.call("GET", f"/v1/memories/{memory_id}", **where)["index"]["state"] == "indexed")

    _, seconds = account.until(is_indexed)
    yield Finding("seconds from 201 to indexed", f"{seconds:.1f}", True)
    yield Finding("found in its scope once indexed", "recall", memory_id in recalled(account, first))
    others = {*recalled(account, second), *recalled(account, second, NEIGHBOUR)}
    is_absent = bool(others) and memory_id not in others
    yield Finding("absent in the other scope", f"{len(others)} hit of its own", is_absent)
    if account.knowledge_base:
        yield from _proposed(account, first, second, memory_id)
    yield Pair(first, second, memory_id)


def _proposed(account: Account, first: str, second: str, memory_id: str) -> Iterator[Finding]:
    """The same of the index by itself, which the service does not rely on."""
    own, seconds = account.until(lambda: memory_id in account.retrieved(QUESTION, under(account, first)))
    yield Finding("retrievable under its scope's filter", f"after another {seconds:.1f} s", own)
    foreign = account.retrieved(QUESTION, under(account, second))
    yield Finding("not under the other scope's filter", f"{len(foreign)} hits", memory_id not in foreign)


def deletion(account: Account, pair: Pair) -> Iterator[Finding]:
    """Forget it, and watch it leave: the answer, the document, the index, the receipt."""
    asked = {"scope": pair.first, "reason": "test"}
    receipt = account.call("DELETE", f"/v1/memories/{pair.memory_id}", params=asked)
    yield Finding(
        "gone from recall with the 202", "recall", pair.memory_id not in recalled(account, pair.first)
    )
    if account.knowledge_base:
        seen: list[str] = []

        def is_not_found() -> bool:
            status = account.document_status(pair.memory_id)
            if status not in seen:
                seen.append(status)
            return status == "NOT_FOUND"

        _, seconds = account.until(is_not_found)
        yield Finding("1. status after a delete", " → ".join(seen), True)
        yield Finding("1. seconds from 202 to NOT_FOUND", f"{seconds:.1f}", True)
        gone = under(account, pair.first)
        _, seconds = account.until(lambda: pair.memory_id not in account.retrieved(QUESTION, gone))
        yield Finding("1. seconds more to unretrievable", f"{seconds:.1f}", True)

    def is_complete() -> bool:
        found = account.call("GET", f"/v1/erasures/{receipt['id']}", params={"scope": pair.first})
        return bool(found["state"] == "complete")

    _, seconds = account.until(is_complete)
    yield Finding("seconds more to a complete receipt", f"{seconds:.1f}", True)
    verified = account.call("GET", "/v1/audit/verify", params={"scope": pair.first})
    yield Finding("the audit chain verifies, anchored", str(bool(verified["anchored"])), verified["ok"])


def operators(account: Account, pair: Pair) -> Iterator[Finding]:
    """`in` and `listContains` on this store: applied, refused, or ignored in silence."""
    if not account.knowledge_base:
        return
    own, other = account.scope_id(pair.first), account.scope_id(pair.second)
    for operator, value in (("in", [other]), ("listContains", other), ("startsWith", other[:10])):
        hits = account.retrieved(NEIGHBOUR, {operator: {"key": "scope", "value": value}})
        kept = account.retrieved(NEIGHBOUR, {"equals": {"key": "scope", "value": own}})
        yield Finding(f"2. `{operator}` over the scope", f"{len(hits)} hits, `equals`: {len(kept)}")


def quotas(account: Account) -> Iterator[Finding]:
    """Today's quotas of knowledge bases, as the account has them."""
    client = account.session.client("service-quotas")
    pages = client.get_paginator("list_service_quotas").paginate(ServiceCode="bedrock")
    for quota in (each for page in pages for each in page["Quotas"]):
        if any(word in quota["QuotaName"] for word in ("Retrieve", "KnowledgeBaseDocuments", "ingest")):
            yield Finding(f"3. {quota['QuotaName']}", f"{quota['Value']:g}")


def prices(account: Account) -> Iterator[Finding]:
    """What the price list says of managed knowledge bases."""
    client = account.session.client("pricing", region_name="us-east-1")
    pages = client.get_paginator("get_products").paginate(ServiceCode="AmazonBedrock")
    listed = [text for page in pages for text in page["PriceList"] if "nowledge" in text]
    yield Finding("4. products of the price list that name a knowledge base", str(len(listed)))
    for text in listed[:5]:
        yield Finding("4. one of them", text[:300])


def collections(account: Account) -> Iterator[Finding]:
    """Which stores a knowledge base takes, and what a collection is made with, by this SDK's models."""
    stores = _members(account, "bedrock-agent", "CreateKnowledgeBase", "storageConfiguration")
    yield Finding("5. stores behind a knowledge base", ", ".join(stores))
    asked = account.session.client("opensearchserverless").meta.service_model
    members = list(asked.operation_model("CreateCollection").input_shape.members)
    yield Finding("5. what a collection is created with", ", ".join(members))
    yield Finding("5. a NEXTGEN collection behind one", "not tried: it costs by the hour")


def _members(account: Account, service: str, operation: str, member: str) -> list[str]:
    model = account.session.client(service).meta.service_model.operation_model(operation)
    shape = model.input_shape.members[member].members["type"]
    return list(shape.enum)


def scoped_credentials(account: Account) -> Iterator[Finding]:
    """Which permission `sts:GetScopedCredentials` wants, if this SDK knows the call."""
    client = account.session.client("sts")
    if not hasattr(client, "get_scoped_credentials"):
        yield Finding("6. sts:GetScopedCredentials", "this boto3 does not know it")
        return
    policy = '{"Version": "2012-10-17", "Statement": []}'
    answer = client.get_scoped_credentials(Policy=policy)
    yield Finding("6. sts:GetScopedCredentials", f"answered with {sorted(answer)}")


def spent(account: Account) -> Iterator[Finding]:
    """What the run cost, as far as meters tell at once; the bill has the rest a day later."""
    for what, dollars in cost(account.session, account.stack.outputs, account.begun).items():
        yield Finding(f"cost of the run: {what}", f"${dollars:.6f}")


OPEN: dict[str, Callable[[Account], Iterator[Finding]]] = {
    "3. quotas": quotas,
    "4. price of managed knowledge bases": prices,
    "5. collections": collections,
    "6. scoped credentials": scoped_credentials,
    "cost": spent,
}


def tried(name: str, step: Iterator[Finding | Pair]) -> Iterator[Finding | Pair]:
    """A step to its end; what stops it is a finding like the others."""
    for _ in count():
        try:
            found = next(step)
        except StopIteration:
            return
        except Exception as stopped:  # noqa: BLE001 - whatever an account answers is what the kit is to find
            yield Finding(name, f"stopped: {type(stopped).__name__}: {str(stopped)[:200]}", _is_ours(name))
            return
        yield found


def _is_ours(name: str) -> bool | None:
    """What the service promises must not stop; a question about AWS may have any answer."""
    return None if name in OPEN or name.startswith("2.") else False


def recalled(account: Account, scope: str, query: str = QUESTION) -> list[str]:
    """The ids that a recall of a scope finds."""
    body = {"scope": scope, "query": query, "limit": 10}
    items: Any = account.call("POST", "/v1/recall", json=body)["items"]
    return [item["memory"]["id"] for item in items]


def under(account: Account, scope: str) -> dict[str, Any]:
    """The filter by which the service asks the index."""
    return {"equals": {"key": "scope", "value": account.scope_id(scope)}}
