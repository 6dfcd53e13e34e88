"""The face of the package, and how a connection begins."""

import ast
import inspect
from importlib import import_module

import pytest

import unsay
from tests.client.examples import EXAMPLES, VERBS, path_of
from unsay import errors
from unsay_core.contracts.operations import OPERATIONS, model_of
from unsay_core.contracts.schemas import SelectedOut


def test_what_is_exported_is_what_is_there():
    """What a checker is told of each name is what a program gets under it."""
    told = next(node for node in ast.parse(inspect.getsource(unsay)).body if isinstance(node, ast.If))
    found = {
        name.name: getattr(import_module(line.module), name.name) for line in told.body for name in line.names
    }
    assert found.keys() == set(unsay.__all__)
    assert {name: getattr(unsay, name) for name in unsay.__all__} == found
    assert unsay.__all__ == sorted(
        unsay.__all__, key=lambda name: (not name.isupper(), name[0].islower(), name)
    )
    assert set(unsay.__all__) <= set(dir(unsay))
    with pytest.raises(AttributeError, match="nothing"):
        unsay.nothing


def test_every_exception_is_exported_and_drawn_in_the_tree():
    kinds = {
        name for name, value in vars(errors).items() if isinstance(value, type) and name.endswith("Error")
    }
    assert kinds <= set(unsay.__all__)
    assert all(name in errors.__doc__ for name in kinds)


@pytest.mark.parametrize("kind", [unsay.Memory, unsay.AsyncMemory])
def test_both_clients_have_every_verb_under_its_own_name_and_nothing_else(kind):
    public = {name: member for name, member in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}
    assert public.keys() == {*VERBS, "ask", "close", "sweep"}
    for name, verb in VERBS.items():
        assert (public[name].__doc__, inspect.signature(public[name])) == (
            verb.__doc__,
            inspect.signature(verb),
        )


def test_the_verbs_reach_every_call_of_the_contract_but_the_public_ones():
    asked = {(ask.method, ask.path, ask.answer) for ask in EXAMPLES.values()}
    asked -= {("POST", ("forget",), SelectedOut)}  # the dry run of the same call
    assert EXAMPLES.keys() == VERBS.keys()
    served = [operation for operation in OPERATIONS if not operation.is_public]
    for operation in served:
        assert (operation.method, path_of(operation), model_of(operation.answer)) in asked, operation.name
    assert len(asked) == len(served)


@pytest.mark.parametrize(
    "url", ["https://x.example", "https://x.example/", "https://x.example/v1", "https://x.example/v1/"]
)
def test_a_url_may_end_in_the_version_or_a_slash(url):
    assert repr(unsay.connect(url, token="t")) == "<unsay.Memory https://x.example>"


@pytest.mark.parametrize("url", ["http://127.0.0.1:4566", "http://localhost:4566/v1", "http://[::1]:4566"])
def test_on_this_machine_plain_http_will_do(url):
    assert unsay.connect(url, token="t")


@pytest.mark.parametrize(
    "url", ["http://x.example", "http://127.0.0.1.x.example", "ftp://x.example", "x.example", ""]
)
def test_a_key_is_never_sent_in_the_clear(url):
    with pytest.raises(ValueError, match="https"):
        unsay.connect(url, token="t")


def test_a_path_alone_is_answered_with_the_url_of_a_store():
    for connect in (unsay.connect, unsay.connect_async):
        with pytest.raises(ValueError, match="sqlite:///"):
            connect("memory.db")


def test_nothing_prints_the_key():
    memory = unsay.connect("https://x.example", token="unsay_hush")
    assert "hush" not in repr(memory) + str(vars(memory)) + str(vars(memory._transport))


def test_a_closed_client_sends_nothing():
    with unsay.connect("https://x.example", token="t") as memory:
        pass
    with pytest.raises(unsay.ClosedError):
        memory.get("mem_1", scope="a")
