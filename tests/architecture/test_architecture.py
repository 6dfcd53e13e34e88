"""What the code may know and who may do what, read from the code itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "layers" / "core" / "python" / "unsay_core"
FUNCTIONS = ROOT / "functions"
DEPLOYED = sorted([*CORE.rglob("*.py"), *FUNCTIONS.rglob("*.py")])
INNER = ("domain", "retrieval", "extraction", "jobs", "application")


def name_of(path: Path) -> str:
    return str(path.relative_to(CORE if path.is_relative_to(CORE) else ROOT))


def trees(paths: list[Path]) -> Iterator[tuple[str, ast.Module]]:
    for path in paths:
        yield name_of(path), ast.parse(path.read_text())


def strings(tree: ast.Module) -> Iterator[str]:
    """String constants that are code: docstrings are not."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


def calls(tree: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def called(call: ast.Call) -> str:
    """The last name of what is called."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def imported(tree: ast.Module) -> set[str]:
    return {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}


def test_the_deployed_code_is_there() -> None:
    assert len(DEPLOYED) > 40
    assert {name_of(path) for path in DEPLOYED} >= {"adapters/scoped_session.py", "functions/api/handler.py"}


def test_the_arrows_point_inward() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


@pytest.mark.parametrize("layer", INNER)
def test_the_inner_layers_import_no_third_party_code(layer: str) -> None:
    """In a fresh interpreter that has only the standard library and the core."""
    modules = [
        f"unsay_core.{layer}.{path.stem}" for path in (CORE / layer).glob("*.py") if path.stem != "__init__"
    ]
    program = (
        f"import sys; sys.path.insert(0, {str(CORE.parent)!r})\n"
        + "\n".join(f"import {module}" for module in modules)
        + "\nassert not {'boto3', 'botocore', 'pydantic'} & sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-S", "-I", "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_the_endpoints_need_nothing_of_aws() -> None:
    """In a fresh interpreter: they answer in a λ as in a process of one's own."""
    modules = [f"unsay_core.endpoints.{path.stem}" for path in (CORE / "endpoints").glob("*.py")]
    program = (
        "import sys\n"
        + "\n".join(f"import {module.removesuffix('.__init__')}" for module in modules)
        + "\nassert 'pydantic' in sys.modules\n"
        "assert not {'boto3', 'botocore', 'aws_lambda_powertools'} & sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_one_module_alone_asks_sts_for_anything() -> None:
    asking = {
        name
        for name, tree in trees(DEPLOYED)
        if "sts" in strings(tree) or any(called(call).startswith("assume_role") for call in calls(tree))
    }
    assert asking == {"adapters/scoped_session.py"}


def test_the_composition_roots_alone_make_clients_and_sessions() -> None:
    making = {
        name
        for name, tree in trees(DEPLOYED)
        if any(called(call) in ("client", "Session") for call in calls(tree))
    }
    roots = {f"bootstrap/{name}.py" for name in ("authorizer", "aws", "generations", "jobs", "operator")}
    assert making == {"adapters/scoped_session.py", "admin/cli.py", "admin/stack.py", *roots}


WRITERS = {
    "application/draft.py",  # the one write path
    "application/index_memories.py",  # the index's state of a memory, and what is owed
    "application/post_words.py",  # the index by words: no text, and derived from it
}
DRAFTING = {"application/ledger.py", *WRITERS}  # where the parts of a change are made, and stated


def mentioned(tree: ast.Module) -> Iterator[str]:
    """Every name that stands in a module, imported, called, or as a member of something."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name


def test_the_draft_alone_states_changes_beside_the_index_state() -> None:
    """Whoever cannot name a part of a change, and gives no ledger one to commit, writes nothing."""
    inner = [(name, tree) for name, tree in trees(DEPLOYED) if not name.startswith("adapters/")]
    assert {name for name, tree in inner if {"Put", "Delete"} & set(mentioned(tree))} == DRAFTING
    committing = {
        name
        for name, tree in inner
        if any(called(call) == "commit" and (call.args or call.keywords) for call in calls(tree))
    }
    assert committing == WRITERS | {"application/fenced.py"}, "it passes on what it does not refuse"


def test_nothing_is_written_to_a_store_but_by_its_adapter() -> None:
    writing = {
        "dynamodb": {"transact_write_items", "put_item", "update_item", "delete_item", "batch_write_item"},
        "sqlite": {"execute", "executemany", "executescript"},
    }
    for store, methods in writing.items():
        names = {name for name, tree in trees(DEPLOYED) if methods & set(mentioned(tree))}
        assert names
        assert all(name.startswith(f"adapters/{store}/") for name in names), names


def test_no_class_goes_by_another_name() -> None:
    """So that the tests here know who makes what: neither imported as another, nor assigned to a name."""
    for name, tree in trees(DEPLOYED):
        for node in ast.walk(tree):
            if isinstance(node, ast.alias) and node.asname:
                assert node.name[:1].islower() or node.asname == node.name, (name, node.name)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Attribute):
                value = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                assert value not in GUARDED, (name, value)


GUARDED = {
    "Put",
    "Delete",
    "Memory",
    "AuditEntry",
    "OpenScope",
    "DynamoLedger",
    "SqliteLedger",
    "WrongStatusError",
}


def test_the_draft_alone_makes_audit_entries() -> None:
    making = {
        name for name, tree in trees(DEPLOYED) if any(called(call) == "AuditEntry" for call in calls(tree))
    }
    assert making == {"application/draft.py"}


def test_remember_correct_and_a_merge_alone_make_memories() -> None:
    """And whoever reads the lines of an import, which are decided on like any other write."""
    making = {name for name, tree in trees(DEPLOYED) if any(called(call) == "Memory" for call in calls(tree))}
    deciding = {f"application/{name}.py" for name in ("remember", "correct", "consolidate")}
    assert making == {*deciding, "contracts/portable.py"}


def test_the_domain_alone_says_what_may_not_happen_to_a_memory() -> None:
    """Moves in `lifecycle.py`, what a word may replace in `trust.py`, a second lift in `tombstone.py`."""
    refusing = {
        name
        for name, tree in trees(DEPLOYED)
        if any(called(call) == "WrongStatusError" for call in calls(tree))
    }
    assert refusing == {"domain/lifecycle.py", "domain/trust.py", "domain/tombstone.py"}


def test_the_index_worker_writes_an_existing_memory_with_its_version_as_guard() -> None:
    """The only write of a memory outside the draft flips its index state: it can bring nothing back."""
    tree = ast.parse((CORE / "application" / "index_memories.py").read_text())
    puts = [call for call in calls(tree) if called(call) == "Put"]
    assert puts
    for put in puts:
        guard = put.args[1]
        assert isinstance(guard, ast.Call)
        assert called(guard) == "Holds"
    assert not any(called(call) == "Absent" for call in calls(tree))


def test_the_door_alone_opens_scopes() -> None:
    """Use cases get an opened scope; none builds one, and no ledger is made elsewhere.

    That of jobs and of the sweep stands beside it. The operator's door is another: it has no λ's role, and no
    λ knows it. So is that of a process of one's own, which reaches no AWS.
    """
    operators = {"OpenScope", "DynamoLedger", "Place", "S3Documents"}
    embedded = {"OpenScope", "AuditScope", "SqliteLedger"}
    for built in (*operators, "AuditScope", "ProjectScope", "S3Anchors"):
        making = {
            name for name, tree in trees(DEPLOYED) if any(called(call) == built for call in calls(tree))
        }
        others = {f"bootstrap/{name}.py" for name in ("operator", "embedded", "jobs")}
        assert making - others == {"bootstrap/aws.py"}, built
        assert ("bootstrap/operator.py" in making) is (built in operators)
        assert ("bootstrap/embedded.py" in making) is (built in embedded)
    knowing = {name for name, tree in trees(DEPLOYED) if "unsay_core.bootstrap.operator" in imported(tree)}
    assert {name.partition("/")[0] for name in knowing} == {"admin"}
    for module, known_to in (("embedded", "chores"), ("chores", "embedded")):
        knowing = {n for n, tree in trees(DEPLOYED) if f"unsay_core.bootstrap.{module}" in imported(tree)}
        assert knowing == {f"bootstrap/{known_to}.py"}


def test_nothing_deployed_knows_where_it_runs() -> None:
    knows = re.compile(
        r"localhost|127\.0\.0\.1|ministack|moto\b|localstack|endpoint_url|local cloud|pytest", re.I
    )
    telling = {
        name_of(path): match[0]
        for path in DEPLOYED
        if path != CORE / "__init__.py" and (match := knows.search(path.read_text()))
    }
    assert telling == {}
    assert knows.search("http://localhost:4566")


def test_time_ids_and_chance_are_arguments_within_the_core() -> None:
    """Only the adapters look at a clock or draw lots; a test may stand still and repeat."""
    drawn = re.compile(r"\bdatetime\.now\(|\butcnow\(|\btime\.(time|sleep|monotonic)\(|\brandom\.|\buuid4?\b")
    inner = [path for path in DEPLOYED if name_of(path).split("/")[0] in (*INNER, "functions")]
    assert {name_of(path) for path in inner if drawn.search(path.read_text())} == set()
    assert drawn.search((CORE / "adapters" / "world.py").read_text())


def test_a_broad_except_says_why_on_its_line() -> None:
    broad = re.compile(r"^\s*except( BaseException| Exception)?( as \w+)?:(.*)$", re.M)
    found = [(name_of(path), match[3]) for path in DEPLOYED for match in broad.finditer(path.read_text())]
    assert found
    assert [name for name, reason in found if "- " not in reason] == []


def test_no_table_is_scanned_and_no_statement_language_is_used() -> None:
    forbidden = {"scan", "execute_statement", "batch_execute_statement", "execute_transaction"}
    for name, tree in trees(DEPLOYED):
        assert not forbidden & {called(call) for call in calls(tree)}, name
        assert not {"scan", "query_paginator"} & set(strings(tree)), name


def test_callers_with_keys_do_not_wait_for_what_tokens_need() -> None:
    """In a fresh interpreter: cryptography takes as long to import as much of the rest."""
    program = (
        "import os, sys\n"
        "from unsay_core import settings\n"
        "names = settings.variables(settings.AuthorizerSettings).values()\n"
        "os.environ.update(dict.fromkeys(names, 'x'), AWS_DEFAULT_REGION='eu-central-1')\n"
        "import functions.authorizer.handler\n"
        "assert 'boto3' in sys.modules\n"
        "assert not {'jwt', 'cryptography'} & sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_a_cold_start_of_the_api_makes_what_every_call_needs_and_no_more() -> None:
    """In a fresh interpreter, by the names of our modules; a call's own come with the first of its kind."""
    program = (
        "import os, sys\n"
        "from unsay_core import settings\n"
        "names = settings.variables(settings.ApiSettings).values()\n"
        "os.environ.update(dict.fromkeys(names, 'x'), AWS_DEFAULT_REGION='eu-central-1')\n"
        "os.environ['UNSAY_INDEX_GENERATIONS'] = '[]'\n"
        "import functions.api.handler\n"
        "print(*(name.removeprefix('unsay_core.') for name in sys.modules if name.startswith('unsay_core.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    parts = {name: {m.partition(".")[2] for m in loaded if m.startswith(f"{name}.")} for name in NEEDED}
    assert parts == NEEDED
    assert not loaded & RARE
    assert all((CORE / f"{name.replace('.', '/')}.py").is_file() for name in RARE), "the control"


NEEDED = {
    "contracts": set("answers base cursor exact_json filter operations prompt query_string requests".split()),
    "endpoints": set("call problem reply router".split()),
    "bootstrap": set("aws generations".split()),
}
RARE = {
    "adapters.bedrock.converse",
    "adapters.oidc",
    "adapters.s3.graves",
    "adapters.s3.transcripts",
    "adapters.s3.transfers",
    "application.authenticate",
    "application.bindings",
    "application.consolidate",
    "application.conversations",
    "application.extract",
    "application.forget_selection",
    "application.index_memories",
    "application.model",
    "application.reindex",
    "application.statistics",
    "application.transfers",
    "application.uploads",
}


HANDLERS = ("api", "mcp", "authorizer", "project", "index", "extract", "jobs", "sweep")


@pytest.mark.parametrize("function", HANDLERS)
def test_the_handler_of_each_function_is_the_file_that_tests_import(
    function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib import import_module

    from unsay_core import settings

    kind = getattr(settings, f"{function.capitalize()}Settings")
    for variable in settings.variables(kind).values():
        monkeypatch.setenv(variable, "value")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    module = import_module(f"functions.{function}.handler")
    assert module.__file__ == str(FUNCTIONS / function / "handler.py")
    assert callable(module.handler)


def test_every_function_has_a_handler_and_no_other_code_is_deployed_as_one() -> None:
    folders = {path.name for path in FUNCTIONS.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(HANDLERS)


@pytest.mark.parametrize("function", HANDLERS)
def test_a_missing_setting_fails_at_cold_start(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from unsay_core import settings

    kind = getattr(settings, f"{function.capitalize()}Settings")
    names = list(settings.variables(kind).values())
    whole = dict.fromkeys(names, "value")
    assert kind.from_environment(whole)
    for name in names:
        with pytest.raises(settings.MissingSettingError, match=name):
            kind.from_environment({**whole, name: ""})
