"""The client against the deployed stack: what it sends is taken, what it reads is answered."""

import doctest
import io
from decimal import Decimal

import pytest

import unsay
from tests.support.stack import eventually

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def memory(stack):
    with unsay.connect(stack.url, token=stack.admin_key) as admin:
        yield admin


def test_a_memory_lives_and_is_forgotten(memory):
    scope = ["client", "a/b", "50%"]
    home = memory.remember(
        "Alice lives in Lisbon.", scope=scope, tags=["home"], data={"n": 1, "price": Decimal("1.10")}
    )
    assert home.scope == "client/a%2Fb/50%25"
    assert (str(home.data["n"]), str(home.data["price"])) == ("1", "1.10")
    assert memory.remember("Alice lives in  Lisbon.", scope=scope, tags=["home"], data=home.data).deduplicated

    found = memory.recall("Where does Alice live?", scopes=[scope])
    assert [item.memory.id for item in found.items] == [home.id]

    moved = memory.correct(home, "Alice lives in Porto.", because="changed")
    assert (moved.tags, moved.supersedes) == (["home"], [home.id])
    assert memory.get(home).status is unsay.Status.SUPERSEDED
    assert [item.id for item in memory.list(scope=scope).items] == [moved.id]
    with pytest.raises(unsay.WrongStatusError):
        memory.correct(memory.get(home), "Alice lives in Faro.", because="changed")

    receipt = memory.forget(moved, reason="user_request")
    assert receipt.erased == 2
    with pytest.raises(unsay.AlreadyForgottenError) as again:
        memory.forget(moved, reason="user_request")
    assert again.value.erasure_id == receipt.id
    with pytest.raises(unsay.NotFoundError):
        memory.get(moved)
    with pytest.raises(unsay.TombstonedError) as refused:
        memory.remember("alice lives in porto", scope=scope)
    assert refused.value.tombstoned_at == receipt.requested_at
    eventually(lambda: memory.erasure(receipt.id, scope=scope).state == "complete")
    walked = memory.verify_audit(scope=scope)
    assert (walked.ok, walked.complete) == (True, True)


def test_an_idempotency_key_makes_one_memory_of_two_calls(memory):
    first = memory.remember("Once.", scope="client/once", idempotency_key="k1")
    assert memory.remember("Once.", scope="client/once", idempotency_key="k1").id == first.id
    with pytest.raises(unsay.IdempotencyMismatchError):
        memory.remember("Twice.", scope="client/once", idempotency_key="k1")


def test_pages_lead_to_the_end(memory):
    made = [memory.remember(f"Number {n}.", scope="client/pages").id for n in range(5)]
    seen, cursor = [], None
    while True:
        page = memory.list(scope="client/pages", limit=2, order="asc", cursor=cursor)
        seen += [item.id for item in page.items]
        if not (cursor := page.next_cursor):
            break
    assert seen == made


def test_a_key_reaches_as_far_as_its_grants(memory, stack):
    memory.remember("Mine.", scope="client/mine")
    made = memory.make_key("reader", kind="agent", grants={"client/mine": ["read"]})
    with unsay.connect(stack.url, token=made.secret) as reader:
        assert [item.content for item in reader.list(scope="client/mine").items] == ["Mine."]
        for call in (
            lambda: reader.list(scope="client/other"),
            lambda: reader.remember("No.", scope="client/mine"),
        ):
            with pytest.raises(unsay.ForbiddenError):
                call()


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (unsay.InvalidScopeError, lambda m: m.list(scope="a/")),
        (unsay.InvalidLimitError, lambda m: m.list(scope="a", limit=0)),
        (unsay.InvalidCursorError, lambda m: m.list(scope="a", cursor="x")),
        (unsay.InvalidTimeError, lambda m: m.remember("x", scope="a", valid_from="2026-05-01T09:30:00")),
        (unsay.ReservedKeyError, lambda m: m.remember("x", scope="a", metadata={"_x": 1})),
        (unsay.InvalidRequestError, lambda m: m.remember(" ", scope="a")),
        (unsay.TooLargeError, lambda m: m.remember("x" * 20_000, scope="a")),
        (unsay.SecretRefusedError, lambda m: m.remember("password: Abc123Abc123Abc123Abc1", scope="a")),
        (unsay.NotFoundError, lambda m: m.get("mem_01j0000000000000000000000a", scope="a")),
    ],
)
def test_a_refusal_of_the_service_is_the_exception_of_that_name(memory, kind, call):
    with pytest.raises(kind) as caught:
        call(memory)
    assert type(caught.value) is kind
    assert caught.value.request_id


def test_a_correction_names_the_version_it_is_meant_for(memory):
    first = memory.remember("Version one.", scope="client/versions")
    with pytest.raises(unsay.PreconditionRequiredError):
        memory.correct(first.id, "x", because="wrong", scope="client/versions")
    with pytest.raises(unsay.VersionConflictError) as stale:
        memory.correct(first.id, "x", because="wrong", scope="client/versions", version=9)
    assert stale.value.current_version == 1


def test_a_key_nobody_made_is_refused(stack):
    with unsay.connect(stack.url, token="unsay_nobody") as nobody, pytest.raises(unsay.ForbiddenError):
        nobody.list(scope="a")


def test_the_example_in_the_package_runs_as_it_is_written(stack):
    shown = doctest.DocTestParser().get_doctest(unsay.__doc__, {}, "unsay", None, 0)
    for example in shown.examples:
        if "connect(" in example.source:
            example.source = f"memory = unsay.connect({stack.url!r}, token={stack.admin_key!r})\n"
    said = io.StringIO()
    assert len(shown.examples) == 6
    assert doctest.DocTestRunner().run(shown, out=said.write, clear_globs=False).failed == 0, said.getvalue()
    shown.globs["memory"].close()
