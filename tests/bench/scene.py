"""What is measured: a service over given ledgers, requests made beforehand, memories of plausible words."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from functions.api.app import Api
from tests.support.clock import fake_world
from tests.support.fakes import FakeService
from tests.support.http import ADMIN, event
from tests.support.samples import memory
from unsay_core.adapters.world import SystemClock
from unsay_core.application.digests import keyed_wording
from unsay_core.application.ledger import Area, Head, Put
from unsay_core.application.ports import Hit
from unsay_core.application.post_words import Owed, post_words
from unsay_core.contracts import exact_json
from unsay_core.domain.memory import IndexState, Memory
from unsay_core.retrieval.postings import postings_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unsay_core.application.keys import ScopeKeys
    from unsay_core.application.ports import Ledger

_REQUEST = event("api_request")
_WORDS = (
    "alice bob tea green lisbon porto dog cat bruno morning evening city train works likes lives since "
    "because friend garden kitchen violin paris berlin meeting friday monday project release quarterly"
).split()
QUERY = "Where does Alice live, and what tea does she drink in the morning?"
AT_ONCE = 99  # memories in one change, beside the head
POSTED_AT_ONCE = 10  # in one change of the index by words

SHOWN = 99  # of the newest, to be proposed


def sentence(chance: Random, number: int) -> str:
    """Some 80 characters that no other sentence repeats."""
    return f"{' '.join(chance.choices(_WORDS, k=14)).capitalize()} {number}."


def request(path: str, body: Any) -> dict[str, Any]:
    """A POST as the gateway hands it over."""
    made = copy.deepcopy(_REQUEST)
    made |= {"routeKey": "$default", "rawPath": path, "rawQueryString": "", "isBase64Encoded": False}
    made["requestContext"]["http"] |= {"method": "POST", "path": path}
    found = {"principal": json.dumps(ADMIN.to_json()), "expires_at": "0"}
    made["requestContext"]["authorizer"] = {"lambda": found}
    return made | {"body": exact_json.dumps(body)}


class Near:
    """See `Search`: a knowledge base that proposes what it is told to, at once."""

    def __init__(self, memory_ids: Sequence[str]) -> None:
        self._hits = [Hit(memory_id, 0.9 - 0.005 * at) for at, memory_id in enumerate(memory_ids)]

    def nearest(self, _query: str, *, limit: int, **_: Any) -> Sequence[Hit]:
        """The same ones, whatever is asked."""
        return self._hits[:limit]


class Scene(FakeService):
    """A service in real time; what a scope's ledger and search are may be said."""

    def __init__(self) -> None:
        super().__init__()
        self.world = replace(fake_world(), clock=SystemClock())
        self.stores: dict[str, tuple[Ledger, Near]] = {}
        self.api = Api(self)  # type: ignore[arg-type]

    def open_scope(self, *given: Any, **more: Any) -> Any:
        """As the fakes do, over the ledger that was given for the scope."""
        opened = super().open_scope(*given, **more)
        if opened.id not in self.stores:
            return opened
        ledger, search = self.stores[opened.id]
        return replace(opened, ledger=ledger, search=search)

    def scope_id(self, scope: str) -> str:
        """The keyed id of a scope."""
        return self.keyring.scope_id(scope)

    def send(self, made: dict[str, Any]) -> dict[str, Any]:
        """One request through the router; raises if it is refused."""
        answer = self.api(made, None)  # type: ignore[arg-type]
        if answer["statusCode"] >= 300:
            raise RuntimeError(answer["body"])
        return answer


def fill(ledger: Ledger, many: int, keys: ScopeKeys | None = None) -> list[Memory]:
    """So many memories in a ledger, as if they had been remembered; the last of them.

    With keys, they are in the index by words too.
    """
    chance = Random(many)
    for start in range(1, many + 1, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, many + 1))
        made = [
            memory(n, sentence(chance, n), tags=("a", "b"), metadata={"n": n}, index_state=IndexState.INDEXED)
            for n in numbers
        ]
        ledger.commit((Put(Head(seq=start, memories=numbers[-1])), *map(Put, made)))
        for at in range(0, len(made), POSTED_AT_ONCE) if keys else ():
            post_words([_owed(one, keys) for one in made[at : at + POSTED_AT_ONCE]], ledger)
    page = ledger.page(Area.MEMORY, limit=SHOWN, newest_first=True)
    return [entry for entry in page if isinstance(entry, Memory)]


def _owed(memory: Memory, keys: ScopeKeys) -> Owed:
    wanted = postings_of(memory, keyed_wording(keys, memory.fact.content), is_live=True)
    return Owed(memory.id, None, None, wanted, stays=True)
