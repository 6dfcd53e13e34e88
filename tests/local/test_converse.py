"""The model of the local cloud: what its rule takes for a fact, and a server of one's own in its place."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from local import converse
from unsay_core.adapters.rules import facts

STATED = [
    "I live in Lisbon.",
    "My doctor is Dr. Weber.",
    "We have a dog.",
    "Our house is red.",
    "I don't eat meat.",
    "I would like my coffee black.",
    "I'd rather take the train.",
    "I take the tram if it rains.",
    "I said yes to the offer.",
    "I told Anna about my plans.",
    "My sister's name is Ana.",
    'I call my cat "the boss".',
    "We believe in early nights.",
    "I think my bike is broken.",
]
SUPPOSED = [
    "If I had a dog, it would be called Rex.",
    "I would move to Rome.",
    "I'd move to Rome tomorrow.",
    "Had I known, my answer was no.",
    "I wish I had a garden.",
    "We might sell our car.",
    "I could have been a pilot.",
    "Imagine I were rich.",
    "Perhaps I am wrong.",
    "I do not know whether I am allergic.",
]
REPORTED = [
    "My boss says I am lazy.",
    "Anna said my flat is too small.",
    "Anna Maria thinks I snore.",
    "He claimed that we owe him money.",
    "According to my doctor, I have low iron.",
    "People say I look like Elvis.",
    "The landlord told us our lease is over.",
    "My old school friend believes I live in Rome.",
]
NOTHING = [
    "Do I need a visa?",
    "The weather is fine.",
    'He shouted "I am the king".',
    "“I am tired. I live in Rome.”",
    "Call me tomorrow.",
]


def stances(text: str) -> dict[str, str]:
    question = json.dumps({"n": 1, "role": "user", "text": text}, ensure_ascii=False)
    return {fact["quote"]: fact["stance"] for fact in facts(question)}


@pytest.mark.parametrize(
    ("sentence", "stance"),
    [
        *((each, "stated") for each in STATED),
        *((each, "hypothetical") for each in SUPPOSED),
        *((each, "reported") for each in REPORTED),
    ],
)
def test_the_rule_tells_what_is_stated_from_what_is_supposed_or_said_by_others(
    sentence: str, stance: str
) -> None:
    assert stances(f"Well. {sentence} The end.") == {sentence: stance}


@pytest.mark.parametrize("sentence", NOTHING)
def test_what_nobody_says_of_themselves_is_nothing(sentence: str) -> None:
    assert stances(f"{sentence} I live in Lisbon.") == {"I live in Lisbon.": "stated"}


class Server(HTTPServer):
    """A server as OpenAI has it, in miniature: keeps what it was asked, answers what it is told to."""

    def __init__(self, answer: Any, status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.status = answer, status
        self.asked: list[tuple[str, dict[str, Any], str | None]] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body, self.headers["Authorization"]))
        text = json.dumps(self.server.answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server(*request.param) as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv(converse.URL, f"http://127.0.0.1:{found.server_port}/v1/")
        monkeypatch.setenv(converse.MODEL, "small")
        monkeypatch.setenv(converse.KEY, "a key")
        yield found
        found.shutdown()
        thread.join()


SCHEMA = {"type": "object", "properties": {"facts": {"type": "array"}}}
FACT = {"message": 1, "quote": "I live in Lisbon.", "content": "I live in Lisbon.", "stance": "stated"}


def asked() -> tuple[int, Any]:
    tool = {"toolSpec": {"name": "report", "description": "report", "inputSchema": {"json": SCHEMA}}}
    request = {
        "system": [{"text": "the task"}],
        "messages": [{"role": "user", "content": [{"text": '{"n": 1, "role": "user", "text": "Hm."}'}]}],
        "toolConfig": {"tools": [tool], "toolChoice": {"tool": {"name": "report"}}},
    }
    status, _, body = asyncio.run(
        converse.handle("POST", "/model/any/converse", {}, json.dumps(request).encode(), {})
    )
    return status, json.loads(body)


def called(arguments: str) -> dict[str, Any]:
    call = {"type": "function", "function": {"name": "report", "arguments": arguments}}
    return {"model": "small-2", "choices": [{"message": {"tool_calls": [call]}}]}


@pytest.mark.parametrize("server", [(called(json.dumps({"facts": [FACT]})),)], indirect=True)
def test_a_server_of_ones_own_is_asked_for_the_tool_and_answers_for_the_rule(server: Server) -> None:
    status, reply = asked()
    assert status == 200
    (block,) = reply["output"]["message"]["content"]
    assert block["toolUse"]["input"] == {"facts": [FACT]}
    assert reply["trace"]["promptRouter"]["invokedModelId"] == "small-2"
    ((path, body, authorization),) = server.asked
    assert (path, authorization, body["model"]) == ("/v1/chat/completions", "Bearer a key", "small")
    assert body["tools"][0]["function"]["parameters"] == SCHEMA
    assert body["tool_choice"]["function"]["name"] == "report"
    assert (body["temperature"], body["messages"][0]["content"]) == (0, "the task")


WORDS = {"choices": [{"message": {"content": 'Here: {"facts": []}'}}]}


@pytest.mark.parametrize("server", [(WORDS,)], indirect=True)
def test_words_instead_of_the_tool_go_on_as_they_are(server: Server) -> None:
    status, reply = asked()
    (block,) = reply["output"]["message"]["content"]
    assert (status, block["toolUse"]["input"]) == (200, {"facts": 'Here: {"facts": []}'})
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "server", [({}, 200), ([], 200), ({"choices": []}, 200), ({"error": "busy"}, 503)], indirect=True
)
def test_whatever_goes_wrong_there_is_a_model_that_is_away(server: Server) -> None:
    status, _ = asked()
    assert (status, len(server.asked)) == (503, 1)


def test_a_server_that_is_not_there_is_a_model_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    with Server({}) as gone:
        monkeypatch.setenv(converse.URL, f"http://127.0.0.1:{gone.server_port}/v1")
    assert asked()[0] == 503
