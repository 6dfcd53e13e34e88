"""The roles a λ opens a scope with: what each may do stands here as a table, to be read by a reviewer.

The wall: a session carries one tag, `scope`, and every statement on items holds only where the leading key
starts with that tag. `ForAllValues` is true of an absent key, hence the `Null` guards; Scan and PartiQL carry
no leading key, hence neither is ever granted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.checks import acknowledge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_cdk import aws_s3 as s3

    from infra.anchors import Anchors
    from infra.documents import Documents
    from infra.index import IndexGenerations
    from infra.intake import Intake
    from infra.ledger import Tables
    from infra.transfers import Transfers

SCOPE_TAG, ROOT_TAG = "scope", "root"
OWN_SCOPE = f"${{aws:PrincipalTag/{SCOPE_TAG}}}"
OWN_ROOT = f"${{aws:PrincipalTag/{ROOT_TAG}}}"
ALL_AREAS = "*"
LEDGER, RECORD = "ledger", "record"
LISTING = "ListBucket"
SERVING = ("api", "mcp")  # the λs that callers reach
LIST, ADD = "list", "add"  # what a role may do with the anchors of its scope; nobody may do both, or more


@dataclass(frozen=True)
class Items:
    """Actions on the items of one table, in some areas of the opened scope: one letter each, `*` for all."""

    sid: str
    table: str
    actions: tuple[str, ...]
    areas: str = ALL_AREAS

    @property
    def leading_keys(self) -> list[str]:
        """The partition keys this grant reaches."""
        return [f"{OWN_SCOPE}#{area}" for area in self.areas]


@dataclass(frozen=True)
class ScopeRole:
    """One role: who may assume it with a `scope` tag, and what it then may do in that scope."""

    name: str
    trusted: tuple[str, ...]
    items: tuple[Items, ...]
    documents: tuple[str, ...] = ()
    intake: tuple[str, ...] = ()  # on the files that wait in its scope's prefix
    transfers: tuple[str, ...] = ()  # on exports and imports there; who may do something with them lists them
    anchors: str | None = None
    knowledge_base: tuple[str, ...] = ()


READS = ("BatchGetItem", "Query")
READ = (Items("LedgerRead", LEDGER, READS), Items("RecordRead", RECORD, READS))

# Areas of the ledger: H head, M memories, V replaced versions, D duplicate digests, K slots, P pending index
# work, R reviews, L edges, C conversations, Q batches that are due, I idempotency, E erasures, J jobs, X
# postings of words, W the words that each memory is posted under. Of the record: T tombstones, A audit.
ROLES = (
    ScopeRole("Reader", trusted=SERVING, items=READ, anchors=LIST, knowledge_base=("Retrieve",)),
    ScopeRole(
        "Writer",
        trusted=SERVING,
        items=(
            *READ,
            Items("LedgerPut", LEDGER, ("PutItem",), "HMVDKPRCQIJ"),
            Items("LedgerDelete", LEDGER, ("DeleteItem",), "DKR"),
            Items("RecordAppend", RECORD, ("PutItem",), "AT"),
            Items("RecordCheck", RECORD, ("ConditionCheckItem",), "T"),
        ),
        intake=("PutObject",),
    ),
    ScopeRole(
        "Eraser",
        trusted=SERVING,
        items=(
            *READ,
            Items("LedgerPut", LEDGER, ("PutItem",), "HMVDPREIKC"),
            Items("LedgerDelete", LEDGER, ("DeleteItem",), "MVDKR"),
            Items("RecordAppend", RECORD, ("PutItem",), "AT"),
        ),
    ),
    # It begins exports and imports, and signs the addresses of their files: whoever holds one can do no more.
    ScopeRole(
        "Carrier",
        trusted=("api",),
        items=(
            Items("LedgerRead", LEDGER, ("BatchGetItem",)),
            Items("RecordRead", RECORD, ("BatchGetItem",)),
            Items("LedgerPut", LEDGER, ("PutItem",), "HIJ"),
            Items("RecordAppend", RECORD, ("PutItem",), "A"),
        ),
        transfers=("GetObject", "PutObject"),
    ),
    ScopeRole(
        "Extractor",
        trusted=("extract",),
        items=(
            *READ,
            Items("LedgerPut", LEDGER, ("PutItem",), "HMVDKPRCQ"),
            Items("LedgerDelete", LEDGER, ("DeleteItem",), "DKPRCQ"),
            Items("LedgerCheck", LEDGER, ("ConditionCheckItem",)),
            Items("RecordAppend", RECORD, ("PutItem",), "AT"),
            Items("RecordCheck", RECORD, ("ConditionCheckItem",), "T"),
        ),
        intake=("GetObject", "DeleteObject"),
        knowledge_base=("Retrieve",),
    ),
    ScopeRole(
        "Projector",
        trusted=("project", "index"),
        items=(
            *READ,
            Items("LedgerPut", LEDGER, ("PutItem",), "MPXW"),
            Items("LedgerDelete", LEDGER, ("DeleteItem",), "PXW"),
            Items("LedgerCheck", LEDGER, ("ConditionCheckItem",), "PW"),
        ),
        documents=("GetObject", "PutObject", "DeleteObject"),
        anchors=ADD,
        knowledge_base=(
            "IngestKnowledgeBaseDocuments",
            "DeleteKnowledgeBaseDocuments",
            "GetKnowledgeBaseDocuments",
        ),
    ),
    # It removes what a forget selects, wherever the ledger has it, and looks whether the projections did too.
    # It merges near duplicates, which the index knows.
    ScopeRole(
        "Remover",
        trusted=("jobs",),
        items=(
            *READ,
            Items("LedgerPut", LEDGER, ("PutItem",), "HMVPREKCJD"),
            Items("LedgerDelete", LEDGER, ("DeleteItem",), "MVDKRCQIJ"),
            Items("RecordAppend", RECORD, ("PutItem",), "AT"),
        ),
        documents=("DeleteObject",),
        intake=("DeleteObject", LISTING),
        transfers=("DeleteObject",),
        knowledge_base=("GetKnowledgeBaseDocuments", "Retrieve"),
    ),
    # It carries memories out of a scope and into it: it writes them as the writer does, and the files beside.
    ScopeRole(
        "Porter",
        trusted=("jobs",),
        items=(
            *READ,
            Items("LedgerPut", LEDGER, ("PutItem",), "HMVDKPRJ"),
            Items("LedgerDelete", LEDGER, ("DeleteItem",), "DKR"),
            Items("LedgerCheck", LEDGER, ("ConditionCheckItem",), "H"),
            Items("RecordAppend", RECORD, ("PutItem",), "AT"),
            Items("RecordCheck", RECORD, ("ConditionCheckItem",), "T"),
        ),
        transfers=("GetObject", "PutObject", "DeleteObject"),
    ),
    ScopeRole(
        "Sweeper",
        trusted=("sweep",),
        items=(
            *READ,
            Items("LedgerPut", LEDGER, ("PutItem",), "HMPEJCQ"),
            Items("RecordAppend", RECORD, ("PutItem",), "A"),
        ),
    ),
)


@dataclass(frozen=True)
class RootRole:
    """One role of vector indexes: who may assume it with a `root` tag, and what it may do in that root's."""

    name: str
    trusted: tuple[str, ...]
    actions: tuple[str, ...]


# An index holds all scopes of a root, so its roles open a root, and nothing else: no item, no document.
# QueryVectors with a filter needs GetVectors too.
ROOT_ROLES = (
    RootRole("Finder", trusted=(*SERVING, "extract", "jobs"), actions=("QueryVectors", "GetVectors")),
    RootRole(
        "Indexer", trusted=("index",), actions=("CreateIndex", "PutVectors", "GetVectors", "DeleteVectors")
    ),
)
# Keys and grants belong to no scope: their role carries no tag and reaches no other table.
ACCESS_TRUSTED = SERVING
ACCESS_ACTIONS = ("GetItem", "PutItem", "UpdateItem", "Query", "ConditionCheckItem")
# The names of scopes lie beside them. Who notes one may add to that list and read or reach nothing else.
REGISTRAR_TRUSTED = ("project",)
REGISTRAR_KEYS = ("ROOTS", "SCOPES#*")
# So do the policies of roots, what extraction costs them, and which generation of the index is read. Who
# meters may read these, and count.
METER_TRUSTED = ("extract", "jobs", "sweep")
METER_KEYS = ("POLICY#*", "METER#*", "INDEX")
METER_COUNTED = ("METER#*",)


class ScopeRoles(Construct):
    """The tagged roles, and three for the access table; the λs' own roles hold no data permission."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        callers: Mapping[str, iam.IRole],
        tables: Tables,
        documents: Documents,
        intake: Intake,
        transfers: Transfers,
        anchors: Anchors,
        index: IndexGenerations,
    ) -> None:
        super().__init__(scope, construct_id)
        self._callers = callers
        self._tables = tables
        self._documents = documents
        self._intake = intake
        self._transfers = transfers
        self._anchors = anchors
        self._index = index
        self._roles = {role.name: self._tagged_role(role) for role in ROLES}
        if index.vector_buckets:
            self._roles |= {role.name: self._root_role(role) for role in ROOT_ROLES}
        self._roles["Access"] = self._access_role()
        self._roles["Registrar"] = self._registrar_role()
        self._roles["Meter"] = self._meter_role()

    def arn(self, name: str) -> str:
        """The ARN of a role by its name in the table above."""
        return str(self._roles[name].role_arn)

    def of_roots_for(self, caller: str) -> list[str]:
        """The roles of vector indexes that a λ may assume; none, if there are none."""
        return [role.name for role in ROOT_ROLES if caller in role.trusted and role.name in self._roles]

    def let_assume(self, caller: iam.IRole, *names: str) -> None:
        """Allow one λ's own role to open scopes with the named roles: the other half of their trust."""
        caller.add_to_principal_policy(
            iam.PolicyStatement(
                sid="OpenScopes",
                actions=["sts:AssumeRole", "sts:TagSession"],
                resources=[self.arn(name) for name in names],
            )
        )

    def _tagged_role(self, spec: ScopeRole) -> iam.Role:
        statements = [self._items_statement(items) for items in spec.items]
        if spec.documents:
            statements += self._document_statements(spec.documents)
        if spec.intake:
            statements += self._intake_statements(spec.intake)
        if spec.transfers:
            bucket = self._transfers.bucket
            statements.append(_objects_statement("Transfers", bucket, *spec.transfers))
            statements.append(_listing_statement("TransferList", bucket, "ListBucket"))
        if spec.anchors:
            statements.append(self._anchors_statement(spec.anchors))
        if spec.knowledge_base:
            statements.append(self._knowledge_base_statement(spec.knowledge_base))
        role = iam.Role(
            self,
            spec.name,
            description=f"unsay {spec.name.lower()}: one scope, named by the session tag.",
            assumed_by=iam.CompositePrincipal(
                *(_tagged_by(self._callers[name], SCOPE_TAG) for name in spec.trusted)
            ),
            inline_policies={"OpenedScope": iam.PolicyDocument(statements=statements)},
            max_session_duration=Duration.hours(1),
        )
        if spec.documents:
            self._acknowledge_wildcard(role, self._documents.bucket)
        if spec.intake:
            self._acknowledge_wildcard(role, self._intake.bucket)
        if spec.transfers:
            self._acknowledge_wildcard(role, self._transfers.bucket)
        if spec.anchors == ADD:
            self._acknowledge_wildcard(role, self._anchors.bucket)
        return role

    def _root_role(self, spec: RootRole) -> iam.Role:
        buckets = self._index.vector_buckets
        statements = [
            iam.PolicyStatement(
                sid="RootIndex",
                actions=[f"s3vectors:{action}" for action in spec.actions],
                resources=[bucket.index_arn(OWN_ROOT) for bucket in buckets],
                conditions={"Null": {f"aws:PrincipalTag/{ROOT_TAG}": "false"}},
            ),
            iam.PolicyStatement(
                sid="Embed",
                actions=["bedrock:InvokeModel"],
                resources=sorted({bucket.model_arn for bucket in buckets}),
                conditions={"Null": {f"aws:PrincipalTag/{ROOT_TAG}": "false"}},
            ),
        ]
        return iam.Role(
            self,
            spec.name,
            description=f"unsay {spec.name.lower()}: indexes of one root, named by the session tag.",
            assumed_by=iam.CompositePrincipal(
                *(_tagged_by(self._callers[name], ROOT_TAG) for name in spec.trusted)
            ),
            inline_policies={"OpenedRoot": iam.PolicyDocument(statements=statements)},
            max_session_duration=Duration.hours(1),
        )

    def _items_statement(self, items: Items) -> iam.PolicyStatement:
        table = getattr(self._tables, items.table)
        return iam.PolicyStatement(
            sid=items.sid,
            actions=[f"dynamodb:{action}" for action in items.actions],
            resources=[table.table_arn],
            conditions={
                "ForAllValues:StringLike": {"dynamodb:LeadingKeys": items.leading_keys},
                "Null": {"dynamodb:LeadingKeys": "false", f"aws:PrincipalTag/{SCOPE_TAG}": "false"},
            },
        )

    def _document_statements(self, actions: tuple[str, ...]) -> list[iam.PolicyStatement]:
        bucket = self._documents.bucket
        return [
            _objects_statement("Documents", bucket, *actions),
            _listing_statement("DocumentList", bucket, "ListBucket"),
        ]

    def _intake_statements(self, actions: tuple[str, ...]) -> list[iam.PolicyStatement]:
        """Who hands in or reads a file knows its name; who removes them all has to list them."""
        bucket = self._intake.bucket
        objects = _objects_statement("Intake", bucket, *(each for each in actions if each != LISTING))
        return [objects, *([_listing_statement("IntakeList", bucket, LISTING)] if LISTING in actions else [])]

    def _anchors_statement(self, right: str) -> iam.PolicyStatement:
        """Put under another name adds, under the same one adds a version: neither undoes what is locked."""
        bucket = self._anchors.bucket
        if right == ADD:
            return _objects_statement("AnchorPut", bucket, "PutObject")
        return _listing_statement("AnchorList", bucket, "ListBucketVersions")

    def _knowledge_base_statement(self, actions: tuple[str, ...]) -> iam.PolicyStatement:
        """IAM cannot bind a Retrieve to a filter: the tag proves an opened scope, the ledger is the wall."""
        return iam.PolicyStatement(
            sid="KnowledgeBase",
            actions=[f"bedrock:{action}" for action in actions],
            resources=[each.arn for each in self._index.knowledge_bases],
            conditions={"Null": {f"aws:PrincipalTag/{SCOPE_TAG}": "false"}},
        )

    def _access_role(self) -> iam.Role:
        statement = iam.PolicyStatement(
            sid="Access",
            actions=[f"dynamodb:{action}" for action in ACCESS_ACTIONS],
            resources=[self._tables.access.table_arn],
        )
        return iam.Role(
            self,
            "Access",
            description="unsay access: keys and grants, no memory.",
            assumed_by=iam.CompositePrincipal(
                *(iam.ArnPrincipal(self._callers[name].role_arn) for name in ACCESS_TRUSTED)
            ),
            inline_policies={"Access": iam.PolicyDocument(statements=[statement])},
            max_session_duration=Duration.hours(1),
        )

    def _meter_role(self) -> iam.Role:
        statements = [
            self._access_statement("ReadPolicies", "GetItem", METER_KEYS),
            self._access_statement("Count", "UpdateItem", METER_COUNTED),
        ]
        return iam.Role(
            self,
            "Meter",
            description="unsay meter: reads policies and counts what extraction costs; no key, no grant.",
            assumed_by=iam.CompositePrincipal(
                *(iam.ArnPrincipal(self._callers[name].role_arn) for name in METER_TRUSTED)
            ),
            inline_policies={"Meter": iam.PolicyDocument(statements=statements)},
            max_session_duration=Duration.hours(1),
        )

    def _access_statement(self, sid: str, action: str, keys: tuple[str, ...]) -> iam.PolicyStatement:
        """One action on some partitions of the access table, none of which belongs to a scope."""
        return iam.PolicyStatement(
            sid=sid,
            actions=[f"dynamodb:{action}"],
            resources=[self._tables.access.table_arn],
            conditions={
                "ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(keys)},
                "Null": {"dynamodb:LeadingKeys": "false"},
            },
        )

    def _registrar_role(self) -> iam.Role:
        statement = self._access_statement("NoteScopes", "PutItem", REGISTRAR_KEYS)
        return iam.Role(
            self,
            "Registrar",
            description="unsay registrar: adds names of scopes, reads nothing, reaches no key and no grant.",
            assumed_by=iam.CompositePrincipal(
                *(iam.ArnPrincipal(self._callers[name].role_arn) for name in REGISTRAR_TRUSTED)
            ),
            inline_policies={"Registrar": iam.PolicyDocument(statements=[statement])},
            max_session_duration=Duration.hours(1),
        )

    def _acknowledge_wildcard(self, role: iam.Role, bucket: s3.Bucket) -> None:
        name = Stack.of(self).get_logical_id(bucket.node.default_child)
        acknowledge(
            role,
            f"IAM5[Resource::<{name}.Arn>/<aws:PrincipalTag/{SCOPE_TAG}>/*]",
            "The wildcard ends inside the folder of the session's own scope tag.",
        )


def _objects_statement(sid: str, bucket: s3.Bucket, *actions: str) -> iam.PolicyStatement:
    """Actions on the objects under the scope's own prefix."""
    return iam.PolicyStatement(
        sid=sid,
        actions=[f"s3:{action}" for action in actions],
        resources=[bucket.arn_for_objects(f"{OWN_SCOPE}/*")],
        conditions={"Null": {f"aws:PrincipalTag/{SCOPE_TAG}": "false"}},
    )


def _listing_statement(sid: str, bucket: s3.Bucket, action: str) -> iam.PolicyStatement:
    """A list of what lies under the scope's own prefix, and of nothing without a prefix."""
    return iam.PolicyStatement(
        sid=sid,
        actions=[f"s3:{action}"],
        resources=[bucket.bucket_arn],
        conditions={
            "StringLike": {"s3:prefix": [f"{OWN_SCOPE}/*"]},
            "Null": {"s3:prefix": "false", f"aws:PrincipalTag/{SCOPE_TAG}": "false"},
        },
    )


def _tagged_by(caller: iam.IRole, tag: str) -> iam.IPrincipal:
    """Exactly this λ's role, and only with the one tag, and never an empty one."""
    return iam.PrincipalWithConditions(
        iam.ArnPrincipal(caller.role_arn),
        {
            "StringLike": {f"aws:RequestTag/{tag}": "?*"},
            "ForAllValues:StringEquals": {"aws:TagKeys": [tag]},
        },
    ).with_session_tags()
