"""Every port on every backend: a suite takes the fixture and does not know which one it got."""

from __future__ import annotations

import itertools
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config
from moto import mock_aws

from tests.support.clients import OneAtATime
from tests.support.clock import fake_world
from tests.support.fakes import PEPPER, MemoryDocuments, MemoryIndexQueue, MemoryKeys
from tests.support.knowledge_base import FakeIndex, FakeKnowledgeBase, FakeSearch
from tests.support.stack import eventually
from unsay_core.adapters.bedrock.embedding import BedrockEmbedding, VectorCache
from unsay_core.adapters.bedrock.index import KnowledgeBaseIndex
from unsay_core.adapters.bedrock.search import KnowledgeBaseSearch
from unsay_core.adapters.dynamodb.access import DynamoKeys
from unsay_core.adapters.dynamodb.items import Place
from unsay_core.adapters.dynamodb.ledger import DynamoLedger
from unsay_core.adapters.memory_ledger import MemoryLedger
from unsay_core.adapters.messaging import SqsIndexQueue, task_of_message
from unsay_core.adapters.minilm import MiniLm
from unsay_core.adapters.s3.documents import S3Documents
from unsay_core.adapters.s3vectors.index import RootIndex, VectorIndex
from unsay_core.adapters.s3vectors.search import VectorSearch
from unsay_core.adapters.sqlite import InMemoryFile, LedgerFile, SqliteLedger
from unsay_core.adapters.sqlite.kept import SqliteKeys
from unsay_core.adapters.sqlite.vectors import SqliteVectors
from unsay_core.application.keys import Keyring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.support.stack import Stack
    from unsay_core.application.access import Keys
    from unsay_core.application.ports import Documents, Index, IndexQueue, IndexTask, Ledger, Search

REGION = "us-east-1"
TABLE_KEY = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
# Whose policies together reach every area of a scope.
ROLES = [f"{name}RoleArn" for name in ("Reader", "Writer", "Eraser", "Projector", "Porter", "Remover")]
ON_STACK = pytest.param("stack", marks=pytest.mark.stack)
EMBEDDINGS = {"amazon.titan-embed-text-v2:0": 1024, "amazon.nova-2-multimodal-embeddings-v1:0": 384}
_numbers = itertools.count(1)


def new_scope_id() -> str:
    """A scope nobody has used: suites share tables, buckets and the knowledge base."""
    return Keyring.from_pepper(PEPPER).scope_id(f"contract/{next(_numbers)}")


@pytest.fixture(scope="module")
def moto_session() -> Iterator[boto3.session.Session]:
    """AWS in this process, with our tables and bucket; gone before other tests talk to another."""
    with mock_aws():
        session = boto3.session.Session("test", "test", region_name=REGION)
        dynamodb = session.client("dynamodb")
        for table in ("ledger", "record", "access"):
            dynamodb.create_table(TableName=table, **TABLE_KEY)
        session.client("s3").create_bucket(Bucket="documents")
        yield session


@pytest.fixture
def tagged(stack: Stack) -> Callable[[str, str], Any]:
    """Clients of a session tagged with a scope, under what the deployed roles together may do."""
    role = _role_of_all_roles(stack)

    def client(service: str, scope_id: str) -> Any:
        given = stack.aws("sts").assume_role(
            RoleArn=role,
            RoleSessionName="contract",
            Tags=[{"Key": "scope", "Value": scope_id}],
        )["Credentials"]
        return boto3.client(
            service,
            endpoint_url=stack.endpoint_url,
            region_name=REGION,
            aws_access_key_id=given["AccessKeyId"],
            aws_secret_access_key=given["SecretAccessKey"],
            aws_session_token=given["SessionToken"],
            config=Config(s3={"addressing_style": "path"}),
        )

    return client


def _role_of_all_roles(stack: Stack) -> str:
    """A role that tests may assume, holding the policies of the deployed ones as they are."""
    iam = stack.aws("iam")
    name = "contract-tests"
    anyone = {
        "Effect": "Allow",
        "Principal": {"AWS": "arn:aws:iam::000000000000:root"},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
    }
    trust = json.dumps({"Version": "2012-10-17", "Statement": [anyone]})
    try:
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)
    except iam.exceptions.EntityAlreadyExistsException:
        return f"arn:aws:iam::000000000000:role/{name}"
    for output in ROLES:
        deployed = stack.outputs[output].rpartition("/")[2]
        for policy in iam.list_role_policies(RoleName=deployed)["PolicyNames"]:
            document = iam.get_role_policy(RoleName=deployed, PolicyName=policy)["PolicyDocument"]
            text = document if isinstance(document, str) else json.dumps(document)
            iam.put_role_policy(RoleName=name, PolicyName=f"{output}-{policy}", PolicyDocument=text)
    return f"arn:aws:iam::000000000000:role/{name}"


@pytest.fixture
def ledger_file(tmp_path: Path) -> Iterator[LedgerFile]:
    """A SQLite file that holds nothing yet."""
    file = LedgerFile(tmp_path / "ledger.sqlite")
    yield file
    file.close()


@pytest.fixture(params=["memory", "sqlite", "sqlite in memory", "moto", ON_STACK])
def new_ledger(request: pytest.FixtureRequest) -> Callable[[], Ledger]:
    """Makes ledgers of scopes that hold nothing yet."""
    match request.param:
        case "memory":
            return MemoryLedger
        case "sqlite":
            file = request.getfixturevalue("ledger_file")
            return lambda: SqliteLedger(file, new_scope_id())
        case "sqlite in memory":
            in_memory = InMemoryFile()
            return lambda: SqliteLedger(in_memory, new_scope_id())
        case "moto":
            client = OneAtATime(request.getfixturevalue("moto_session").client("dynamodb"))
            return lambda: DynamoLedger(client, Place(new_scope_id(), "ledger", "record"))
        case _:
            tagged = request.getfixturevalue("tagged")
            outputs = request.getfixturevalue("stack").outputs

            def on_stack() -> Ledger:
                scope_id = new_scope_id()
                place = Place(scope_id, outputs["LedgerTable"], outputs["RecordTable"])
                return DynamoLedger(tagged("dynamodb", scope_id), place)

            return on_stack


@pytest.fixture
def ledger(new_ledger: Callable[[], Ledger]) -> Ledger:
    """The ledger of a scope that holds nothing yet."""
    return new_ledger()


@pytest.fixture(params=["memory", "moto", ON_STACK])
def new_documents(request: pytest.FixtureRequest) -> Callable[[], Documents]:
    """Makes document stores of scopes that hold nothing yet."""
    match request.param:
        case "memory":
            return MemoryDocuments
        case "moto":
            client = request.getfixturevalue("moto_session").client("s3")
            return lambda: S3Documents(lambda: client, "documents", new_scope_id())
        case _:
            tagged = request.getfixturevalue("tagged")
            bucket = request.getfixturevalue("stack").outputs["DocumentsBucket"]

            def on_stack() -> Documents:
                scope_id = new_scope_id()
                client = tagged("s3", scope_id)
                return S3Documents(lambda: client, bucket, scope_id)

            return on_stack


@pytest.fixture(params=["memory", "sqlite", "moto"])
def keys(request: pytest.FixtureRequest) -> Keys:
    """Where API keys are kept."""
    if request.param == "memory":
        return MemoryKeys()
    if request.param == "sqlite":
        return SqliteKeys(request.getfixturevalue("ledger_file"))
    client = request.getfixturevalue("moto_session").client("dynamodb")
    return DynamoKeys(lambda: client, "access")


class Base:
    """Index and search of two scopes in one index, and how to wait for it."""

    def __init__(self, opened: Callable[[str], tuple[Index, Search]], wait: Callable[[Any], None]) -> None:
        self.index, self.search = opened(new_scope_id())
        self.other_index, self.other_search = opened(new_scope_id())
        self.until = wait


VECTORS = [pytest.param((model, number), marks=pytest.mark.stack) for model, number in EMBEDDINGS.items()]


@pytest.fixture(params=["memory", "sqlite", ON_STACK, *VECTORS], ids=str)
def base(request: pytest.FixtureRequest) -> Base:
    """One index with two scopes in it."""
    if isinstance(request.param, tuple):
        return vector_base(request.getfixturevalue("stack"), *request.param)
    if request.param == "sqlite":
        return file_base(request.getfixturevalue("ledger_file"))
    return late_base_of(request)


@pytest.fixture(params=["memory", ON_STACK])
def late_base(request: pytest.FixtureRequest) -> Base:
    """The same, of those that do what they are asked later."""
    return late_base_of(request)


def file_base(file: LedgerFile) -> Base:
    """The vectors in a SQLite file."""

    def opened(scope_id: str) -> tuple[Index, Search]:
        vectors = SqliteVectors(file, scope_id, MiniLm())
        return vectors, vectors

    return Base(opened, at_once)


def at_once(look: Callable[[], bool]) -> None:
    """For those that are done when they have answered."""
    assert look()


def vector_base(stack: Stack, model: str, dimension: int) -> Base:
    """An index of S3 Vectors with a root nobody has used, under the owner's credentials."""
    client, runtime = stack.aws("s3vectors"), stack.aws("bedrock-runtime")
    with suppress(client.exceptions.ConflictException):
        client.create_vector_bucket(vectorBucketName=f"contract-{dimension}")
    place = RootIndex(f"contract-{dimension}", new_scope_id(), dimension)
    embedding = BedrockEmbedding(lambda: runtime, model, dimension, VectorCache(), fake_world().executor)

    def opened(scope_id: str) -> tuple[Index, Search]:
        search = VectorSearch(lambda _: client, lambda _: embedding, place, scope_id, pytest.fail)
        return VectorIndex(lambda: client, place, embedding, scope_id), search

    return Base(opened, at_once)


def late_base_of(request: pytest.FixtureRequest) -> Base:
    """A knowledge base: in memory, or the deployed one under a scope's session."""
    if request.param == "memory":
        fake = FakeKnowledgeBase()

        def settled(look: Callable[[], bool]) -> None:
            fake.settle()
            assert look()

        return Base(lambda sid: (FakeIndex(fake, sid), FakeSearch(fake, sid)), settled)
    tagged, named = request.getfixturevalue("tagged"), request.getfixturevalue("stack").knowledge_base
    knowledge_base, source = named["knowledgeBaseId"], named["dataSourceId"]

    def opened(scope_id: str) -> tuple[Index, Search]:
        index = KnowledgeBaseIndex(
            tagged("bedrock-agent", scope_id),
            lambda: tagged("bedrock-agent-runtime", scope_id),
            knowledge_base,
            source,
            scope_id,
        )
        client = tagged("bedrock-agent-runtime", scope_id)
        return index, KnowledgeBaseSearch(lambda _: client, knowledge_base, scope_id, pytest.fail)

    return Base(opened, lambda look: eventually(look) and None)


class Queue:
    """A queue and what was put into it."""

    def __init__(self, queue: IndexQueue, received: Callable[[], Sequence[IndexTask]]) -> None:
        self.queue = queue
        self.received = received


@pytest.fixture(params=["memory", ON_STACK])
def queue(request: pytest.FixtureRequest) -> Queue:
    """An empty index queue."""
    if request.param == "memory":
        fake = MemoryIndexQueue()
        return Queue(fake, lambda: fake.tasks)
    client = request.getfixturevalue("stack").aws("sqs")
    url = client.create_queue(QueueName=f"contract-{next(_numbers)}.fifo", Attributes={"FifoQueue": "true"})[
        "QueueUrl"
    ]

    def received() -> list[IndexTask]:
        found: list[IndexTask] = []
        while messages := client.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                found.append(task_of_message(message["Body"]))
                client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return found

    return Queue(SqsIndexQueue(client, url), received)
