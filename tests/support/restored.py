"""A backup that comes back: deployed functions pointed at restored tables for a while, and what they say."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.support.stack import ROOT, Stack, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

_numbers = itertools.count(1)
POINTED = ("Api", "Jobs", "Index")  # functions: those that answer, and two that work


def backup(stack: Stack, table: str) -> str:
    """A backup of a table of the stack, by its output; the ARN of it."""
    name = stack.outputs[table]
    made = stack.aws("dynamodb").create_backup(TableName=name, BackupName=f"drill-{next(_numbers)}")
    return str(made["BackupDetails"]["BackupArn"])


class Restored:
    """Both tables under other names: the ledger as it was in a backup, the record as it is."""

    def __init__(self, stack: Stack, backup_arn: str) -> None:
        self.stack, number = stack, next(_numbers)
        self.tables: dict[str, str] = {}
        for output, arn in (("LedgerTable", backup_arn), ("RecordTable", backup(stack, "RecordTable"))):
            name = f"{stack.outputs[output]}-restored-{number}"
            stack.aws("dynamodb").restore_table_from_backup(TargetTableName=name, BackupArn=arn)
            self.tables[stack.outputs[output]] = name

    def checked(self) -> dict[str, int]:
        """`unsay-admin restore-check`, as an operator runs it; what it found."""
        ledger, record = self.tables.values()
        command = [sys.executable, "-m", "unsay_core.admin.cli", "restore-check", "--json"]
        owner = {"AWS_ENDPOINT_URL": self.stack.endpoint_url, "AWS_DEFAULT_REGION": "us-east-1"}
        owner |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        done = subprocess.run(
            [*command, "--ledger", ledger, "--record", record],
            cwd=ROOT,
            env={**os.environ, **owner},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, int] = json.loads(done.stdout)
        return found

    def call(self, function: str, event: dict[str, Any]) -> Any:
        """One event for a function, as its trigger sends it."""
        client = self.stack.aws("lambda")
        answer = client.invoke(FunctionName=_named(self.stack, function), Payload=json.dumps(event))
        return json.loads(answer["Payload"].read())

    @contextlib.contextmanager
    def pointed_at(self) -> Iterator[None]:
        """The functions see these tables, and may; afterwards everything is as it was."""
        before = {name: self._variables(name) for name in POINTED}
        policies = list(self._policies())
        iam = self.stack.aws("iam")
        for role, policy, text in policies:
            iam.put_role_policy(RoleName=role, PolicyName=policy, PolicyDocument=text)
        try:
            for name, variables in before.items():
                self._set(name, {key: self.tables.get(value, value) for key, value in variables.items()})
            yield
        finally:
            for name, variables in before.items():
                self._set(name, variables)
            for role, policy, _ in policies:
                iam.delete_role_policy(RoleName=role, PolicyName=policy)
            for table in self.tables.values():
                self.stack.aws("dynamodb").delete_table(TableName=table)

    def _variables(self, name: str) -> dict[str, str]:
        found = self.stack.aws("lambda").get_function_configuration(FunctionName=_named(self.stack, name))
        return dict(found["Environment"]["Variables"])

    def _set(self, name: str, variables: dict[str, str]) -> None:
        client, named = self.stack.aws("lambda"), _named(self.stack, name)
        client.update_function_configuration(FunctionName=named, Environment={"Variables": variables})
        found = client.get_function_configuration
        eventually(lambda: found(FunctionName=named).get("LastUpdateStatus") != "InProgress")

    def _policies(self) -> Iterator[tuple[str, str, str]]:
        """Every policy of a role that names one of the tables, once more with the restored ones."""
        iam = self.stack.aws("iam")
        for role in [each["RoleName"] for page in _pages(iam, "list_roles") for each in page["Roles"]]:
            for policy in iam.list_role_policies(RoleName=role)["PolicyNames"]:
                document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
                text = document if isinstance(document, str) else json.dumps(document)
                again = text
                for old, new in self.tables.items():
                    again = again.replace(f"table/{old}", f"table/{new}")
                if again != text:
                    yield role, f"{policy}-Restored"[:128], again


def _pages(client: Any, operation: str) -> Any:
    return client.get_paginator(operation).paginate()


def _named(stack: Stack, function: str) -> str:
    """The name of a function of the stack by its part of the template."""
    pages = _pages(stack.aws("lambda"), "list_functions")
    names = [each["FunctionName"] for page in pages for each in page["Functions"]]
    (found,) = [name for name in names if f"Functions{function}" in name]
    return str(found)
