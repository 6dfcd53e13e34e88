"""The decisions a reviewer wants to see: sessions, requests, and whether IAM lets them through.

Each request is stated once, as an SDK sends it: the second evaluation derives from it what IAM has to check,
and the deployed stack is simply sent it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

ALLOW, DENY = "allow", "deny"
OWN, OTHER = "a" * 51 + "b", "z" * 52
NEIGHBOURS = {"the neighbour that begins alike": OWN + "2", "the neighbour that is shorter": OWN[:-1]}
LEDGER, RECORD, ACCESS = "Ledger", "Record", "Access"
DOCUMENTS, ANCHORS, INTAKE, TRANSFERS = "Documents", "Anchors", "Intake", "Transfers"
TABLES = (LEDGER, RECORD, ACCESS)
BUCKETS = (DOCUMENTS, ANCHORS, INTAKE, TRANSFERS)
NO_EXPRESSION = "attribute_not_exists(pk)"


@dataclass(frozen=True)
class Session:
    """Whose credentials: a role, and the tags its session carries."""

    role: str
    tags: tuple[tuple[str, str], ...] = (("scope", OWN),)
    how: str = "its own scope"

    def __str__(self) -> str:
        return f"{self.role.lower()}, {self.how}"


@dataclass(frozen=True)
class Request:
    """One call of an SDK; tables and buckets by their names in the architecture."""

    service: str
    operation: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A decision: who asks for what, and the answer."""

    session: Session
    what: str
    request: Request
    answer: str


@dataclass(frozen=True)
class Opening:
    """A decision of STS: who asks for which role with which tags."""

    caller: str
    role: str
    tags: tuple[tuple[str, str], ...]
    what: str
    answer: str


def key(area: str, scope: str = OWN, sort: str = "x") -> dict[str, Any]:
    return {"pk": {"S": f"{scope}#{area}"}, "sk": {"S": sort}}


def get(table: str, item: Any) -> Request:
    return Request("dynamodb", "get_item", {"TableName": table, "Key": item})


def put(table: str, item: Any) -> Request:
    return Request("dynamodb", "put_item", {"TableName": table, "Item": item})


def delete(table: str, item: Any) -> Request:
    return Request("dynamodb", "delete_item", {"TableName": table, "Key": item})


def update(table: str, item: Any) -> Request:
    values = {":v": {"S": "x"}}
    return Request(
        "dynamodb",
        "update_item",
        {
            "TableName": table,
            "Key": item,
            "UpdateExpression": "SET v = :v",
            "ExpressionAttributeValues": values,
        },
    )


def query(table: str, partition: str, **more: Any) -> Request:
    name = "due_pk" if more.get("IndexName") else "pk"
    return Request(
        "dynamodb",
        "query",
        {
            "TableName": table,
            "KeyConditionExpression": f"{name} = :p",
            "ExpressionAttributeValues": {":p": {"S": partition}},
            **more,
        },
    )


def batch(*keys: tuple[str, Any]) -> Request:
    items: dict[str, Any] = {}
    for table, each in keys:
        items.setdefault(table, {"Keys": []})["Keys"].append(each)
    return Request("dynamodb", "batch_get_item", {"RequestItems": items})


def transaction(*parts: tuple[str, str, Any]) -> Request:
    """Parts are (kind, table, key)."""
    items = []
    for kind, table, item in parts:
        part: dict[str, Any] = {"TableName": table, ("Item" if kind == "Put" else "Key"): item}
        if kind == "ConditionCheck":
            part["ConditionExpression"] = NO_EXPRESSION
        if kind == "Update":
            part |= {"UpdateExpression": "SET v = :v", "ExpressionAttributeValues": {":v": {"S": "x"}}}
        items.append({kind: part})
    return Request("dynamodb", "transact_write_items", {"TransactItems": items})


def s3(operation: str, bucket: str, **parameters: Any) -> Request:
    return Request("s3", operation, {"Bucket": bucket, **parameters})


READER, WRITER, ERASER, EXTRACTOR, PROJECTOR = (
    Session(role) for role in ("Reader", "Writer", "Eraser", "Extractor", "Projector")
)
EVERY = (READER, WRITER, ERASER, EXTRACTOR, PROJECTOR)
CARRIER, PORTER, REMOVER = Session("Carrier"), Session("Porter"), Session("Remover")
BARE = Session("Reader", (), "no tag")
BARE_PROJECTOR = Session("Projector", (), "no tag")
STAR = Session("Reader", (("scope", "star*"),), "a tag with a star in it")
TWICE = Session("Reader", (("scope", OWN), ("tenant", OTHER)), "a second tag beside")
WRONG_NAME = Session("Reader", (("tenant", OWN),), "another tag alone")


def rows() -> list[Row]:
    """Every decision on data."""
    return [
        *_reads(),
        *_writes(),
        *_record(),
        *_objects(),
        *_files(),
        *_copies(),
        *_knowledge_base(),
        *_sessions(),
        *_access(),
    ]


def _reads() -> Iterator[Row]:
    for session in EVERY:
        yield Row(session, "query an area of its own", query(LEDGER, f"{OWN}#M"), ALLOW)
        yield Row(session, "query the other's", query(LEDGER, f"{OTHER}#M"), DENY)
        yield Row(
            session, "batch of its own, both tables", batch((LEDGER, key("M")), (RECORD, key("T"))), ALLOW
        )
        yield Row(
            session,
            "batch with one key of the other",
            batch((LEDGER, key("M")), (LEDGER, key("M", OTHER))),
            DENY,
        )
        yield Row(session, "get an item of the other", get(LEDGER, key("M", OTHER)), DENY)
    for name, neighbour in NEIGHBOURS.items():
        yield Row(READER, f"query {name}", query(LEDGER, f"{neighbour}#M"), DENY)
        yield Row(READER, f"batch with a key of {name}", batch((LEDGER, key("M", neighbour))), DENY)
    yield Row(READER, "query its bare id, without an area", query(LEDGER, OWN), DENY)
    yield Row(READER, "query an area without a scope", query(LEDGER, "#M"), DENY)
    yield Row(READER, "query the other's record", query(RECORD, f"{OTHER}#A"), DENY)
    for session in EVERY:
        yield Row(session, "scan the ledger", Request("dynamodb", "scan", {"TableName": LEDGER}), DENY)
    yield Row(READER, "scan the record", Request("dynamodb", "scan", {"TableName": RECORD}), DENY)
    yield Row(READER, "query the index of what is due", query(LEDGER, "due#0", IndexName="due"), DENY)
    yield Row(READER, "query that index by its own id", query(LEDGER, f"{OWN}#P", IndexName="due"), DENY)
    statement = f"SELECT * FROM \"{LEDGER}\" WHERE pk = '{OWN}#M'"
    yield Row(
        READER, "select by PartiQL", Request("dynamodb", "execute_statement", {"Statement": statement}), DENY
    )
    yield Row(
        WRITER, "describe the table", Request("dynamodb", "describe_table", {"TableName": LEDGER}), DENY
    )
    for session in EVERY:
        yield Row(
            session, "delete the table", Request("dynamodb", "delete_table", {"TableName": LEDGER}), DENY
        )


def _writes() -> Iterator[Row]:
    mine, theirs = key("M"), key("M", OTHER)
    yield Row(READER, "put a memory", put(LEDGER, mine), DENY)
    yield Row(WRITER, "put a memory", put(LEDGER, mine), ALLOW)
    yield Row(ERASER, "put a memory", put(LEDGER, mine), ALLOW)
    yield Row(PROJECTOR, "put a memory", put(LEDGER, mine), ALLOW)
    yield Row(EXTRACTOR, "put a memory", put(LEDGER, mine), ALLOW)
    yield Row(EXTRACTOR, "delete a memory", delete(LEDGER, mine), DENY)
    for session in (WRITER, ERASER, EXTRACTOR, PROJECTOR):
        yield Row(session, "put a memory of the other", put(LEDGER, theirs), DENY)
        yield Row(session, "update a memory in place", update(LEDGER, mine), DENY)
        both = transaction(("Put", LEDGER, key("M")), ("Put", LEDGER, theirs))
        yield Row(session, "transaction that puts one of the other", both, DENY)
    yield Row(WRITER, "delete a memory", delete(LEDGER, mine), DENY)
    yield Row(ERASER, "delete a memory", delete(LEDGER, mine), ALLOW)
    yield Row(PROJECTOR, "delete a memory", delete(LEDGER, mine), DENY)
    yield Row(ERASER, "delete a memory of the other", delete(LEDGER, theirs), DENY)
    yield Row(PROJECTOR, "delete a marker of work done", delete(LEDGER, key("P")), ALLOW)
    yield Row(PROJECTOR, "delete a marker of the other", delete(LEDGER, key("P", OTHER)), DENY)
    yield Row(PROJECTOR, "put a head", put(LEDGER, key("H")), DENY)
    yield Row(WRITER, "put a receipt", put(LEDGER, key("E")), DENY)
    yield Row(ERASER, "put a receipt", put(LEDGER, key("E")), ALLOW)
    yield Row(PROJECTOR, "put a receipt", put(LEDGER, key("E")), DENY)
    yield Row(WRITER, "delete a version", delete(LEDGER, key("V")), DENY)
    yield Row(ERASER, "delete a version", delete(LEDGER, key("V")), ALLOW)
    whole = transaction(
        ("Put", LEDGER, key("M")),
        ("Put", RECORD, key("A")),
        ("Delete", LEDGER, key("D")),
        ("ConditionCheck", RECORD, key("T")),
    )
    yield Row(WRITER, "transaction of put, delete and check", whole, ALLOW)
    for kind in ("Put", "Delete", "ConditionCheck", "Update"):
        area = "D" if kind == "Delete" else "M"
        parts = transaction(("Put", LEDGER, key("H")), (kind, LEDGER, key(area, OTHER)))
        yield Row(WRITER, f"transaction with a {kind} of the other", parts, DENY)
    yield Row(
        WRITER, "transaction with an Update of its own", transaction(("Update", LEDGER, key("M"))), DENY
    )


def _record() -> Iterator[Row]:
    for session in (WRITER, ERASER, EXTRACTOR):
        yield Row(session, "append an audit entry", put(RECORD, key("A")), ALLOW)
        yield Row(session, "append a tombstone", put(RECORD, key("T")), ALLOW)
        yield Row(session, "append to the other's record", put(RECORD, key("A", OTHER)), DENY)
        yield Row(session, "put something else into the record", put(RECORD, key("M")), DENY)
    for session in (READER, PROJECTOR):
        yield Row(session, "append an audit entry", put(RECORD, key("A")), DENY)
    for session in EVERY:
        yield Row(session, "update an audit entry", update(RECORD, key("A")), DENY)
        yield Row(session, "delete an audit entry", delete(RECORD, key("A")), DENY)
        yield Row(session, "delete a tombstone", delete(RECORD, key("T")), DENY)
    removing = transaction(("Put", LEDGER, key("H")), ("Delete", RECORD, key("A")))
    yield Row(ERASER, "transaction that deletes an audit entry", removing, DENY)


def _objects() -> Iterator[Row]:
    mine, theirs = f"{OWN}/memories/x.json", f"{OTHER}/memories/x.json"
    for operation, more in (("get_object", {}), ("put_object", {"Body": b""}), ("delete_object", {})):
        verb = operation.partition("_")[0]
        yield Row(
            PROJECTOR, f"{verb} a document of its own", s3(operation, DOCUMENTS, Key=mine, **more), ALLOW
        )
        yield Row(
            PROJECTOR, f"{verb} a document of the other", s3(operation, DOCUMENTS, Key=theirs, **more), DENY
        )
    for session in (READER, WRITER, ERASER, EXTRACTOR):
        yield Row(session, "get a document of its own", s3("get_object", DOCUMENTS, Key=mine), DENY)
    for name, prefix, answer in (
        ("its own prefix", f"{OWN}/", ALLOW),
        ("below its own prefix", f"{OWN}/memories/x", ALLOW),
        ("no prefix", None, DENY),
        ("an empty prefix", "", DENY),
        ("its id without the slash", OWN, DENY),
        ("the beginning of its id", OWN[:8], DENY),
        ("the other's prefix", f"{OTHER}/", DENY),
        ("the prefix of the neighbour that begins alike", f"{OWN}2/", DENY),
    ):
        given = {} if prefix is None else {"Prefix": prefix}
        yield Row(PROJECTOR, f"list documents by {name}", s3("list_objects_v2", DOCUMENTS, **given), answer)
    outside = s3("get_object", DOCUMENTS, Key=f"{OWN}2/memories/x.json")
    yield Row(PROJECTOR, "get a document of the neighbour that begins alike", outside, DENY)
    versioned = s3("delete_object", DOCUMENTS, Key=mine, VersionId="null")
    yield Row(PROJECTOR, "delete a version of a document", versioned, DENY)
    yield Row(READER, "list its own anchors", s3("list_object_versions", ANCHORS, Prefix=f"{OWN}/"), ALLOW)
    yield Row(
        READER, "list the other's anchors", s3("list_object_versions", ANCHORS, Prefix=f"{OTHER}/"), DENY
    )
    yield Row(READER, "list all anchors", s3("list_object_versions", ANCHORS), DENY)
    yield Row(PROJECTOR, "add an anchor", s3("put_object", ANCHORS, Key=f"{OWN}/1-0", Body=b""), ALLOW)
    yield Row(
        PROJECTOR, "add an anchor of the other", s3("put_object", ANCHORS, Key=f"{OTHER}/1-0", Body=b""), DENY
    )
    yield Row(PROJECTOR, "delete an anchor", s3("delete_object", ANCHORS, Key=f"{OWN}/1-0"), DENY)
    for session in (PROJECTOR, ERASER):
        gone = s3("delete_object", ANCHORS, Key=f"{OWN}/1-0", VersionId="null")
        yield Row(session, "delete a version of an anchor", gone, DENY)
    for session in (READER, WRITER, ERASER):
        yield Row(session, "add an anchor", s3("put_object", ANCHORS, Key=f"{OWN}/1-0", Body=b""), DENY)


def _files() -> Iterator[Row]:
    """Transcripts: who may put one may not read it, and who reads it may not put one."""
    places = (("its own", OWN, True), ("the other", OTHER, False), ("the neighbour", OWN + "2", False))
    for whose, scope, is_own in places:
        place = f"{scope}/run-1/x.jsonl"
        requests = {
            "put": s3("put_object", INTAKE, Key=place, Body=b""),
            "get": s3("get_object", INTAKE, Key=place),
            "delete": s3("delete_object", INTAKE, Key=place),
            "list": s3("list_objects_v2", INTAKE, Prefix=f"{scope}/"),
        }
        granted = ((WRITER, {"put"}), (EXTRACTOR, {"get", "delete"}), (REMOVER, {"delete", "list"}))
        for session, may in granted:
            for verb, request in requests.items():
                answer = ALLOW if is_own and verb in may else DENY
                yield Row(session, f"{verb} a transcript of {whose}", request, answer)
    mine = f"{OWN}/run-1/x.jsonl"
    for session in (READER, PROJECTOR, Session("Writer", (), "no tag")):
        yield Row(session, "put a transcript", s3("put_object", INTAKE, Key=mine, Body=b""), DENY)
        yield Row(session, "get a transcript", s3("get_object", INTAKE, Key=mine), DENY)
    yield Row(READER, "list transcripts", s3("list_objects_v2", INTAKE, Prefix=f"{OWN}/"), DENY)


def _copies() -> Iterator[Row]:
    """Exports and imports: signed by the one, carried by the other, and reached by nobody else."""
    places = (("its own", OWN, True), ("the other", OTHER, False), ("the neighbour", OWN + "2", False))
    for whose, scope, is_own in places:
        place = f"{scope}/exports/job/part.jsonl"
        requests = {
            "put": s3("put_object", TRANSFERS, Key=place, Body=b""),
            "get": s3("get_object", TRANSFERS, Key=place),
            "delete": s3("delete_object", TRANSFERS, Key=place),
            "list": s3("list_objects_v2", TRANSFERS, Prefix=f"{scope}/"),
        }
        for session, denied in ((CARRIER, {"delete"}), (PORTER, set()), (REMOVER, {"put", "get"})):
            for verb, request in requests.items():
                answer = ALLOW if is_own and verb not in denied else DENY
                yield Row(session, f"{verb} an export of {whose}", request, answer)
    mine = f"{OWN}/exports/job/part.jsonl"
    for session in (READER, WRITER, ERASER, EXTRACTOR, PROJECTOR, Session("Porter", (), "no tag")):
        yield Row(session, "get an export", s3("get_object", TRANSFERS, Key=mine), DENY)
    yield Row(PROJECTOR, "delete an export", s3("delete_object", TRANSFERS, Key=mine), DENY)


def retrieve() -> Request:
    asked = {"knowledgeBaseId": "KnowledgeBase", "retrievalQuery": {"text": "x"}}
    return Request("bedrock-agent-runtime", "retrieve", asked)


def documents(operation: str) -> Request:
    named = {"knowledgeBaseId": "KnowledgeBase", "dataSourceId": "DataSource"}
    identity = {"dataSourceType": "CUSTOM", "custom": {"id": "matrix"}}
    return Request("bedrock-agent", operation, {**named, "documentIdentifiers": [identity]})


def _knowledge_base() -> Iterator[Row]:
    for session in (READER, EXTRACTOR):
        yield Row(session, "ask the knowledge base", retrieve(), ALLOW)
    for session in (WRITER, ERASER, PROJECTOR, BARE):
        yield Row(session, "ask the knowledge base", retrieve(), DENY)
    looked, removed = documents("get_knowledge_base_documents"), documents("delete_knowledge_base_documents")
    yield Row(PROJECTOR, "look at a document of the knowledge base", looked, ALLOW)
    yield Row(PROJECTOR, "remove a document of the knowledge base", removed, ALLOW)
    for session in (READER, WRITER, ERASER, EXTRACTOR, BARE_PROJECTOR):
        yield Row(session, "remove a document of the knowledge base", removed, DENY)


def _sessions() -> Iterator[Row]:
    for session in (BARE, WRONG_NAME):
        yield Row(session, "query a scope", query(LEDGER, f"{OWN}#M"), DENY)
        yield Row(session, "query an area without a scope", query(LEDGER, "#M"), DENY)
    yield Row(
        BARE,
        "query what a variable without a value would leave",
        query(LEDGER, "${aws:PrincipalTag/scope}#M"),
        DENY,
    )
    listing = s3("list_objects_v2", DOCUMENTS, Prefix="/")
    yield Row(BARE_PROJECTOR, "list documents by a slash", listing, DENY)
    yield Row(
        BARE_PROJECTOR, "get a document", s3("get_object", DOCUMENTS, Key=f"{OWN}/memories/x.json"), DENY
    )
    yield Row(STAR, "query what the star would match", query(LEDGER, "starfish#M"), DENY)
    yield Row(STAR, "query the star itself", query(LEDGER, "star*#M"), ALLOW)
    yield Row(TWICE, "query its own scope", query(LEDGER, f"{OWN}#M"), ALLOW)
    yield Row(TWICE, "query what the second tag names", query(LEDGER, f"{OTHER}#M"), DENY)


def _access() -> Iterator[Row]:
    for session in EVERY:
        yield Row(session, "query the access table", query(ACCESS, "ROOTS"), DENY)
        yield Row(session, "put a key under its own id", put(ACCESS, key("KEY")), DENY)
    registrar = Session("Registrar", (), "no tag")
    yield Row(
        registrar, "note the name of a scope", put(ACCESS, {"pk": {"S": "SCOPES#r"}, "sk": {"S": "r"}}), ALLOW
    )
    yield Row(
        registrar, "put something else there", put(ACCESS, {"pk": {"S": "elsewhere"}, "sk": {"S": "x"}}), DENY
    )
    yield Row(registrar, "list the names", query(ACCESS, "ROOTS"), DENY)
    yield Row(registrar, "query a scope", query(LEDGER, f"{OWN}#M"), DENY)
    meter = Session("Meter", (), "no tag")
    counter = {"pk": {"S": "METER#r"}, "sk": {"S": "x"}}
    yield Row(meter, "count", update(ACCESS, counter), ALLOW)
    yield Row(meter, "change a policy", update(ACCESS, {"pk": {"S": "POLICY#r"}, "sk": {"S": "x"}}), DENY)
    yield Row(meter, "get a key", get(ACCESS, {"pk": {"S": "KEYS"}, "sk": {"S": "x"}}), DENY)
    yield Row(meter, "query a scope", query(LEDGER, f"{OWN}#M"), DENY)
    access = Session("Access", (), "no tag")
    yield Row(access, "list the names", query(ACCESS, "ROOTS"), ALLOW)
    yield Row(access, "query a scope", query(LEDGER, f"{OWN}#M"), DENY)
    yield Row(access, "scan the access table", Request("dynamodb", "scan", {"TableName": ACCESS}), DENY)
    api = Session("FunctionsApi", (), "its own role")
    yield Row(api, "query a scope", query(LEDGER, f"{OWN}#M"), DENY)
    yield Row(api, "put a memory", put(LEDGER, key("M")), DENY)
    yield Row(api, "list the names", query(ACCESS, "ROOTS"), DENY)
    yield Row(api, "ask the knowledge base", retrieve(), DENY)
    yield Row(api, "get a document", s3("get_object", DOCUMENTS, Key=f"{OWN}/memories/x.json"), DENY)


SCOPE_TAG = (("scope", OWN),)
OPENINGS = [
    *(
        Opening("api", role, SCOPE_TAG, "its scope as the one tag", ALLOW)
        for role in ("Reader", "Writer", "Eraser")
    ),
    Opening("api", "Projector", SCOPE_TAG, "a role of the workers", DENY),
    Opening("api", "Registrar", (), "the role that notes names", DENY),
    Opening("api", "Access", (), "the role of the access table", ALLOW),
    Opening("api", "Reader", (), "no tag", DENY),
    Opening("api", "Reader", (("scope", ""),), "an empty tag", DENY),
    Opening("api", "Reader", (("tenant", OWN),), "another tag", DENY),
    Opening("api", "Reader", (("scope", OWN), ("tenant", OTHER)), "two tags", DENY),
    *(
        Opening("mcp", role, SCOPE_TAG, "its scope as the one tag", ALLOW)
        for role in ("Reader", "Writer", "Eraser")
    ),
    Opening("mcp", "Access", (), "the role of the access table", ALLOW),
    Opening("mcp", "Carrier", SCOPE_TAG, "a role of the api", DENY),
    Opening("mcp", "Projector", SCOPE_TAG, "a role of the workers", DENY),
    Opening("mcp", "Reader", (), "no tag", DENY),
    Opening("index", "Projector", SCOPE_TAG, "its scope as the one tag", ALLOW),
    Opening("index", "Projector", (), "no tag", DENY),
    Opening("index", "Reader", SCOPE_TAG, "a role of the api", DENY),
    Opening("index", "Eraser", SCOPE_TAG, "a role of the api", DENY),
    Opening("index", "Access", (), "the role of the access table", DENY),
    Opening("project", "Projector", SCOPE_TAG, "its scope as the one tag", ALLOW),
    Opening("project", "Registrar", (), "the role that notes names", ALLOW),
    Opening("project", "Writer", SCOPE_TAG, "a role of the api", DENY),
    Opening("extract", "Extractor", SCOPE_TAG, "its scope as the one tag", ALLOW),
    Opening("extract", "Extractor", (), "no tag", DENY),
    *(Opening(name, "Meter", (), "the role that meters", ALLOW) for name in ("extract", "jobs", "sweep")),
    Opening("index", "Meter", (), "the role that meters", DENY),
    Opening("extract", "Eraser", SCOPE_TAG, "a role of the api", DENY),
    Opening("api", "Extractor", SCOPE_TAG, "a role of the workers", DENY),
    Opening("authorizer", "Reader", SCOPE_TAG, "a role of the api", DENY),
    Opening("authorizer", "Access", (), "the role of the access table", DENY),
    *(
        Opening("a stranger with sts:* on everything", role, SCOPE_TAG, "its scope as the one tag", DENY)
        for role in ("Reader", "Writer", "Eraser", "Extractor", "Projector", "Access", "Registrar", "Meter")
    ),
]
