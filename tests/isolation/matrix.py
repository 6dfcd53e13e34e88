"""The decisions of `decisions.py` evaluated over a template, and the page that shows them.

`python -m tests.isolation.matrix` writes `docs/policy-matrix.md`.
"""

from __future__ import annotations

from pathlib import Path

from tests.isolation.decisions import ALLOW, DENY, LEDGER, OPENINGS, OWN, Opening, Request, Row, rows
from tests.isolation.iam import Check, Principal, Template, allows, may_assume

PAGE = Path(__file__).resolve().parents[2] / "docs" / "policy-matrix.md"
STRANGER = Principal(
    "arn:stranger",
    ({"Statement": [{"Effect": "Allow", "Action": "sts:*", "Resource": "*"}]},),
)


class Derived:
    """What IAM has to check of a request, and what a template says to it."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._buckets = template.bucket_policies()

    def answer(self, row: Row) -> str:
        prefix = (
            row.session.role if row.session.role.startswith("Functions") else f"ScopeRoles{row.session.role}"
        )
        principal = self._template.role(
            f"{prefix}Role" if prefix.startswith("Functions") else prefix, **dict(row.session.tags)
        )
        checks = self._checks(row.request)
        return ALLOW if all(allows(principal, check, self._buckets) for check in checks) else DENY

    def opening(self, opening: Opening) -> str:
        role = f"ScopeRoles{opening.role}"
        known = not opening.caller.startswith("a stranger")
        caller = self._template.role(f"Functions{opening.caller.capitalize()}Role") if known else STRANGER
        arn = self._template.arn("AWS::IAM::Role", role)
        given = may_assume(caller, arn, self._template.trust(role), dict(opening.tags))
        return ALLOW if given else DENY

    def _checks(self, request: Request) -> list[Check]:
        if request.service == "dynamodb":
            return [self._on_items(*part) for part in _parts(request)]
        if request.service == "s3":
            return [self._on_objects(request)]
        action = "".join(part.capitalize() for part in request.operation.split("_"))
        return [Check(f"bedrock:{action}", self._template.arn("AWS::Bedrock::KnowledgeBase", ""))]

    def _on_items(self, action: str, table: str, keys: list[str], index: str | None) -> Check:
        arn = self._template.arn("AWS::DynamoDB::Table", f"Tables{table}")
        resource = f"{arn}/index/{index}" if index else arn
        return Check(f"dynamodb:{action}", resource, {"dynamodb:LeadingKeys": keys} if keys else {})

    def _on_objects(self, request: Request) -> Check:
        given = request.parameters
        bucket = self._template.arn("AWS::S3::Bucket", given["Bucket"])
        context = {"aws:SecureTransport": "true"}
        listing = {"list_objects_v2": "ListBucket", "list_object_versions": "ListBucketVersions"}
        if request.operation in listing:
            prefix = {"s3:prefix": given["Prefix"]} if "Prefix" in given else {}
            return Check(f"s3:{listing[request.operation]}", bucket, context | prefix)
        verb = "".join(part.capitalize() for part in request.operation.split("_"))
        version = "Version" if "VersionId" in given else ""
        return Check(f"s3:{verb}{version}", f"{bucket}/{given['Key']}", context)


def _parts(request: Request) -> list[tuple[str, str, list[str], str | None]]:
    """(action, table, leading keys, index) of everything a request touches."""
    given = request.parameters
    match request.operation:
        case "batch_get_item":
            return [
                ("BatchGetItem", table, [each["pk"]["S"] for each in asked["Keys"]], None)
                for table, asked in given["RequestItems"].items()
            ]
        case "transact_write_items":
            actions = {"ConditionCheck": "ConditionCheckItem"}
            parts = [next(iter(part.items())) for part in given["TransactItems"]]
            return [
                (
                    actions.get(kind, f"{kind}Item"),
                    p["TableName"],
                    [(p.get("Key") or p["Item"])["pk"]["S"]],
                    None,
                )
                for kind, p in parts
            ]
        case "query":
            keys = [given["ExpressionAttributeValues"][":p"]["S"]]
            return [("Query", given["TableName"], keys, given.get("IndexName"))]
        case "execute_statement":
            return [("PartiQLSelect", LEDGER, [f"{OWN}#M"], None)]
        case "get_item" | "put_item" | "delete_item" | "update_item":
            item = given.get("Key") or given["Item"]
            action = "".join(part.capitalize() for part in request.operation.split("_"))
            return [(action, given["TableName"], [item["pk"]["S"]], None)]
    action = "".join(part.capitalize() for part in request.operation.split("_"))
    return [(action, given["TableName"], [], None)]


def table() -> str:
    """The decisions, as a reviewer reads them."""
    lines = [HEADING, "| session | asks to | IAM |", "|---|---|---|"]
    lines += [f"| {row.session} | {row.what} | {_shown(row.answer)} |" for row in rows()]
    lines += ["", OPENING, "| caller | role | with | STS |", "|---|---|---|---|"]
    lines += [f"| {o.caller} | {o.role.lower()} | {o.what} | {_shown(o.answer)} |" for o in OPENINGS]
    return "\n".join(lines) + "\n"


def _shown(answer: str) -> str:
    return "allow" if answer == ALLOW else "**deny**"


HEADING = """# What IAM decides

{count} decisions on the synthesized policies. Each is made twice: by the local cloud, which is sent the
request with the credentials of such a session (`tests/isolation/test_policies_on_stack.py`), and by an
evaluation of its own over the template (`tests/infra/test_policy_matrix.py`). This page is written by
`.venv/bin/python -m tests.isolation.matrix`.

Unless it says otherwise, a session holds the tag `scope` with the id of its own scope. *The other* is any
other scope; the neighbours have an id that begins like its own, or that is the beginning of it.
"""
OPENING = """## Who may take on a role

The λs' own roles, and a stranger in the same account. The tags are those asked for with the role.
"""


def page() -> str:
    """The whole of `docs/policy-matrix.md`."""
    return table().replace("{count}", str(len(rows()) + len(OPENINGS)))


if __name__ == "__main__":
    PAGE.write_text(page())
