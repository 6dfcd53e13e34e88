"""Probes for a neighbour's memory: what a caller of one scope tries with all it could know of another.

Every scope holds near-identical memories; each carries a marker of its own. A probe leaks if its answer shows
a marker, an id or a name that is another scope's and that neither the request nor what it stored before says.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from unsay_core.domain.scope import Action, Grant, Principal, PrincipalKind, ScopePattern

# Neighbours in every way a comparison could go wrong: prefixes, case, look-alikes, separators, escapes.
SCOPES = (
    "acme",
    "acme-corp",
    "acme-corp/users/a",
    "acme/users",
    "acme/users/a",
    "acme/users/a/b",
    "acme/users/ab",
    "acme/users/a%2Fb",
    "acme/users/a%25b",
    "acme/users/a#M",
    "acme/users/A",
    "acme/users/á",
    "acme/users/а",  # Cyrillic
    "acme/users/a b",
    "acme/users/a:b",
    "acme/users/a.b",
    "acme/user/s/a",
    "Acme/users/a",
    "acm/e/users/a",
    "acme/users/**",
)
MEMORIES = 50
NO_ID, NOBODY = "0" * 26, "nobody/was/ever/here"

_MARKER = re.compile(r"zq\d{2}x\d{2,3}")
_ID = re.compile(r"(?:mem|era)_[0-9a-hjkmnp-tv-z]{26}")


@dataclass(frozen=True)
class Request:
    """What is sent, by whom."""

    who: Principal
    method: str
    path: str
    query: str = ""
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def said(self) -> str:
        """Everything the request itself says."""
        return json.dumps([self.path, self.query, self.body], ensure_ascii=False)


@dataclass(frozen=True)
class Reply:
    """What came back: status, body and headers as one text."""

    status: int
    text: str
    headers: str = ""


Send = Callable[[Request], Reply]


@dataclass(frozen=True)
class Finding:
    """One way in which an answer was wrong."""

    probe: str
    what: str


def text_of(number: int, at: int, among: int = MEMORIES) -> str:
    """A memory that differs from all others in its marker alone."""
    return f"The parcel of marker zq{number:02d}x{at % among:02d} waits in the hall at noon."


def reader_of(number: int) -> Principal:
    """Who may do everything in one scope, and nothing elsewhere."""
    grant = Grant(ScopePattern.parse(SCOPES[number]), frozenset(Action))
    return Principal(f"key_{number}", PrincipalKind.HUMAN, (grant,))


@dataclass
class Neighbours:
    """The scopes as they were filled, and everything of each that another might try."""

    send: Send
    scopes: int = len(SCOPES)
    memories: int = MEMORIES
    principal_of: Callable[[int], Principal] = reader_of
    ids: list[list[str]] = field(default_factory=list)
    cursors: list[str] = field(default_factory=list)
    erasures: list[str] = field(default_factory=list)
    graves: list[str] = field(default_factory=list)
    owner: dict[str, int] = field(default_factory=dict)
    told: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))

    def fill(self) -> None:
        """Write what each scope holds: its memories, one of them forgotten again."""
        for number in range(self.scopes):
            texts = [text_of(number, at) for at in range(self.memories)]
            items = [
                {"content": t, "tags": [f"tag{number}"], "key": f"slot{at}"} for at, t in enumerate(texts)
            ]
            made: list[str] = []
            for at in range(0, len(items), 25):
                body = {"scope": SCOPES[number], "items": items[at : at + 25]}
                answer = self._done(number, "POST", "/v1/memories/batch", body=body)
                made += [result["memory"]["id"] for result in answer["results"]]
            self.ids.append(made)
            gone = self._done(number, "POST", "/v1/memories", body=self._extra(number))["id"]
            where = f"{self.where(number)}&reason=test"
            self.erasures.append(self._done(number, "DELETE", f"/v1/memories/{gone}", where)["id"])
            graves = self._done(number, "GET", "/v1/tombstones", self.where(number))["items"]
            self.graves.append(next(g["id"] for g in graves if g["kind"] == "value"))
            page = self._done(number, "GET", "/v1/memories", f"{self.where(number)}&limit=5")
            self.cursors.append(page["next_cursor"])
            self.owner |= dict.fromkeys([*made, gone, self.erasures[-1]], number)

    def _extra(self, number: int) -> dict[str, Any]:
        return {"scope": SCOPES[number], "content": f"The parcel zq{number:02d}x999 is gone."}

    def where(self, number: int) -> str:
        return f"scope={quote(SCOPES[number], safe='')}"

    def _done(self, number: int, method: str, path: str, query: str = "", body: Any = None) -> Any:
        reply = self.send(Request(self.principal_of(number), method, path, query, body))
        assert reply.status < 300, (path, reply.status, reply.text)
        return json.loads(reply.text)

    def contents(self, number: int) -> Counter[str]:
        """Everything a scope shows to its owner, page by page."""
        found: Counter[str] = Counter()
        cursor = ""
        while True:
            query = f"{self.where(number)}&limit=100" + (f"&cursor={cursor}" if cursor else "")
            page = self._done(number, "GET", "/v1/memories", query)
            found.update(item["content"] for item in page["items"])
            cursor = page["next_cursor"]
            if not cursor:
                return found


Made = tuple[str, str, Any]  # method, path and query, body; what each probe is made of
IN_MINE = {200, 201}
ELSEWHERE = {400, 403, 404}
IF_MATCH = {"if_match": '"1"'}


def probes(n: Neighbours, mine: int, other: int, at: int) -> dict[str, tuple[set[int], Made]]:
    """By name: the statuses that are right, and the request. `mine` is open, `other` is the neighbour's."""
    here, there = n.where(mine), n.where(other)
    theirs, prompt = n.ids[other][at], text_of(other, at)
    me, them = SCOPES[mine], SCOPES[other]
    reason = {"reason": "test"}
    act: dict[str, tuple[str, str, Any]] = {
        "get": ("GET", "", None),
        "history": ("GET", "/history", None),
        "edit": ("PATCH", "", {"tags": ["x"]}),
        "correct": ("POST", "/correct", {"content": "x", "because": "wrong"}),
        "retract": ("POST", "/retract", reason),
        "dispute": ("POST", "/dispute", reason),
    }
    found: dict[str, tuple[set[int], Made]] = {}
    for verb, (method, tail, body) in act.items():
        found[f"{verb} an id of theirs in mine"] = (
            {404},
            (method, f"/v1/memories/{theirs}{tail}?{here}", body),
        )
        found[f"{verb} in theirs"] = {403}, (method, f"/v1/memories/{theirs}{tail}?{there}", body)
    found |= {
        "forget an id of theirs": ({404}, ("DELETE", f"/v1/memories/{theirs}?{here}&reason=test", None)),
        "forget in theirs": ({403}, ("DELETE", f"/v1/memories/{theirs}?{there}&reason=test", None)),
        "list theirs": ({403}, ("GET", f"/v1/memories?{there}", None)),
        "list with their cursor": (
            {400},
            ("GET", f"/v1/memories?{here}&limit=5&cursor={n.cursors[other]}", None),
        ),
        "list by their tag": (IN_MINE, ("GET", f"/v1/memories?{here}&tag=tag{other}", None)),
        "list mine and theirs": ({400}, ("GET", f"/v1/memories?{here}&{there}", None)),
        "list mine": (IN_MINE, ("GET", f"/v1/memories?{here}&limit=7", None)),
        "decide a review of theirs": (
            {404},
            ("POST", f"/v1/reviews/{theirs}?{here}", {"decision": "approve"}),
        ),
        "their receipt": ({404}, ("GET", f"/v1/erasures/{n.erasures[other]}?{here}", None)),
        "their receipt in theirs": ({403}, ("GET", f"/v1/erasures/{n.erasures[other]}?{there}", None)),
        "lift their tombstone": ({404}, ("POST", f"/v1/tombstones/{n.graves[other]}/lift?{here}", reason)),
        "their reviews": ({403}, ("GET", f"/v1/reviews?{there}", None)),
        "their tombstones": ({403}, ("GET", f"/v1/tombstones?{there}", None)),
        "their audit": ({403}, ("GET", f"/v1/audit?{there}", None)),
        "my audit": (IN_MINE, ("GET", f"/v1/audit?{here}&limit=100", None)),
        "verify theirs": ({403}, ("GET", f"/v1/audit/verify?{there}", None)),
        "their statistics": ({403}, ("GET", f"/v1/stats?{there}", None)),
        "scopes below theirs": (IN_MINE, ("GET", f"/v1/scopes?prefix={quote(them, safe='')}", None)),
        "all scopes": (IN_MINE, ("GET", "/v1/scopes", None)),
        "recall by their words": (
            IN_MINE,
            ("POST", "/v1/recall", {"scope": me, "query": prompt, "limit": 50}),
        ),
        "recall by their tag": (
            IN_MINE,
            ("POST", "/v1/recall", {"scope": me, "query": prompt, "tags": [f"tag{other}"]}),
        ),
        "recall what was superseded": (
            IN_MINE,
            ("POST", "/v1/recall", {"scope": me, "query": prompt, "known_at": "2040-01-01T00:00:00Z"}),
        ),
        "recall in theirs": ({403}, ("POST", "/v1/recall", {"scope": them, "query": prompt})),
        "recall in mine and theirs": ({403}, ("POST", "/v1/recall", {"scopes": [me, them], "query": prompt})),
        "recall scope and scopes": (
            {400},
            ("POST", "/v1/recall", {"scope": me, "scopes": [them], "query": prompt}),
        ),
        "recall with a filter for theirs": (
            {200, 400},
            (
                "POST",
                "/v1/recall",
                {"scope": me, "query": prompt, "filter": {"or": [{"eq": ["metadata.a", them]}, NEVER]}},
            ),
        ),
        "recall with a tenant": (
            {400},
            ("POST", "/v1/recall", {"scope": me, "query": prompt, "tenant": them}),
        ),
        "remember derived from theirs": (
            {201, 400, 404, 409},
            ("POST", "/v1/memories", {"scope": me, "content": f"of {theirs}", "derived_from": [theirs]}),
        ),
        "remember their words": ({201}, ("POST", "/v1/memories", {"scope": me, "content": f"{prompt} {at}"})),
        "remember in theirs": ({403}, ("POST", "/v1/memories", {"scope": them, "content": prompt})),
        "remember with their scope as metadata": (
            {400},
            ("POST", "/v1/memories", {"scope": me, "content": "x", "metadata": {"scope": them}}),
        ),
        "a batch into theirs": (
            {403},
            ("POST", "/v1/memories/batch", {"scope": them, "items": [{"content": prompt}]}),
        ),
        "a key for theirs": (
            {403},
            (
                "POST",
                "/v1/keys",
                {"name": "k", "kind": "agent", "grants": [{"scope": them, "actions": ["read"]}]},
            ),
        ),
    }
    return found


NEVER = {"not": {"eq": ["kind", "item"]}}


def judge(
    n: Neighbours, mine: int, name: str, request: Request, reply: Reply, right: set[int]
) -> list[Finding]:
    """What is wrong with an answer."""
    findings = []
    if reply.status not in right:
        findings.append(Finding(name, f"status {reply.status}"))
    shown, now = reply.text + reply.headers, {*_MARKER.findall(request.said), *_ID.findall(request.said)}
    if reply.status == 201:  # stored in mine: from now on it is mine too
        n.told[mine] |= now
    said = n.told[mine] | now
    for marker in set(_MARKER.findall(shown)) - said:
        if int(marker[2:4]) != mine:
            findings.append(Finding(name, f"a marker of {SCOPES[int(marker[2:4])]}"))
    for thing in set(_ID.findall(shown)) - said:
        if n.owner.get(thing, mine) != mine:
            findings.append(Finding(name, f"an id of {SCOPES[n.owner[thing]]}"))
    if name in ("scopes below theirs", "all scopes") and reply.status == 200:
        foreign = set(json.loads(reply.text)["items"]) - {SCOPES[mine]}
        findings += [Finding(name, f"the name {scope}") for scope in sorted(foreign)]
    return findings


def evaluate(n: Neighbours, count: int, seed: int = 1) -> tuple[list[Finding], Counter[str]]:
    """`count` probes between all neighbours: what was found, and how often each was tried.

    A refusal has to read the same whether what it is about exists or not.
    """
    lots, findings, tried = random.Random(seed), [], Counter()
    turn = 0
    while sum(tried.values()) < count:
        mine, other = lots.sample(range(n.scopes), 2)
        made = probes(n, mine, other, lots.randrange(n.memories))
        names = sorted(made)
        for name in (names[turn % len(names)], lots.choice(names)):
            right, (method, target, body) = made[name]
            path, _, query = target.partition("?")
            request = Request(n.principal_of(mine), method, path, query, body, IF_MATCH if body else {})
            reply = n.send(request)
            findings += judge(n, mine, name, request, reply, right)
            findings += _oracle(n, name, request, reply, SCOPES[other])
            tried[name] += 1
        turn += 1
    return findings, tried


def _oracle(n: Neighbours, name: str, request: Request, reply: Reply, theirs: str) -> list[Finding]:
    """The same refusal of what never was must be the same bytes, but for the number of the request."""
    if reply.status not in (403, 404):
        return []

    def unreal(text: str) -> str:
        text = text.replace(json.dumps(theirs, ensure_ascii=False), json.dumps(NOBODY))
        named = rf"(?<=scope=){re.escape(quote(theirs, safe=''))}(?=&|$)"
        text = re.sub(named, quote(NOBODY, safe=""), text)
        return _ID.sub(lambda thing: thing[0][:4] + NO_ID, text)

    body = json.loads(unreal(json.dumps(request.body, ensure_ascii=False)))
    never = replace(request, path=unreal(request.path), query=unreal(request.query), body=body)
    again = n.send(never)
    if (again.status, _without_number(again)) == (reply.status, _without_number(reply)):
        return []
    return [Finding(name, "a refusal that tells whether it exists")]


def _without_number(reply: Reply) -> Any:
    return {**json.loads(reply.text), "request_id": None}
