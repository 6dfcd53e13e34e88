"""Every worked example of docs/time.md happens as it is written."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.clock import FakeClock, fake_world
from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller
from tests.support.stack import ROOT

PAGE = (ROOT / "docs" / "time.md").read_text()
EXAMPLES = re.findall(r"^## (.*?)\n.*?^```example\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
TIMES = {"valid_from", "valid_to", "expires_at", "valid_at", "known_at"}


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


class StillClock(FakeClock):
    """The day of a line, for as long as the line takes."""

    def now(self) -> datetime:
        return self._now


class Telling:
    """Reads an example line by line, and does what it says."""

    def __init__(self) -> None:
        self.clock = StillClock()
        self.service = FakeService()
        self.service.world = fake_world(self.clock)
        self.api = Caller(self.service)
        self.named: dict[str, str] = {}

    def line(self, text: str) -> None:
        happens, _, expected = text.partition("→")
        day, verb, *words = shlex.split(happens)
        self.clock.sleep((instant(day) - self.clock.now()).total_seconds())
        name = words.pop() if "as" in words[-2:-1] else None
        words = [word for word in words if word != "as"]
        given = dict(word.split("=", 1) for word in words if re.match(r"[a-z_]+=", word))
        given = {n: f"{instant(v).isoformat()}" if n in TIMES else v for n, v in given.items()}
        plain = [word for word in words if not re.match(r"[a-z_]+=", word)]
        if verb == "ask":
            self.ask(given, [] if expected.split() == ["nothing"] else shlex.split(expected), text)
            return
        answer = self.do(verb, plain, given)
        assert answer.code == (expected.strip() or None), text
        if name:
            self.named[name] = answer["id"]

    def ask(self, given: dict[str, Any], expected: list[str], text: str) -> None:
        answers = [self.api.recalled("", limit=50, **given)]
        if given:
            answers.append(self.api.listed(limit=100, **given))
        for found in answers:
            assert sorted(found) == sorted(expected), text

    def do(self, verb: str, plain: list[str], given: dict[str, Any]) -> Answer:
        if verb == "remember":
            return self.api.remember(plain[0], **given)
        memory_id = self.named[plain[0]]
        if verb == "forget":
            return self.api.forget(memory_id)
        version = self.api.get(memory_id)["version"]
        if verb == "correct":
            return self.api.correct(memory_id, plain[1], version=version, **given)
        return getattr(self.api, verb)(memory_id, version=version, **given)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("title", "example"), EXAMPLES, ids=[title for title, _ in EXAMPLES])
def test_an_example_happens_as_it_is_written(title: str, example: str) -> None:
    telling = Telling()
    for line in example.splitlines():
        telling.line(line)
    assert "→" in example, title


def test_the_page_has_an_example_for_every_case_and_all_of_them_are_read() -> None:
    assert len(EXAMPLES) == PAGE.count("```example") == PAGE.count("\n## ") == 14
