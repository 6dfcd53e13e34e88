"""The demo as a user runs it: a program with an exit code that leaves nothing behind."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from local.demo import demo
from tests.support.stack import ROOT, eventually, free_port

WORDS = "river stone lamp orange bicycle teacher window garden music winter paper doctor".split()


@pytest.fixture
def start(tmp_path):
    """Starts the demo with temporary files of its own; whatever it leaves there is found."""

    def run(file=None, **environment):
        wanted = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "PORT": str(free_port()), **environment}
        (tmp_path / "tmp").mkdir(exist_ok=True)
        command = [sys.executable, "-m", "local", "demo", *(["--file", str(file)] if file else [])]
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=wanted,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_interrupts,  # noqa: PLW1509 - one call, no lock
        )

    return run


def heed_interrupts():
    """As for a program in the foreground: those in the background of a script are made deaf to them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def leftovers(tmp_path):
    return [path.name for path in (tmp_path / "tmp").glob("unsay-demo-*")]


def is_served(port):
    with subprocess.Popen(["ps", "ax", "-o", "args"], stdout=subprocess.PIPE, text=True) as ps:
        return f"serve --port {port} " in ps.communicate()[0]


def turn(n, content=None, role=None):
    text = content or f"My note {n}: the {WORDS[n % 12]} by the {WORDS[n * 7 % 11]} costs {n * 13} crowns."
    return {"role": role or ("user", "assistant")[n % 2], "content": text, "at": "2025-03-01T10:00:00Z"}


@pytest.mark.stack
def test_any_conversation_lives_and_broken_lines_cost_themselves(start, tmp_path):
    lines = [json.dumps(turn(n)) for n in range(200)]
    lines[20] = lines[20][:-5]
    lines[40] = json.dumps({**turn(40), "content": ""})
    lines[60] = json.dumps(turn(60, "z" * 1_000_000))
    lines[80] = lines[78]
    lines[100] = json.dumps(turn(100, "my password: Abc123Abc123Abc123Abc1"))
    lines[120] = json.dumps(turn(120, role="wizard"))
    file = tmp_path / "conversation.jsonl"
    file.write_text("\n".join(lines))

    process = start(file)
    out, err = process.communicate(timeout=240)

    assert process.returncode == 0, out + err
    assert f"{file}: 96 turns of the user, 100 of others, 4 lines that are no turn" in out
    for line, why in {
        21: "the line is not JSON",
        41: "the content is empty",
        61: "longer than 262,144 bytes",
        101: "stored without a credential",
        121: "the role is none of",
    }.items():
        assert f"! line {line}: {why}" in out
    assert "94 memories, 0 for a person to look at, 1 said again, 4 lines refused" in out
    for held in (
        r"✓ line \d+ of the conversation comes back",
        r"✓ the correction comes back, first; what it replaced does not",
        r"✓ neither it nor what it replaced comes back",
        r"✓ receipt era_\w+: complete after [\d.]+ s, ledger absent, document absent, index absent",
        r"✓ written again, both are refused: 409 tombstoned",
        r"✓ \d+ entries, each chained to the one before",
        r"✓ it recalls and lists its own memory and none of these; its key is refused here: 403",
        r"remember +3 +\d+ ms",
        r"recall +6 +\d+ ms",
        r"Everything held. [\d.]+ s in all.",
    ):
        assert re.search(held, out), f"{held}\n{out}"
    assert "\x1b" not in out
    assert "zzzz" not in out
    assert leftovers(tmp_path) == []


@pytest.mark.stack
def test_an_interrupt_leaves_neither_a_server_nor_a_folder(start, tmp_path):
    port = str(free_port())
    process = start(PORT=port)
    eventually(lambda: is_served(port))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in err
    assert not is_served(port)
    assert leftovers(tmp_path) == []


@pytest.mark.stack
def test_a_port_of_another_cloud_is_left_alone(start, stack, tmp_path):
    process = start(PORT=stack.url.rpartition(":")[2])
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "serves another state" in err
    with stack.client() as client:
        assert client.get("/v1/health").status_code == 200
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "holds no turn of the user"),
        (b'{"role": "assistant", "content": "Hello!"}', "holds no turn of the user"),
        (b"\x00\xff\xfe" * 10, "holds no turn of the user"),
    ],
)
def test_without_a_turn_of_the_user_nothing_is_started(tmp_path, capsys, monkeypatch, content, why):
    monkeypatch.setattr("local.demo._run", lambda *_: pytest.fail("a cloud was started"))
    file = tmp_path / "conversation.jsonl"
    if content is not None:
        file.write_bytes(content)
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert demo(file, None) == 1
    finally:
        signal.signal(signal.SIGTERM, before)
    assert why in capsys.readouterr().err.replace("\n", " ")
