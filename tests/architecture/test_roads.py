"""`open_scope` is the only road to STS and to a client of a data store: read from the code, and tried out.

Each way round that we could think of is a piece of code below; what finds them is what reads the service.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "layers" / "core" / "python" / "unsay_core"
DEPLOYED = sorted([*CORE.rglob("*.py"), *(ROOT / "functions").rglob("*.py")])

# Sessions and clients are made here; what each may do with them is told apart below. The admin's commands run
# with the credentials of whoever runs them, on no λ.
ROOTS = {
    "adapters/scoped_session.py",
    "bootstrap/authorizer.py",
    "bootstrap/aws.py",
    "bootstrap/generations.py",
    "bootstrap/jobs.py",
    "bootstrap/operator.py",
    "admin/cli.py",
    "admin/stack.py",
}
HARMLESS = {"botocore.exceptions", "botocore.config"}
ROADS = {"client", "resource", "create_client", "Session", "get_session", "session", "sessions", "_session"}
TO_STS = {"assume_role", "assume_role_with_saml", "assume_role_with_web_identity", "get_scoped_credentials"}
CREDENTIALS = {"aws_session_token", "aws_secret_access_key", "AWS_SESSION_TOKEN", "AWS_SECRET_ACCESS_KEY"}
MADE_UP = {"import_module", "__import__", "eval", "exec", "compile", "globals", "vars"}
# Modules that look up a name they compute: of entries and requests, never of a session.
COMPUTED_NAMES = {
    "adapters/memory_ledger.py",
    "adapters/records.py",
    "application/draft.py",
    "contracts/operations.py",
    "contracts/requests.py",
    "contracts/selection.py",
    "domain/values.py",
    "endpoints/__init__.py",
    "endpoints/memories.py",
}
COMPUTED_IMPORTS = {
    "adapters/snapshots.py",  # of the runtime's own hooks, where there are any
    "contracts/operations.py",  # of the models beside it, by names that stand there
    "endpoints/__init__.py",  # of its own modules, by names that stand there
}


def name_of(path: Path) -> str:
    return str(path.relative_to(CORE if path.is_relative_to(CORE) else ROOT))


def for_types_only(tree: ast.Module) -> set[int]:
    """Nodes that no interpreter runs."""
    guarded = (
        node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    )
    return {id(inner) for node in guarded for inner in ast.walk(node)}


def roads(tree: ast.Module) -> set[str]:
    """What in a module could lead to AWS."""
    unrun = for_types_only(tree)
    return {found for node in ast.walk(tree) if id(node) not in unrun for found in _roads_of(node)}


def _roads_of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (f"import {n.name}" for n in names if _leads_away(n.name))
        case ast.ImportFrom(module=str(module), names=names):
            yield from (f"import {module}" for _ in names[:1] if _leads_away(module))
        case ast.Attribute(attr=name) if name in ROADS | TO_STS:
            yield f".{name}"
        case ast.Name(id=name) if name in MADE_UP | TO_STS:
            yield name
        case ast.Call(func=ast.Name(id=("client" | "resource" | "Session") as name)):
            yield name
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            yield from (f".{name}" for _ in "x" if name in ROADS | TO_STS)
        case ast.Call(func=ast.Name(id="getattr")):
            yield "getattr"
        case ast.Constant(value=str(text)) if text in {"sts", "boto3", "botocore", *CREDENTIALS}:
            yield repr(text)
        case ast.keyword(arg=str(name)) if name in CREDENTIALS:
            yield name


def _leads_away(module: str) -> bool:
    return module.partition(".")[0] in ("boto3", "botocore") and module not in HARMLESS


def allowed(name: str) -> set[str]:
    return ({"getattr"} if name in COMPUTED_NAMES else set()) | (
        {"import_module"} if name in COMPUTED_IMPORTS else set()
    )


def test_no_module_has_a_road_of_its_own_to_aws() -> None:
    found = {name_of(path): roads(ast.parse(path.read_text())) for path in DEPLOYED}
    assert len(found) > 60
    astray = {name: ways - allowed(name) for name, ways in found.items() if name not in ROOTS}
    assert {name: ways for name, ways in astray.items() if ways} == {}
    assert all(found[name] for name in ROOTS), "the control: the roots have one"


BYPASSES = {
    "a client": "import boto3\nboto3.client('dynamodb').get_item()",
    "under another name": "import boto3 as b\nb.client('dynamodb')",
    "by name": "from boto3 import client\nclient('dynamodb')",
    "by another name": "from boto3 import client as c\nc('dynamodb')",
    "a resource": "import boto3\nboto3.resource('dynamodb').Table('ledger')",
    "a session": "from boto3.session import Session\nSession().client('s3')",
    "botocore": "import botocore.session\nbotocore.session.get_session().create_client('sts')",
    "within a function": "def f():\n    import boto3\n    return boto3.client('sts')",
    "the service's session": "def f(service):\n    return service.session.client('dynamodb')",
    "the service's sessions": "def f(service):\n    return service.sessions.assume('role', 'scope')",
    "a kept method": "def f(service):\n    make = service.session.client\n    return make('dynamodb')",
    "getattr": "def f(service):\n    return getattr(service, 'session')",
    "a computed name": "def f(service):\n    return getattr(service, 'ses' + 'sion')",
    "import_module": "from importlib import import_module\nimport_module('bo' + 'to3')",
    "__import__": "__import__('boto3').client('sts')",
    "eval": "eval('__imp' + 'ort__(\"boto3\")')",
    "sts": "def f(sts):\n    return sts.assume_role(RoleArn='r', RoleSessionName='s')",
    "the credentials of the environment": "import os\nkey = os.environ['AWS_SECRET_ACCESS_KEY']",
    "credentials by hand": "def f(make):\n    return make(aws_session_token='t')",
}


@pytest.mark.parametrize("attempt", BYPASSES)
def test_a_way_round_is_noticed(attempt: str) -> None:
    assert roads(ast.parse(BYPASSES[attempt]))


def test_what_is_for_types_alone_is_no_road() -> None:
    code = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from boto3.session import Session\n"
    assert roads(ast.parse(code)) == set()


BOOTSTRAP = ast.parse((CORE / "bootstrap" / "aws.py").read_text())
AUTHORIZER = ast.parse((CORE / "bootstrap" / "authorizer.py").read_text())


def methods(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Every function of a module by its class and name."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        for inner in getattr(node, "body", []):
            if isinstance(node, ast.ClassDef) and isinstance(inner, ast.FunctionDef):
                yield f"{node.name}.{inner.name}", inner


def calls_of(function: ast.FunctionDef, method: str) -> list[ast.Call]:
    found = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return [call for call in found if isinstance(call.func, ast.Attribute) and call.func.attr == method]


def test_these_alone_open_a_session() -> None:
    both = chain(methods(BOOTSTRAP), methods(AUTHORIZER))
    opening = {name for name, function in both if calls_of(function, "assume")}
    assert opening == {
        "ApiService.open_scope",
        "ApiService.open_audit",  # opens the scope first
        "ApiService.open_intake",  # so does this
        "ApiService.open_transfer",  # and this
        "ApiService._access",  # keys and names of scopes: no tag, no scope
        "ExtractService.clients",  # the same of a batch of messages
        "ExtractService._metering",
        "_Workshop.clients",  # the workers' door: the tag is the scope of the message or record
        "ProjectService._registrar",
    }


def test_the_grants_are_looked_at_before_a_session_is_opened() -> None:
    (opening,) = (function for name, function in methods(BOOTSTRAP) if name == "ApiService.open_scope")
    (require,), (assume,) = calls_of(opening, "require"), calls_of(opening, "assume")
    first = next(node for node in opening.body if not isinstance(node.value, ast.Constant))  # type: ignore[attr-defined]
    assert first.value is require  # type: ignore[attr-defined]
    assert require.lineno < assume.lineno
    also = [
        function
        for name, function in methods(BOOTSTRAP)
        if name.startswith(("ApiService.open_a", "ApiService.open_i", "ApiService.open_t"))
    ]
    assert len(also) == 3
    for function in also:
        assert calls_of(function, "open_scope")[0].lineno < calls_of(function, "assume")[0].lineno


def test_a_functions_own_role_asks_for_no_store_of_memories() -> None:
    """A client of the λ's own session: pepper, queues, bus, a model; the authorizer reads keys.

    And whoever opens scopes sees the mark within each table, which is no scope's.
    """
    asked = {
        (name, call.args[0].value)  # type: ignore[attr-defined]
        for name, function in chain(methods(BOOTSTRAP), methods(AUTHORIZER))
        for call in calls_of(function, "client")
        if ast.unparse(call.func).endswith("session.client")
    }
    services = {"secretsmanager", "sqs", "events", "bedrock-runtime", "dynamodb"}
    assert {service for _, service in asked} == services
    reading = {name for name, service in asked if service == "dynamodb"}
    assert reading == {"AuthorizerService.authenticator", "_Service.marks"}
