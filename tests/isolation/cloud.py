"""AWS in this process, as strict about scopes as the real one: credentials reach what they are bound to.

The real `ApiService` runs over it, with its sessions, clients and adapters. Whatever it refuses is kept in
`refused`, so that a test can tell a request that was never made from one that was stopped.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError
from botocore.hooks import BaseEventHooks, HierarchicalEmitter

from tests.support.clock import FakeClock, fake_world
from tests.support.fakes import PEPPER, MemoryKeys, MemoryPolicies, MemoryRegistry
from unsay_core.adapters.dynamodb.items import entry_of_item
from unsay_core.bootstrap.aws import ApiService
from unsay_core.domain.memory import Memory, Status
from unsay_core.generations import KnowledgeBaseGeneration, as_plain
from unsay_core.retrieval.lexicon import words
from unsay_core.settings import ApiSettings, variables

GENERATIONS = (KnowledgeBaseGeneration(1, "KB12345678", "DS12345678"),)

if TYPE_CHECKING:
    from collections.abc import Iterator

Item = dict[str, Any]
KNOWN_ERROR = {"ResponseMetadata": {"HTTPStatusCode": 400}}
COMPARED = {
    "equals": lambda found, wanted: found == wanted,
    "greaterThan": lambda found, wanted: found > wanted,
    "greaterThanOrEquals": lambda found, wanted: found >= wanted,
    "lessThan": lambda found, wanted: found < wanted,
    "lessThanOrEquals": lambda found, wanted: found <= wanted,
}


def refusal(code: str, **more: Any) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}, **KNOWN_ERROR, **more}, "Call")


@dataclass(frozen=True)
class Issued:
    """What a token stands for."""

    role: str
    scope_id: str
    expires_at: datetime


@dataclass(frozen=True)
class Use:
    """What a role was used for: an action, on an area of a table."""

    role: str
    action: str
    table: str
    area: str


@dataclass
class Document:
    """What the knowledge base holds of a memory."""

    words: frozenset[str]
    metadata: dict[str, Any]


@dataclass
class Cloud:
    """Tables, STS and a knowledge base; `walled=False` is a cloud whose roles may do anything."""

    clock: FakeClock = field(default_factory=FakeClock)
    walled: bool = True
    filters: bool = True
    tables: dict[str, dict[str, dict[str, Item]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    documents: dict[str, Document] = field(default_factory=dict)
    issued: dict[str, Issued] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    used: set[Use] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)
    events: BaseEventHooks = field(default_factory=HierarchicalEmitter)  # as a session's, for whoever traces
    _tokens: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def client(self, service: str, config: Any = None, **credentials: str) -> Any:
        """A client of the session that everything is made from."""
        token = credentials.get("aws_session_token", "")
        return {
            "sts": Sts,
            "dynamodb": Dynamo,
            "bedrock-agent-runtime": KnowledgeBase,
            "s3": Objects,
            "secretsmanager": Secrets,
        }[service](self, token)

    def service(self) -> ApiService:
        """The api λ's own service over this cloud; the access table and the marks lie in no scope."""
        lists = {"index_generations": json.dumps(as_plain(GENERATIONS)), "oidc": "[]"}
        settings = ApiSettings(**{name: lists.get(name, name) for name in variables(ApiSettings)})
        service = ApiService(settings, session=self, world=fake_world(self.clock))
        in_no_scope = {"keys": MemoryKeys(), "registry": MemoryRegistry(), "policies": MemoryPolicies()}
        service.__dict__ |= in_no_scope | {"_marks": Unmarked()}
        return service

    def issue(self, role: str, scope_id: str, seconds: int) -> tuple[str, datetime]:
        with self.lock:
            token, expires_at = str(next(self._tokens)), self.clock.now() + timedelta(seconds=seconds)
            self.issued[token] = Issued(role, scope_id, expires_at)
        return token, expires_at

    def allow(self, token: str, resource: str, key: str, end: str = "#") -> None:
        """Raise unless the token is good for a key of its own scope."""
        held = self.issued.get(token)
        if held is not None and held.expires_at <= self.clock.now():
            self.refused.append(f"expired: {resource}")
            raise refusal("ExpiredTokenException")
        if self.walled and (held is None or not key.startswith(held.scope_id + end)):
            self.refused.append(f"denied: {resource}")
            raise refusal("AccessDeniedException")

    def put(self, table: str, item: Item) -> None:
        partition, sort = item["pk"]["S"], item["sk"]["S"]
        self.tables[table][partition][sort] = item
        if partition.endswith("#M"):
            self.documents[sort] = _document(partition.removesuffix("#M"), item)

    def delete(self, table: str, key: Item) -> None:
        partition, sort = key["pk"]["S"], key["sk"]["S"]
        self.tables[table][partition].pop(sort, None)
        if partition.endswith("#M"):
            self.documents.pop(sort, None)

    def settle(self) -> None:
        """The workers have done all they owe."""
        for partition, items in self.tables["ledger_table"].items():
            if partition.endswith("#P"):
                items.clear()


class Unmarked:
    """See `TableMarks`: no table here came from a backup."""

    def check(self) -> None:
        """Every table is good."""


def _document(scope_id: str, item: Item) -> Document:
    memory = entry_of_item(item)
    assert isinstance(memory, Memory)
    metadata = {
        "scope": scope_id,
        "live": int(memory.status is Status.ACTIVE),
        "kind": memory.fact.kind.value,
        "version": memory.version,
    }
    return Document(frozenset(words(memory.fact.content)), metadata)


class Sts:
    """AssumeRole: the credentials carry the tag, and no tag is the empty scope."""

    def __init__(self, cloud: Cloud, _token: str) -> None:
        self._cloud = cloud

    def assume_role(self, *, RoleArn: str, DurationSeconds: int, Tags: list[Any], **_: Any) -> Any:
        tags = {tag["Key"]: tag["Value"] for tag in Tags}
        if tags.keys() != {"scope"} or not tags["scope"]:
            raise refusal("AccessDenied")
        token, expires_at = self._cloud.issue(RoleArn, tags["scope"], DurationSeconds)
        return {
            "Credentials": {
                "AccessKeyId": token,
                "SecretAccessKey": token,
                "SessionToken": token,
                "Expiration": expires_at,
            }
        }


class Secrets:
    """The pepper."""

    def __init__(self, *_: Any) -> None:
        pass

    def get_secret_value(self, **_: Any) -> Any:
        return {"SecretString": PEPPER}


class Objects:
    """Anchors and files: none yet, in the scope's own folder."""

    def __init__(self, cloud: Cloud, token: str) -> None:
        self._cloud, self._token = cloud, token

    def list_object_versions(self, *, Prefix: str, **_: Any) -> Any:
        self._cloud.allow(self._token, "s3:ListBucketVersions", Prefix, "/")
        return {"Versions": [], "IsTruncated": False}

    def list_objects_v2(self, *, Prefix: str, **_: Any) -> Any:
        self._cloud.allow(self._token, "s3:ListBucket", Prefix, "/")
        return {"Contents": [], "IsTruncated": False}

    def put_object(self, *, Key: str, **_: Any) -> Any:
        self._cloud.allow(self._token, "s3:PutObject", Key, "/")
        return {}

    def generate_presigned_url(self, _verb: str, *, Params: Any, **_: Any) -> str:
        self._cloud.allow(self._token, "s3:PutObject", Params["Key"], "/")
        return f"https://{Params['Bucket']}.example/{Params['Key']}"


class Dynamo:
    """The calls the ledger makes."""

    def __init__(self, cloud: Cloud, token: str) -> None:
        self._cloud, self._token = cloud, token

    def _allow(self, action: str, table: str, *partitions: str) -> None:
        for partition in partitions:
            self._cloud.allow(self._token, f"dynamodb:{table}", partition)
            area = partition.rpartition("#")[2]
            self._cloud.used.add(Use(self._cloud.issued[self._token].role, action, table, area))

    def batch_get_item(self, *, RequestItems: Any) -> Any:
        found: dict[str, list[Item]] = {}
        with self._cloud.lock:
            for table, asked in RequestItems.items():
                keys = [(key["pk"]["S"], key["sk"]["S"]) for key in asked["Keys"]]
                self._allow("BatchGetItem", table, *(partition for partition, _ in keys))
                held = self._cloud.tables[table]
                found[table] = [held[p][s] for p, s in keys if s in held.get(p, {})]
        return {"Responses": found}

    def query(
        self,
        *,
        TableName: str,
        ExpressionAttributeValues: Any,
        Limit: int,
        ScanIndexForward: bool,
        **_: Any,
    ) -> Any:
        partition = ExpressionAttributeValues[":pk"]["S"]
        after = ExpressionAttributeValues.get(":after", {}).get("S")
        with self._cloud.lock:
            self._allow("Query", TableName, partition)
            items = self._cloud.tables[TableName].get(partition, {})
            sorts = sorted(items, reverse=not ScanIndexForward)
            if after is not None:
                sorts = [sort for sort in sorts if (sort > after if ScanIndexForward else sort < after)]
            more = {"LastEvaluatedKey": items[sorts[Limit - 1]]} if len(sorts) > Limit else {}
            return {"Items": [items[sort] for sort in sorts[:Limit]], **more}

    def transact_write_items(self, *, TransactItems: Any) -> Any:
        parts = [next(iter(part.items())) for part in TransactItems]
        with self._cloud.lock:
            for kind, part in parts:
                action = "ConditionCheckItem" if kind == "ConditionCheck" else f"{kind}Item"
                self._allow(action, part["TableName"], _key(part)["pk"]["S"])
            reasons = [{"Code": "None" if self._holds(p) else "ConditionalCheckFailed"} for _, p in parts]
            if any(reason["Code"] != "None" for reason in reasons):
                raise refusal("TransactionCanceledException", CancellationReasons=reasons)
            for kind, part in parts:
                if kind == "Put":
                    self._cloud.put(part["TableName"], part["Item"])
                elif kind == "Delete":
                    self._cloud.delete(part["TableName"], part["Key"])
        return {}

    def _holds(self, part: Any) -> bool:
        key = _key(part)
        there = self._cloud.tables[part["TableName"]].get(key["pk"]["S"], {}).get(key["sk"]["S"])
        match part.get("ConditionExpression"):
            case None:
                return True
            case "attribute_not_exists(#pk)":
                return there is None
            case "#field = :value":
                name = part["ExpressionAttributeNames"]["#field"]
                return there is not None and there.get(name) == part["ExpressionAttributeValues"][":value"]
        raise AssertionError(f"a condition this cloud cannot judge: {part['ConditionExpression']}")


def _key(part: Any) -> Item:
    return part.get("Key") or part["Item"]


class KnowledgeBase:
    """Retrieve: any tagged session may ask for anything, as on AWS; how near is the share of common words."""

    def __init__(self, cloud: Cloud, token: str) -> None:
        self._cloud, self._token = cloud, token

    def retrieve(self, *, retrievalQuery: Any, retrievalConfiguration: Any, **_: Any) -> Any:
        self._cloud.allow(self._token, "bedrock:Retrieve", self._cloud.issued[self._token].scope_id, "")
        asked = frozenset(words(retrievalQuery["text"]))
        search = retrievalConfiguration["vectorSearchConfiguration"]
        with self._cloud.lock:
            hits = [
                {
                    "location": {"customDocumentLocation": {"id": memory_id}},
                    "metadata": document.metadata,
                    "score": len(asked & document.words) / (len(asked | document.words) or 1),
                }
                for memory_id, document in self._cloud.documents.items()
                if not self._cloud.filters or holds(search["filter"], document.metadata)
            ]
        hits.sort(key=lambda hit: hit["score"], reverse=True)
        return {"retrievalResults": hits[: search["numberOfResults"]]}


def holds(part: Any, metadata: dict[str, Any]) -> bool:
    """What a filter says of a document."""
    ((operator, operand),) = part.items()
    if operator in ("andAll", "orAll"):
        return (all if operator == "andAll" else any)(holds(member, metadata) for member in operand)
    found = metadata.get(operand["key"])
    return found is not None and COMPARED[operator](found, operand["value"])
