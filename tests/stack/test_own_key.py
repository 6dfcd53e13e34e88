"""`encryption: cmk` on the local cloud: the same service over stores that are under one key of one's own.

What KMS itself would refuse, the local cloud does not: that the key's policy lets the stores in is seen in
`tests/infra/test_encryption.py` and by nobody else yet.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

import unsay
from local.place import Place
from tests.support.stack import ROOT, Stack, eventually, free_port, start, stop

pytestmark = pytest.mark.stack

SCOPE = "sealed/alice"
SYNTHESIZE = "import sys; from app import synthesize; synthesize(sys.argv[1], encryption='cmk')"


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("sealed")
    command = [sys.executable, "-c", SYNTHESIZE, str(folder / "cdk.out")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    place = Place(free_port(), folder / "state")
    yield start(place, folder / "cdk.out")
    stop(place)


def test_what_is_remembered_under_a_key_of_ones_own_is_found_corrected_and_forgotten(sealed: Stack) -> None:
    with unsay.connect(sealed.url, token=sealed.admin_key) as memory:
        home = memory.remember("Alice lives in Lisbon.", scope=SCOPE)
        found = memory.recall("Where does Alice live?", scope=SCOPE)
        assert [item.memory.id for item in found.items] == [home.id]
        moved = memory.correct(home, "Alice lives in Porto.", because="changed")
        eventually(lambda: memory.get(moved).index.state == "indexed")
        said = [{"seq": 1, "role": "user", "content": "I have a dog."}]
        memory.converse("run-1", said, scope=SCOPE, flush=True)
        eventually(lambda: memory.conversation("run-1", scope=SCOPE).extracted_through == 1)
        receipt = memory.forget(moved, reason="user_request")
        eventually(lambda: memory.erasure(receipt.id, scope=SCOPE).state == "complete")
        assert [item.content for item in memory.list(scope=SCOPE).items] == ["I have a dog."]
        assert memory.verify_audit(scope=SCOPE).ok


def test_every_queue_is_under_the_one_key(sealed: Stack) -> None:
    """Of other stores the local cloud does not say it."""
    (key,) = sealed.aws("kms").list_keys()["Keys"]
    endings = ("QueueUrl", "DeadLettersUrl")
    queues = {name: url for name, url in sealed.outputs.items() if name.endswith(endings)}
    assert len(queues) >= 6
    assert {name for name, url in queues.items() if key["KeyId"] not in _key_of(sealed, url)} == set()


def _key_of(stack: Stack, url: str) -> str:
    asked = {"QueueUrl": url, "AttributeNames": ["KmsMasterKeyId"]}
    return str(stack.aws("sqs").get_queue_attributes(**asked)["Attributes"]["KmsMasterKeyId"])
