"""The command line: every command in a pipe and at a terminal, and what its refusals exit with."""

import importlib.metadata
import io
import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
import termios
import threading
import time
from contextlib import closing

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "api")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "true")

from tests.support.fakes import FakeService
from tests.support.http import Caller, principal
from tests.support.server import served
from tests.support.workers import index_all, settle
from unsay.cli import app
from unsay.cli.app import exit_code
from unsay.cli.show import table
from unsay_core.domain.scope import Action

SCOPE = "acme/users/alice"
LISBON, PORTO = "Alice lives in Lisbon.", "Alice lives in Porto."


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home of its own, and nothing set."""
    for name in ("UNSAY_URL", "UNSAY_TOKEN", "UNSAY_AWS", "UNSAY_SCOPE", "UNSAY_PROFILE", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(typer, "get_app_dir", lambda _: str(tmp_path / "unsay"))
    return tmp_path


@pytest.fixture
def caller():
    return Caller(FakeService())


@pytest.fixture
def service(caller, monkeypatch):
    with served(caller) as url:
        monkeypatch.setenv("UNSAY_URL", url)
        monkeypatch.setenv("UNSAY_TOKEN", "t")
        monkeypatch.setenv("UNSAY_SCOPE", SCOPE)
        yield url


def piped(*arguments, typed=None):
    """What a command prints into a pipe."""
    return CliRunner().invoke(app, arguments, input=typed)


def at_a_terminal(monkeypatch, *arguments, typed=()):
    """What a command shows at a terminal of a hundred columns, and what it exits with.

    `typed` are keys, and what must be shown before each: a person reads first.
    """
    ours, theirs = pty.openpty()
    monkeypatch.setenv("COLUMNS", "100")
    shown, to_type = bytearray(), list(typed)

    def read():
        seen = 0
        while chunk := _read(ours):
            shown.extend(chunk)
            while to_type and (at := shown.find(to_type[0][0].encode(), seen)) >= 0:
                seen = at + 1
                keys = to_type.pop(0)[1]
                _until_listened_to(ours, keys)
                os.write(ours, keys.encode())

    reader = threading.Thread(target=read, daemon=True)
    with (
        os.fdopen(os.dup(theirs), "r") as stdin,
        os.fdopen(theirs, "w", encoding="utf-8") as stdout,
        monkeypatch.context() as patch,
    ):
        for name, stream in (("stdin", stdin), ("stdout", stdout), ("stderr", stdout)):
            patch.setattr(sys, name, stream)
        reader.start()
        code = _code(arguments)
        stdout.flush()
    reader.join(10)
    os.close(ours)
    return code, re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())


def _until_listened_to(terminal, keys):
    """Who reads key by key throws away what was typed before."""
    until = time.monotonic() + 20
    while not keys.endswith("\n") and termios.tcgetattr(terminal)[3] & termios.ICANON:
        assert time.monotonic() < until
        time.sleep(0.005)


def _read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end was closed
        return b""


def _code(arguments):
    try:
        app(list(arguments))
    except SystemExit as exited:
        return exited.code or 0
    return 0


def _key(caller):
    grants = [{"scope": "acme/*", "actions": ["read"]}]
    return caller.send("POST", "/v1/keys", {"name": "shop", "kind": "agent", "grants": grants})["id"]


def prepared(caller):
    """One of each thing that a command can name."""
    moved = caller.remember(PORTO, SCOPE, key="home")
    said = {"seq": 0, "role": "user", "content": "I_live_in_Lisbon."}
    caller.send("POST", "/v1/conversations/run-1/messages", {"scope": SCOPE, "messages": [said]})
    return {
        "MEMORY": caller.remember(LISBON, SCOPE)["id"],
        "DOUBTED": caller.remember("Alice has a cat.", SCOPE)["id"],
        "ERASURE": caller.forget(caller.remember("Gone.", SCOPE)["id"], scope=SCOPE)["id"],
        "TOMBSTONE": caller.tombstones(SCOPE)["items"][-1]["id"],
        "MOVED": moved["id"],
        "KEY_OF_SHOP": _key(caller),
        "JOB_OF_MERGING": caller.send("POST", "/v1/consolidate", {"scope": SCOPE})["id"],
    }


CARRYING = {"export", "import"}  # tried in test_transfers.py, where jobs are worked on
COMMANDS = {
    "remember": ("remember Alice_has_a_dog. --tag pet --data {} --ttl 3600", "Alice_has_a_dog."),
    "recall": ("recall Lisbon", LISBON),
    "list": ("list --limit 50", LISBON),
    "get": ("get MEMORY", LISBON),
    "history": ("history MEMORY", "memory.remembered"),
    "edit": ("edit MEMORY --tag profile --importance 0.9", "profile"),
    "correct": ("correct MEMORY Alice_lives_in_Faro. --because changed", "Alice_lives_in_Faro."),
    "retract": ("retract MEMORY -r incorrect", "retracted"),
    "dispute": ("dispute MEMORY -r incorrect", "disputed"),
    "forget": ("forget MEMORY -r user_request --yes", "user_request"),
    "forget-all": ("forget-all --tag none -r user_request --yes", "user_request"),
    "prune": ("prune", "outdated"),
    "review": ("review --state disputed --json", '"items"'),
    "erasure show": ("erasure show ERASURE", "tombstones"),
    "erasure list": ("erasure list", "user_request"),
    "tombstone list": ("tombstone list", "value"),
    "tombstone lift": ("tombstone lift TOMBSTONE -r incorrect", "TOMBSTONE"),
    "audit list": ("audit list", "memory.forgotten"),
    "audit verify": ("audit verify", "head"),
    "stats": ("stats", "semantic"),
    "scopes": ("scopes acme", ""),
    "converse": ("converse run-2 --user Hello. --assistant Hi. --flush", "extraction"),
    "consolidate": ("consolidate --threshold 0.9", "job_"),
    "job": ("job JOB_OF_MERGING", "JOB_OF_MERGING"),
    "conversation list": ("conversation list", "run-1"),
    "conversation show": ("conversation show run-1", "I_live_in_Lisbon."),
    "conversation flush": ("conversation flush run-1", "extraction"),
    "conversation retry": ("conversation retry run-1", "extraction"),
    "policy show": ("policy show --root acme", "auto"),
    "policy set": ("policy set --extraction review --user-turns 7 --keep Diet.", "Diet."),
    "keys make": ("keys make shop -g acme/*=read,write", "unsay_"),
    "keys list": ("keys list", "shop"),
    "keys revoke": ("keys revoke KEY_OF_SHOP", "KEY_OF_SHOP"),
    "delegate": ("delegate -a read --ttl 60", "unsay_dlg_"),
    "config set": ("config set --scope acme", ""),
    "config show": ("config show", SCOPE),
    "doctor": ("doctor", "is ok"),
}

# What answers a program for as long as it runs, or works on files alone: other tests have them.
ELSEWHERE = ("serve", "convert")


def commands():
    """Every command there is, by its words."""

    def walk(group, words):
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from walk(command, (*words, name))
            else:
                yield " ".join((*words, name)), command

    return dict(walk(typer.main.get_command(app), ()))


def test_every_command_is_tried_below():
    assert commands().keys() == {*COMMANDS, *ELSEWHERE, *CARRYING}


@pytest.mark.parametrize("name", [*COMMANDS, *sorted({*ELSEWHERE, *CARRYING})])
def test_every_command_has_help_with_an_example_of_itself(name):
    assert re.search(rf"Example: unsay (--profile \w+ )?{name}", commands()[name].help)
    shown = piped(*name.split(), "--help")
    assert (shown.exit_code, f"unsay {name}".split()[-1] in shown.output) == (0, True)


def filled(name, known):
    """A command's words, and what its answer holds."""
    return (re.sub("[A-Z_]{5,}", lambda word: known.get(word[0], word[0]), part) for part in COMMANDS[name])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_answers_in_a_pipe_with_json(name, caller, service):
    words, wanted = filled(name, prepared(caller))
    found = piped(*words.split())
    assert found.exit_code == 0, found.output
    assert wanted in found.output
    assert name in ("doctor", "config set") or json.loads(found.output)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_answers_at_a_terminal_for_a_person(name, caller, service, monkeypatch):
    words, wanted = filled(name, prepared(caller))
    code, shown = at_a_terminal(monkeypatch, *words.split())
    assert (code, wanted in shown) == (0, True), shown
    assert "--json" in words or '"' not in shown


def test_what_carries_memories_answers_at_a_terminal_for_a_person(home, monkeypatch):
    monkeypatch.setenv("UNSAY_URL", f"sqlite:///{home}/memory.db")
    monkeypatch.setenv("UNSAY_SCOPE", SCOPE)
    assert piped("remember", LISBON).exit_code == 0
    file, foreign = home / "alice.jsonl", home / "foreign.jsonl"
    foreign.write_text('{"text": "Alice has a boat."}\n')
    for words, wanted in (
        (("export", file), "complete"),
        (("import", file, "-s", "acme/users/bob"), "imported"),
        (("import", foreign, "--from", "jsonl", "--dry-run"), "1 of 1 records"),
        (("import", foreign, "--from", "jsonl"), "1 of 1 records"),
        (("convert", foreign, "--from", "jsonl", "--dry-run"), "1 of 1 records"),
    ):
        code, shown = at_a_terminal(monkeypatch, *map(str, words))
        assert (code, wanted in shown, '{"' in shown) == (0, True, False), shown
    assert LISBON in piped("list", "-s", "acme/users/bob").output
    assert "boat" in piped("list").output


def test_a_server_for_hosts_says_at_a_terminal_what_it_waits_for(home, monkeypatch):
    monkeypatch.setenv("UNSAY_URL", f"sqlite:///{home}/memory.db")
    monkeypatch.setenv("UNSAY_SCOPE", SCOPE)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from unsay.cli import main; main()", "serve"]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stderr.readline().startswith(b"Waiting for an MCP host")
        os.write(ours, b"\x04")
        assert server.wait(60) == 0
        assert server.stdout.read() == b""
    os.close(theirs)
    os.close(ours)


def test_an_id_is_whole_however_narrow_the_terminal():
    shown, made = io.StringIO(), "mem_01m8q0gcecht35bzp9gkcmq648"
    rows = [(made, "active", "asserted", "2026-11-30 19:57", "words " * 40)]
    drawn = table(("id", "status", "trust", "recorded", "memory"), rows)
    Console(width=60, file=shown).print(drawn)
    assert made in shown.getvalue()


def test_the_shell_completes_commands_and_options(monkeypatch):
    def completed(words):
        environment = {
            **os.environ,
            "_UNSAY_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        program = "import sys; sys.argv = ['unsay']; from unsay.cli import app; app(prog_name='unsay')"
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout.split()

    assert completed("unsay rec") == ["recall"]
    assert "--because" in completed("unsay correct --bec")


def test_what_is_printed_as_json_has_every_digit(caller, service):
    data = '{"price":1.10,"n":1,"big":12345678901234567890123456789}'
    assert f'"data":{data}' in piped("remember", LISBON, "--data", data).output


def test_markup_and_control_characters_of_a_memory_are_not_obeyed(caller, service, monkeypatch):
    caller.remember("[red]Alice[/red] \x1b[2J likes \u202etea", SCOPE)
    _, text = at_a_terminal(monkeypatch, "list")
    assert "[red]Alice[/red] \N{REPLACEMENT CHARACTER}[2J likes \N{REPLACEMENT CHARACTER}tea" in text


def test_words_come_from_the_standard_input_too(service):
    assert piped("remember", "-", typed=LISBON + "\n").exit_code == 0
    assert LISBON in piped("list").output


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("get", "mem_01j0000000000000000000000a"), 1, ""),
        (("get", "nonsense"), 1, ""),
        (("remember", " "), 2, "content"),
        (("remember", "x", "--data", "{"), 2, "JSON"),
        (("remember", "password: Abc123Abc123Abc123Abc1"), 2, "credential"),
        (("list", "--scope", "a//b"), 2, "scope"),
        (("list", "--limit", "0"), 2, "limit"),
        (("list", "--kind", "nonsense"), 2, "nonsense"),
        (("keys", "make", "x", "-g", "acme"), 2, "SCOPE=ACTION"),
        (("--url", "http://x.example", "list"), 2, "https"),
        (("--url", "sqlite://x.db", "list"), 2, "sqlite:///"),
        (("converse", "run-9"), 2, "--user"),
        (("converse", "run-9", "-"), 2, "name a file"),
        (("nonsense",), 2, "nonsense"),
    ],
)
def test_a_refusal_exits_with_its_code_and_says_why_on_the_error_stream(service, arguments, code, said):
    refused = piped(*arguments)
    assert (refused.exit_code, refused.stdout) == (code, "")
    assert said in refused.stderr


def test_a_conflict_a_tombstone_and_a_second_forget_exit_with_three(caller, service):
    made = caller.remember(LISBON, SCOPE)["id"]
    assert piped("edit", made, "--content", PORTO, "--version", "9").exit_code == 3
    assert piped("forget", made, "-r", "user_request", "--yes").exit_code == 0
    assert piped("remember", LISBON).exit_code == 3
    assert piped("forget", made, "-r", "user_request", "--yes").exit_code == 3
    assert piped("remember", PORTO).exit_code == 0


def test_what_the_key_may_not_do_exits_with_four(caller, monkeypatch):
    reader = caller.as_(principal("acme/*", Action.READ))
    with served(reader) as url:
        where = ("--url", url, "--token", "t")
        assert piped(*where, "remember", LISBON, "--scope", SCOPE).exit_code == 4
        assert piped(*where, "list", "--scope", SCOPE).exit_code == 0


def test_a_service_that_is_not_there_exits_with_three():
    gone = ("--url", "http://127.0.0.1:9", "--token", "t")
    assert piped(*gone, "stats", "--scope", "a").exit_code == 3
    assert piped(*gone, "doctor").exit_code == 3


def test_every_refusal_of_the_client_has_a_code():
    import unsay

    kinds = [k for k in vars(unsay).values() if isinstance(k, type) and issubclass(k, unsay.UnsayError)]
    assert {exit_code(kind.__new__(kind)) for kind in kinds} == {1, 2, 3, 4}


def test_nobody_is_asked_in_a_pipe_and_somebody_is_at_a_terminal(caller, service, monkeypatch):
    made = caller.remember(LISBON, SCOPE)["id"]
    assert piped("forget", made, "-r", "user_request").exit_code == 2
    asked = ("forget", made, "-r", "user_request")
    code, text = at_a_terminal(monkeypatch, *asked, typed=[("for good?", "n\n")])
    assert (code, "for good?" in text) == (1, True)
    assert caller.get(made, SCOPE).status == 200
    code, _ = at_a_terminal(monkeypatch, *asked, typed=[("for good?", "y\n")])
    assert (code, caller.get(made, SCOPE).status) == (0, 404)


def test_what_is_selected_is_shown_then_asked_for_then_forgotten(caller, service, monkeypatch):
    gone = [caller.remember(f"Trip {n}.", SCOPE, tags=["trip"])["id"] for n in range(2)]
    kept = caller.remember(LISBON, SCOPE)["id"]
    chosen = ("forget-all", "--tag", "trip", "-r", "user_request")
    assert set(json.loads(piped(*chosen, "--dry-run").stdout)["ids"]) == set(gone)
    assert piped(*chosen).exit_code == 2
    code, text = at_a_terminal(monkeypatch, *chosen, typed=[("for good?", "n\n")])
    assert (code, "2 memories" in text) == (1, True)
    assert [caller.get(memory, SCOPE).status for memory in gone] == [200, 200]
    code, _ = at_a_terminal(monkeypatch, *chosen, typed=[("for good?", "y\n")])
    assert code == 0
    assert [caller.get(memory, SCOPE).status for memory in (*gone, kept)] == [404, 404, 200]
    assert piped("forget-all", "--everything", "--tag", "trip", "-r", "user_request", "--yes").exit_code == 2


def test_a_person_decides_takes_back_and_decides_again(caller, service, monkeypatch):
    made = [caller.remember(f"Fact {n}.", SCOPE)["id"] for n in range(3)]
    for memory in made:
        caller.dispute(memory, scope=SCOPE)
    waiting = [item["id"] for item in caller.reviews(SCOPE, state="disputed")["items"]]
    decided = [("uit", key) for key in "auar"] + [("Why", "\n"), ("uit", "s")]
    code, text = at_a_terminal(monkeypatch, "review", "--state", "disputed", typed=decided)
    assert (code, "3 of 3" in text) == (0, True)
    states = {
        memory: (caller.get(memory, SCOPE)["status"], caller.get(memory, SCOPE)["trust"]) for memory in made
    }
    assert states[waiting[0]] == ("active", "verified")
    assert states[waiting[1]] == ("rejected", "disputed")
    assert states[waiting[2]] == ("active", "disputed")


def test_what_is_believed_nearest_stands_beside_what_waits(caller, service, monkeypatch):
    known = caller.remember("Alice lives in [b]Lisbon[/b].", SCOPE)
    doubted = caller.remember("Alice lives in Porto.", SCOPE)
    index_all(caller.service)
    settle(caller.service)
    caller.dispute(doubted["id"], scope=SCOPE)
    code, text = at_a_terminal(monkeypatch, "review", "--state", "disputed", typed=[("uit", "q")])
    assert (code, "beside it: Alice lives in [b]Lisbon[/b]." in text) == (0, True), known["id"]


def test_flags_go_over_the_environment_and_that_over_the_profile(caller, service, monkeypatch, home):
    caller.remember("in the profile's scope", "acme/profile")
    caller.remember("in the flag's scope", "acme/flag")
    monkeypatch.delenv("UNSAY_TOKEN")
    monkeypatch.delenv("UNSAY_SCOPE")
    assert piped("list").exit_code == 2
    assert piped("config", "set", "--token", "-", "--scope", "acme/profile", typed="secret\n").exit_code == 0
    assert (home / "unsay" / "config.json").stat().st_mode & 0o777 == 0o600
    assert "secret" not in piped("config", "show").output
    assert "in the profile's scope" in piped("list").output
    monkeypatch.setenv("UNSAY_SCOPE", SCOPE)
    assert "in the profile's scope" not in piped("list").output
    assert "in the flag's scope" in piped("list", "-s", "acme/flag").output
    assert piped("--profile", "other", "list").exit_code == 2
    assert piped("--profile", "other", "config", "set", "--token", "x").exit_code == 0
    assert json.loads(piped("config", "show").output)["profiles"] == ["default", "other"]


def test_who_names_a_credential_names_it_whole(service, monkeypatch):
    def used(*flags):
        shown = json.loads(piped(*flags, "config", "show").output)
        return shown["token"], shown["aws"]

    assert used() == ("set", None), "the environment's"
    assert used("--aws", "desk") == (None, "desk")
    monkeypatch.delenv("UNSAY_TOKEN")
    piped("config", "set", "--aws", "auto")
    assert used() == (None, "auto")
    assert used("--token", "x") == ("set", None)
    monkeypatch.setenv("UNSAY_TOKEN", "t")
    assert used() == ("set", None), "the environment's goes over the profile's"
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    refused = piped("--aws", "nobody", "list")
    assert (refused.exit_code, "no AWS profile" in refused.stderr) == (2, True)


def test_a_configuration_that_others_may_read_or_nobody_can_is_refused(service, home):
    piped("config", "set", "--token", "x")
    file = home / "unsay" / "config.json"
    file.chmod(0o644)
    assert "chmod 600" in piped("stats").stderr
    file.chmod(0o600)
    assert piped("stats").exit_code == 0
    file.write_text("[1]")
    assert piped("stats").exit_code == 2


def test_messages_of_a_file_are_handed_in_whole_and_once(service):
    lines = "\n".join(json.dumps({"seq": n, "role": "user", "content": f"I have {n}."}) for n in range(120))
    first = json.loads(piped("converse", "long", "-", typed=lines).output)
    again = json.loads(piped("converse", "long", "-", typed=lines).output)
    assert (first["accepted"], first["duplicates"], first["high_water"]) == (120, 0, 119)
    assert (again["accepted"], again["duplicates"]) == (0, 120)
    broken = piped("converse", "long", "-", typed=lines + "\nnonsense")
    assert (broken.exit_code, "line 121" in broken.stderr) == (2, True)


def test_what_follows_in_a_conversation_gets_the_next_numbers(service):
    for words in ("--user One. --assistant Two.", "--user Three."):
        assert piped("converse", "talk", *words.split()).exit_code == 0
    said = json.loads(piped("conversation", "show", "talk").output)["messages"]
    assert [(m["seq"], m["content"]) for m in said] == [(0, "One."), (1, "Two."), (2, "Three.")]


def test_what_a_policy_does_not_name_stays(service, caller):
    wanted = {"secrets": "allow", "instructions": {"keep": "Diet."}, "budget": {"daily_tokens": 1000}}
    assert caller.send("PUT", "/v1/policy", wanted, query="scope=acme").status == 200
    piped("policy", "set", "--merge-days", "0", "--merged-text", "model", "--messages-days", "90")
    said = json.loads(piped("policy", "set", "--extraction", "off").output)
    assert (said["extraction"], said["instructions"]["keep"]) == ("off", "Diet.")
    assert (said["budget"]["daily_tokens"], said["secrets"]) == (1000, "allow")
    assert (said["consolidation"]["every_days"], said["consolidation"]["text"]) == (None, "model")
    assert said["retention"] == {"memories_days": None, "messages_days": 90}


def test_who_names_no_service_has_a_store_of_their_own(home, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("UNSAY_SCOPE", SCOPE)
    folder = home / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert piped("remember", LISBON).exit_code == 0
    assert (home / "data" / "unsay" / "memory.db").exists()
    assert LISBON in piped("list").output
    (folder / ".unsay").mkdir()
    assert piped("--url", "sqlite:///.unsay/memory.db", "remember", PORTO).exit_code == 0
    assert json.loads(piped("list").output)["items"][0]["content"] == PORTO
    assert "is ok" in piped("doctor").output
    monkeypatch.setenv("UNSAY_TOKEN", "t")
    assert "UNSAY_URL" in piped("list").stderr


def test_the_doctor_names_what_is_damaged_and_a_list_goes_on_without_it(home, monkeypatch):
    monkeypatch.setenv("UNSAY_URL", f"sqlite:///{home}/memory.db")
    monkeypatch.setenv("UNSAY_SCOPE", SCOPE)
    first, second = (json.loads(piped("remember", words).output)["id"] for words in (LISBON, PORTO))
    with closing(sqlite3.connect(home / "memory.db")) as file, file:
        file.execute("UPDATE entry SET record = 'x' WHERE area = 'M' AND id = ?", (first,))
    told = piped("doctor")
    assert (told.exit_code, f"{SCOPE}: {first} is damaged" in told.output.replace("\n", " ")) == (3, True)
    code, shown = at_a_terminal(monkeypatch, "list")
    assert (code, second in shown, f"see unsay doctor: {first}" in shown) == (0, True, True)


def test_the_environments_key_is_a_services_and_a_flags_is_the_stores(home, monkeypatch):
    url = f"sqlite:///{home}/memory.db"
    monkeypatch.setenv("UNSAY_TOKEN", "a-key-of-a-service")
    monkeypatch.setenv("UNSAY_SCOPE", SCOPE)
    assert piped("--url", url, "remember", LISBON).exit_code == 0
    monkeypatch.setenv("UNSAY_URL", url)
    assert LISBON in piped("list").output
    assert piped("--token", "unsay_nobody", "list").exit_code == 4
    monkeypatch.delenv("UNSAY_URL")
    piped("config", "set", "--url", "https://x.example", "--token", "-", typed="a-key-of-a-service\n")
    assert LISBON in piped("--url", url, "list").output
    piped("config", "set", "--url", url, "--token", "-", typed="unsay_nobody\n")
    assert piped("list").exit_code == 4


def test_the_command_says_which_release_it_is():
    said = piped("--version")
    assert (said.exit_code, said.output) == (0, f"unsay {importlib.metadata.version('unsay')}\n")


def test_a_store_that_cannot_be_opened_exits_with_three_and_no_traceback(home):
    (home / "other").write_text("not a store, and long enough to be looked at" * 20)
    refused = piped("--url", f"sqlite:///{home}/other", "list", "-s", "a")
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert "cannot be opened" in refused.stderr


def test_the_installed_command_runs(service):
    ran = subprocess.run(
        [sys.executable, "-c", "from unsay.cli import main; main()", "remember", LISBON],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(ran.stdout)["content"] == LISBON
