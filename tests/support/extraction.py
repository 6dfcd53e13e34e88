"""A model that says what it is told to, and the pipe from messages to memories without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from unsay_core.application.extract import extract
from unsay_core.application.ledger import Area
from unsay_core.application.model import Answer, ModelUnavailableError, Question, Stop
from unsay_core.application.sentences import is_question, sentences

if TYPE_CHECKING:
    from tests.support.fakes import FakeService
    from tests.support.http import Answer as HttpAnswer
    from tests.support.http import Caller

_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur)\b")

Reply = Callable[[Question], Answer] | Answer | Exception


def lines_of(question: Question) -> list[dict[str, Any]]:
    """The messages of a question."""
    found = [json.loads(line) for line in question.text.splitlines() if line.startswith('{"n"')]
    return [line for line in found if not line.get("context")]


def fact(message: int, quote: str, content: str | None = None, **more: Any) -> dict[str, Any]:
    """A fact as a model reports it."""
    return {
        "message": message,
        "quote": quote,
        "content": content or quote,
        "stance": "stated",
        **more,
    }


def said(*facts: dict[str, Any], tokens: int = 100, **more: Any) -> Answer:
    """An answer by the tool."""
    return Answer(Stop.DONE, {"facts": [*facts]}, (), "scripted", tokens, **more)


def wrote(text: str, stop: Stop = Stop.DONE) -> Answer:
    """An answer in words instead."""
    return Answer(stop, None, (text,), "scripted", 100)


def by_rule(question: Question) -> Answer:
    """Every declarative sentence in the first person, word for word."""
    return said(
        *(
            fact(line["n"], sentence)
            for line in lines_of(question)
            if line["role"] == "user"
            for start, end in sentences(line["text"])
            if _FIRST_PERSON.search(sentence := line["text"][start:end]) and not is_question(sentence)
        )
    )


class FakeModel:
    """Answers with the next of `replies`, then with `otherwise`; keeps what it was asked."""

    name = "fake-model"

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.otherwise: Reply = by_rule
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        reply = self.replies.pop(0) if self.replies else self.otherwise
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Answer) else reply(question)


AWAY = ModelUnavailableError("model_throttled")


def ready(service: FakeService) -> Iterator[tuple[str, str, int]]:
    """The batches whose turn it is: scope id, run, number."""
    for scope_id, ledger in list(service.ledgers.items()):
        for marker in ledger.page(Area.READY, limit=1_000):
            yield scope_id, marker.run_id, marker.number  # type: ignore[union-attr]


def deliver(service: FakeService, scope_id: str, run_id: str, number: int) -> float | None:
    """Work on one batch, as the λ does with one message."""
    by = service.extractor(scope_id, run_id, number)
    return extract(run_id, number, by) if by else None


def drain(service: FakeService, *, rounds: int = 200) -> None:
    """Deliver what is ready until nothing is; time passes while the batches wait."""
    for _ in range(rounds):
        due = list(ready(service))
        if not due:
            return
        for scope_id, run_id, number in due:
            deliver(service, scope_id, run_id, number)
        service.clock.sleep(10)
    raise AssertionError("there is no end to it")


class Talk:
    """Somebody who talks in a run, and looks at what became of it."""

    def __init__(self, api: Caller, run_id: str = "run-1", scope: str = "acme/alice") -> None:
        self.api, self.run_id, self.scope = api, run_id, scope
        self.seq = 0

    def send(self, messages: Sequence[dict[str, Any]], *, flush: bool = False) -> HttpAnswer:
        body = {"scope": self.scope, "messages": [*messages], "flush": flush}
        return self.api.send("POST", f"/v1/conversations/{self.run_id}/messages", body)

    def say(self, *texts: Any, role: str = "user", flush: bool = False, **fields: Any) -> HttpAnswer:
        """Messages under the next numbers."""
        messages = []
        for text in texts:
            self.seq += 1
            messages.append({"seq": self.seq, "role": role, "content": text, **fields})
        return self.send(messages, flush=flush)

    def flush(self) -> HttpAnswer:
        return self._post("flush")

    def retry(self) -> HttpAnswer:
        return self._post("retry")

    def read(self, **parameters: Any) -> HttpAnswer:
        more = "".join(f"&{name}={value}" for name, value in parameters.items())
        query = f"scope={self.scope}{more}"
        return self.api.send("GET", f"/v1/conversations/{self.run_id}", query=query)

    def _post(self, verb: str) -> HttpAnswer:
        return self.api.send("POST", f"/v1/conversations/{self.run_id}/{verb}", query=f"scope={self.scope}")
