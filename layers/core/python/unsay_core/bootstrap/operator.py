"""The service for whoever operates it: with AWS credentials of their own, which are bound to no scope."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from botocore.config import Config

from unsay_core.adapters.bedrock.embedding import VectorCache
from unsay_core.adapters.dynamodb.access import DynamoRegistry
from unsay_core.adapters.dynamodb.bindings import DynamoBindings
from unsay_core.adapters.dynamodb.bookmark import DynamoBookmark
from unsay_core.adapters.dynamodb.forms import say_forms
from unsay_core.adapters.dynamodb.items import Place
from unsay_core.adapters.dynamodb.ledger import DynamoLedger
from unsay_core.adapters.dynamodb.marks import TableMarks
from unsay_core.adapters.dynamodb.pointer import DynamoReadPointer
from unsay_core.adapters.messaging import SqsIndexQueue
from unsay_core.adapters.s3.documents import S3Documents
from unsay_core.adapters.s3.graves import S3Graves
from unsay_core.adapters.s3vectors.bucket import remove_bucket
from unsay_core.application.ports import OpenScope
from unsay_core.application.reading import Reading
from unsay_core.bootstrap.aws import read_keyring
from unsay_core.bootstrap.generations import Opened, SearchOfReading, index_of
from unsay_core.domain.scope import Principal, PrincipalKind
from unsay_core.generations import parse_generations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import boto3
    from mypy_boto3_dynamodb import DynamoDBClient

    from unsay_core.application.keys import Keyring
    from unsay_core.application.ports import Index, World
    from unsay_core.domain.scope import Scope

# What an operator starts may take hours beside the live service: it waits when it is asked to.
PATIENT = Config(connect_timeout=5, read_timeout=30, retries={"mode": "adaptive", "total_max_attempts": 12})


class Operator:
    """A deployed stack by its outputs."""

    def __init__(self, session: boto3.session.Session, outputs: Mapping[str, str], world: World) -> None:
        self._session = session
        self._outputs = outputs
        self._world = world
        self._made: dict[str, Any] = {}
        self._vectors = VectorCache()
        self.generations = {each.number: each for each in parse_generations(outputs["IndexGenerations"])}

    def client(self, service: str, _config: Config = PATIENT) -> Any:
        """A client with the operator's credentials."""
        if service not in self._made:
            self._made[service] = self._session.client(service, config=PATIENT)
        return self._made[service]

    @cached_property
    def keyring(self) -> Keyring:
        """The deployment's keys."""
        return read_keyring(self._session, self._outputs["PepperSecretArn"])

    @cached_property
    def bindings(self) -> DynamoBindings:
        """Who of another house is granted what."""
        return DynamoBindings(self._dynamodb, self._outputs["AccessTable"])

    @cached_property
    def pointer(self) -> DynamoReadPointer:
        """Which generation is read."""
        return DynamoReadPointer(self._dynamodb, self._outputs["AccessTable"])

    @cached_property
    def bookmark(self) -> DynamoBookmark:
        """How far a rebuild of every scope has come."""
        return DynamoBookmark(self._dynamodb, self._outputs["AccessTable"])

    def bookmark_of(self, name: str) -> DynamoBookmark:
        """How far another command that walks all scopes has come."""
        return DynamoBookmark(self._dynamodb, self._outputs["AccessTable"], name)

    @cached_property
    def queue(self) -> SqsIndexQueue:
        """The queue of index work."""
        return SqsIndexQueue(self.client("sqs"), self._outputs["IndexQueueUrl"])

    @cached_property
    def _registry(self) -> DynamoRegistry:
        return DynamoRegistry(self._dynamodb, self._outputs["AccessTable"])

    def scopes(self) -> Iterator[Scope]:
        """The scopes that were ever written to, by the list that is kept of them."""
        return (scope for root in self._registry.roots() for scope in self._registry.below(root))

    def say_forms(self) -> int:
        """Have what stands in the access table say its form; how many items did not."""
        return say_forms(self._dynamodb, self._outputs["AccessTable"], self._registry.roots())

    def open_scope(self, scope: Scope) -> OpenScope:
        """One scope; nothing but this code keeps to it."""
        scope_id = self.keyring.scope_id(scope.canonical)
        place = Place(scope_id, self._outputs["LedgerTable"], self._outputs["RecordTable"])
        reading = Reading(list(self.generations), self.pointer, self._world.clock)
        return OpenScope(
            scope=scope,
            id=scope_id,
            root_id=self.keyring.scope_id(scope.root),
            principal=Principal("operator", PrincipalKind.HUMAN, ()),
            keys=self.keyring.for_scope(scope_id),
            ledger=DynamoLedger(self._dynamodb(), place),
            search=SearchOfReading(
                reading,
                tuple(self.generations.values()),
                self._opened(scope_id, self.keyring.scope_id(scope.root)),
                lambda _: None,  # an operator's own machine has no metrics; the log says it
            ),
        )

    def graves(self, opened: OpenScope) -> S3Graves:
        """The list of what was taken back of one scope."""
        return S3Graves(lambda: self.client("s3"), self._outputs["AnchorsBucket"], opened.id)

    def restored(self, scope: Scope, ledger_table: str, record_table: str) -> OpenScope:
        """One scope of tables that came from a backup."""
        opened = self.open_scope(scope)
        place = Place(opened.id, ledger_table, record_table)
        return replace(opened, ledger=DynamoLedger(self._dynamodb(), place))

    def marks(self, ledger_table: str, record_table: str) -> TableMarks:
        """What says of these tables which they are, and that they may serve."""
        return TableMarks(self._dynamodb, (ledger_table, record_table), self._world.clock.monotonic)

    @property
    def tables(self) -> tuple[str, str]:
        """The ledger and the record of the stack."""
        return self._outputs["LedgerTable"], self._outputs["RecordTable"]

    def index(self, generation: int, opened: OpenScope) -> Index:
        """One generation, for one scope."""
        return index_of(self.generations[generation], self._opened(opened.id, opened.root_id))

    def remove_vectors(self, bucket: str) -> int | None:
        """Delete a vector bucket and its indexes; how many they were, None if there is no such bucket."""
        return remove_bucket(self.client("s3vectors"), bucket)

    def _opened(self, scope_id: str, root_id: str) -> Opened:
        return Opened(scope_id, root_id, self, lambda _role, _root: self, self._vectors, self._world.executor)

    def documents(self, opened: OpenScope) -> S3Documents:
        """The documents of one scope."""
        return S3Documents(lambda: self.client("s3"), self._outputs["DocumentsBucket"], opened.id)

    def _dynamodb(self) -> DynamoDBClient:
        client: DynamoDBClient = self.client("dynamodb")
        return client
