"""Another index beside the one there is, filled from the ledger, read, the old one dropped: without a pause.

On a cloud of its own, because it deploys the stack three times over.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from botocore.exceptions import ClientError

from local.deploy import deploy
from local.place import Place
from tests.support.stack import ROOT, Stack, eventually, free_port, session_of, start, stop

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.stack

FIRST: dict[str, Any] = {
    "generation": 1,
    "backend": "knowledge-base",
    "model": "amazon.titan-embed-text-v2:0",
    "dimension": 1024,
}
SECOND = {**FIRST, "generation": 2, "backend": "s3-vectors"}
THIRD = {**FIRST, "generation": 3, "model": "amazon.nova-2-multimodal-embeddings-v1:0", "dimension": 384}
SWITCH = "unsay-admin reindex --all --into 2 --switch"
SCOPES = ("acme/users/ravi", "acme/users/mia", "globex/agents/a")
FACTS = (
    "collects old maps",
    "has a sister who is an astronomer",
    "moved to Pune in spring",
    "plays the oboe",
    "is allergic to walnuts",
    "reads the newspaper on paper",
    "keeps bees on the roof",
    "hates early meetings",
)
QUERIES = ("Who in the family looks at stars?", "Which food is dangerous?", "What instrument is played?")


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The stack with the first two generations, with the last two, and with the last alone."""
    folder = tmp_path_factory.mktemp("generations")
    made = [folder / name for name in ("first-two", "last-two", "last")]
    program = "import sys, json; from app import synthesize\n"
    for outdir, listed in zip(made, ([FIRST, SECOND], [SECOND, THIRD], [THIRD]), strict=True):
        program += f"synthesize({str(outdir)!r}, stage='dev', index=json.loads({json.dumps(listed)!r}))\n"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True)
    return made


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(free_port(), tmp_path_factory.mktemp("moving") / "state")


@pytest.fixture(scope="module")
def stack(place: Place) -> Iterator[Stack]:
    yield start(place)
    stop(place)


@pytest.fixture
def client(stack: Stack) -> Iterator[httpx.Client]:
    with stack.client() as found:
        yield found


def patiently(ask: Callable[[], httpx.Response]) -> httpx.Response:
    """Ask again while the service is busy, as a client does."""
    while (answer := ask()).status_code == 503 and answer.json()["code"] == "busy":
        pass
    return answer


class World:
    """What a client sees of three scopes."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def remember(self, scope: str, content: str) -> str:
        body = {"scope": scope, "content": content}
        answer = patiently(lambda: self._client.post("/v1/memories", json=body))
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def forget(self, scope: str, memory_id: str) -> str:
        where = {"scope": scope, "reason": "user_request"}
        answer = patiently(lambda: self._client.delete(f"/v1/memories/{memory_id}", params=where))
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def receipt(self, scope: str, erasure_id: str) -> str:
        return str(self._client.get(f"/v1/erasures/{erasure_id}", params={"scope": scope}).json()["state"])

    def recalled(self, scope: str, query: str) -> list[tuple[str, float | None]]:
        """Each content that is found, with how near the index says it is."""
        body = {"scope": scope, "query": query, "limit": 20}
        answer = patiently(lambda: self._client.post("/v1/recall", json=body)).json()
        found = ((i["memory"]["content"], i["scores"]["semantic"]) for i in answer["items"])
        return [(content, near and round(near, 3)) for content, near in found]

    def answers(self) -> dict[tuple[str, str], Any]:
        """Everything that is asked here, and its answer."""
        return {(scope, query): self.recalled(scope, query) for scope in SCOPES for query in QUERIES}

    def is_indexed(self) -> bool:
        listed = [
            memory
            for scope in SCOPES
            for memory in self._client.get("/v1/memories", params={"scope": scope, "limit": 100}).json()[
                "items"
            ]
        ]
        return {memory["index"]["state"] for memory in listed} == {"indexed"}


def admin(place: Place, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "unsay_core.admin.cli", *arguments]
    environment = {**os.environ, **place.client_environment()}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = process.communicate(timeout=600)  # a worker that a deployment replaced holds its calls a while
    return process.returncode, said


def generations(stack: Stack) -> list[dict[str, Any]]:
    """The generations that are deployed now."""
    outputs = stack.aws("cloudformation").describe_stacks(StackName="unsay-dev")["Stacks"][0]["Outputs"]
    (listed,) = (json.loads(o["OutputValue"]) for o in outputs if o["OutputKey"] == "IndexGenerations")
    return list(listed)


def listed(stack: Stack, generation: int) -> dict[str, Any]:
    (found,) = (each for each in generations(stack) if each["number"] == generation)
    return found


def source(stack: Stack, generation: int) -> dict[str, str]:
    found = listed(stack, generation)
    return {"knowledgeBaseId": found["knowledge_base_id"], "dataSourceId": found["data_source_id"]}


def held(stack: Stack, generation: int) -> set[str]:
    """What a generation has, by what the service itself says."""
    if listed(stack, generation)["backend"] == "s3-vectors":
        return {
            key
            for keys in vectors(stack, listed(stack, generation)["vector_bucket"]).values()
            for key in keys
        }
    page = stack.aws("bedrock-agent").list_knowledge_base_documents(
        **source(stack, generation), maxResults=1000
    )
    return {d["identifier"]["custom"]["id"] for d in page["documentDetails"] if d["status"] == "INDEXED"}


def vectors(stack: Stack, bucket: str) -> dict[str, list[str]]:
    """The keys of each index of a bucket."""
    client = stack.aws("s3vectors")
    names = [each["indexName"] for each in client.list_indexes(vectorBucketName=bucket)["indexes"]]
    return {
        name: [v["key"] for v in client.list_vectors(vectorBucketName=bucket, indexName=name)["vectors"]]
        for name in names
    }


def lose(stack: Stack, ids: set[str]) -> None:
    """Empty the first generation."""
    lost = sorted(ids)
    for at in range(0, len(lost), 10):
        named = [{"dataSourceType": "CUSTOM", "custom": {"id": i}} for i in lost[at : at + 10]]
        stack.aws("bedrock-agent").delete_knowledge_base_documents(
            **source(stack, 1), documentIdentifiers=named
        )
    eventually(lambda: not held(stack, 1))


def test_generations_come_and_go_and_so_do_backends_without_a_pause(
    place: Place, stack: Stack, client: httpx.Client, templates: list[Path]
) -> None:
    first_two, last_two, last = templates
    world = World(client)
    ids = {scope: [world.remember(scope, f"{scope} {fact}.") for fact in FACTS] for scope in SCOPES}
    eventually(world.is_indexed, within=120)
    ravi, mia, agent = SCOPES
    early = world.forget(agent, ids[agent].pop())
    before = world.answers()

    # Deployed beside the first; nothing is read from it, and nothing of the past is in it.
    deploy(place, first_two)
    assert held(stack, 2) == set()
    assert world.answers() == before

    # A filling that is killed half-way, while memories come and go.
    stack.faults(delay_seconds={"s3vectors.PutVectors": 1.0})
    filling = admin(place, "reindex", "--all", "--into", "2")
    eventually(lambda: held(stack, 2), within=120)
    new = world.remember(mia, "Mia bought a kayak.")
    assert "Mia bought a kayak." in [content for content, _ in world.recalled(mia, "kayak")]
    gone = ids[ravi].pop(0)
    erasure = world.forget(ravi, gone)
    assert all("old maps" not in content for content, _ in world.recalled(ravi, "old maps"))
    os.kill(filling.pid, signal.SIGKILL)
    filling.wait()
    stack.no_faults()
    for scope, receipt in ((agent, early), (ravi, erasure)):
        eventually(lambda: world.receipt(scope, receipt) == "complete", within=120)  # noqa: B023 - at once
    assert gone not in held(stack, 1) | held(stack, 2)

    # The same command goes on, and ends when nothing is missing.
    assert SWITCH in (ROOT / "docs" / "deploy.md").read_text()
    code, said = ended(admin(place, *SWITCH.split()[1:]))
    assert code == 0, said
    eventually(world.is_indexed, within=120)
    there = {new, *(memory_id for scope in SCOPES for memory_id in ids[scope])}
    assert held(stack, 2) == held(stack, 1) == there
    expected = world.answers()
    unchanged = [question for question in before if question[0] == agent]
    assert [expected[q] for q in unchanged] == [before[q] for q in unchanged]

    # The first is emptied behind the service's back: what is read is the second.
    lose(stack, there)
    eventually(lambda: world.answers() == expected, within=150)
    an_index_is_for_its_root_alone(stack)

    # The first is dropped, a third comes: a knowledge base again, of another model.
    deploy(place, last_two)
    assert [each["number"] for each in generations(stack)] == [2, 3]
    assert world.answers() == expected
    code, said = ended(admin(place, "reindex", "--all", "--into", "3", "--switch"))
    assert code == 0, said
    assert held(stack, 3) == there
    assert ended(admin(place, "remove-generation", "2"))[0] == 2, "it is listed"

    # The second is dropped, and its vectors with it.
    deploy(place, last)
    assert world.answers() == expected
    erasure = world.forget(mia, new)
    eventually(lambda: world.receipt(mia, erasure) == "complete", within=120)
    assert new not in held(stack, 3)
    for scope in SCOPES:
        assert client.get("/v1/audit/verify", params={"scope": scope}).json()["ok"]
    assert new in {key for keys in vectors(stack, "unsay-dev-g2").values() for key in keys}
    code, said = ended(admin(place, "remove-generation", "2"))
    assert code == 0, said
    buckets = stack.aws("s3vectors").list_vector_buckets()["vectorBuckets"]
    assert "unsay-dev-g2" not in {bucket["vectorBucketName"] for bucket in buckets}


def an_index_is_for_its_root_alone(stack: Stack) -> None:
    """Under the deployed roles: a session of one root reaches the index of that root, and of no other."""
    found = listed(stack, 2)
    acme, globex = sorted(vectors(stack, found["vector_bucket"]).items(), key=lambda each: -len(each[1]))
    assert (len(acme[1]), len(globex[1])) == (16, 7)
    for role, ask in (("finder_role_arn", queried), ("indexer_role_arn", written)):
        mine = stack.aws("s3vectors", **session_of(stack, found[role], root=acme[0]))
        ask(mine, found["vector_bucket"], acme[0])
        untagged = stack.aws("s3vectors", **session_of(stack, found[role]))
        other_tag = stack.aws("s3vectors", **session_of(stack, found[role], scope=acme[0]))
        for client, index in ((mine, globex[0]), (untagged, acme[0]), (other_tag, acme[0])):
            with pytest.raises(ClientError, match="AccessDenied"):
                ask(client, found["vector_bucket"], index)
    finder = stack.aws("s3vectors", **session_of(stack, found["finder_role_arn"], root=acme[0]))
    with pytest.raises(ClientError, match="AccessDenied"):
        written(finder, found["vector_bucket"], acme[0])


def queried(client: Any, bucket: str, index: str) -> None:
    vector = {"float32": [1.0] * SECOND["dimension"]}
    client.query_vectors(vectorBucketName=bucket, indexName=index, topK=1, queryVector=vector)


def written(client: Any, bucket: str, index: str) -> None:
    client.delete_vectors(vectorBucketName=bucket, indexName=index, keys=["mem_nobody"])
