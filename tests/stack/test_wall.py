"""The wall on the deployed stack: what each role's credentials can and cannot reach, with IAM enforced."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError

from tests.support.stack import Stack, eventually

pytestmark = pytest.mark.stack

DENIED = {"AccessDenied", "AccessDeniedException", "403", "Forbidden"}


@pytest.fixture(scope="module")
def neighbours(stack: Stack):
    """Two scopes with a memory each, and their ids as the service derives them."""
    from unsay_core.application.keys import Keyring

    pepper = stack.aws("secretsmanager").get_secret_value(SecretId=stack.outputs["PepperSecretArn"])
    keyring = Keyring.from_pepper(pepper["SecretString"])
    found = {}
    with stack.client() as client:
        for scope in ("wall/own", "wall/neighbour"):
            body = {"scope": scope, "content": f"a stone of {scope}"}
            memory = client.post("/v1/memories", json=body).json()
            found[scope] = (keyring.scope_id(scope), memory["id"])
            where = {"scope": scope}
            eventually(
                lambda memory=memory, where=where: (
                    client.get(f"/v1/memories/{memory['id']}", params=where).json()["index"]["state"]
                    == "indexed"
                )
            )
    return found["wall/own"], found["wall/neighbour"]


@pytest.fixture(scope="module")
def api_role(stack: Stack):
    """The api λ's own credentials. Its role trusts Lambda alone, so the owner is let in for the test."""
    iam, arn = stack.aws("iam"), stack.outputs["ApiFunctionRoleArn"]
    name = arn.rpartition("/")[2]
    kept = iam.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
    opened = json.loads(json.dumps(kept))
    owner = {"AWS": "arn:aws:iam::000000000000:root"}
    opened["Statement"].append({"Effect": "Allow", "Principal": owner, "Action": "sts:AssumeRole"})
    iam.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(opened))
    yield credentials(stack.aws("sts").assume_role(RoleArn=arn, RoleSessionName="bare"))
    iam.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(kept))


def credentials(answer):
    given = answer["Credentials"]
    return {
        "aws_access_key_id": given["AccessKeyId"],
        "aws_secret_access_key": given["SecretAccessKey"],
        "aws_session_token": given["SessionToken"],
    }


@pytest.fixture(scope="module")
def opened(stack: Stack, api_role, neighbours):
    """Clients of the own scope, as opening it gives them: service and role in, client out."""
    sessions = {}

    def client(service: str, role: str):
        if role not in sessions:
            sessions[role] = credentials(
                stack.aws("sts", **api_role).assume_role(
                    RoleArn=stack.outputs[f"{role}RoleArn"],
                    RoleSessionName="opened",
                    Tags=[{"Key": "scope", "Value": neighbours[0][0]}],
                )
            )
        return stack.aws(service, **sessions[role])

    return client


def denied(call, **arguments):
    with pytest.raises(ClientError) as refused:
        call(**arguments)
    return refused.value.response["Error"]["Code"] in DENIED


def key(scope_id: str, area: str, sort: str):
    return {"pk": {"S": f"{scope_id}#{area}"}, "sk": {"S": sort}}


def test_the_api_functions_bare_role_is_denied_every_table_and_bucket(stack: Stack, api_role, neighbours):
    (own, memory_id), _ = neighbours
    dynamodb, s3 = stack.aws("dynamodb", **api_role), stack.aws("s3", **api_role)
    for table in ("LedgerTable", "RecordTable", "AccessTable"):
        name = {"TableName": stack.outputs[table]}
        assert denied(dynamodb.get_item, **name, Key=key(own, "M", memory_id))
        assert denied(dynamodb.put_item, **name, Item=key(own, "M", "x"))
        assert denied(dynamodb.scan, **name)
    bucket = {"Bucket": stack.outputs["DocumentsBucket"]}
    assert denied(s3.get_object, **bucket, Key=f"{own}/memories/{memory_id}.json")
    assert denied(s3.list_objects_v2, **bucket)
    kb = stack.aws("bedrock-agent-runtime", **api_role)
    assert denied(
        kb.retrieve, knowledgeBaseId=stack.knowledge_base["knowledgeBaseId"], retrievalQuery={"text": "stone"}
    )


@pytest.mark.parametrize("role", ["Reader", "Writer", "Eraser"])
def test_an_opened_scope_reads_its_own_and_is_denied_its_neighbour(stack: Stack, opened, neighbours, role):
    (own, memory_id), (other, other_id) = neighbours
    dynamodb, ledger = opened("dynamodb", role), stack.outputs["LedgerTable"]
    mine = {ledger: {"Keys": [key(own, "M", memory_id)]}}
    assert len(dynamodb.batch_get_item(RequestItems=mine)["Responses"][ledger]) == 1
    assert denied(dynamodb.get_item, TableName=ledger, Key=key(other, "M", other_id))
    query = {
        "TableName": ledger,
        "KeyConditionExpression": "pk = :pk",
    }
    assert dynamodb.query(**query, ExpressionAttributeValues={":pk": {"S": f"{own}#M"}})["Count"] == 1
    assert denied(dynamodb.query, **query, ExpressionAttributeValues={":pk": {"S": f"{other}#M"}})
    mixed = {ledger: {"Keys": [key(own, "M", memory_id), key(other, "M", other_id)]}}
    assert denied(dynamodb.batch_get_item, RequestItems=mixed)
    assert denied(dynamodb.scan, TableName=ledger)
    assert denied(dynamodb.execute_statement, Statement=f'SELECT * FROM "{ledger}"')


@pytest.mark.parametrize("role", ["Writer", "Eraser"])
def test_one_foreign_item_denies_the_whole_transaction(stack: Stack, opened, neighbours, role):
    (own, _), (other, other_id) = neighbours
    dynamodb, ledger = opened("dynamodb", role), stack.outputs["LedgerTable"]
    mine = {"Put": {"TableName": ledger, "Item": key(own, "I", f"probe-{role}")}}
    theirs = {"Put": {"TableName": ledger, "Item": key(other, "I", "probe")}}
    gone = {"Delete": {"TableName": ledger, "Key": key(other, "P", other_id)}}
    dynamodb.transact_write_items(TransactItems=[mine])
    for foreign in (theirs, gone):
        assert denied(dynamodb.transact_write_items, TransactItems=[mine, foreign])


@pytest.mark.parametrize("role", ["Reader", "Writer", "Eraser"])
def test_nobody_changes_or_removes_what_the_record_holds(stack: Stack, opened, neighbours, role):
    (own, _), _ = neighbours
    dynamodb, record = opened("dynamodb", role), {"TableName": stack.outputs["RecordTable"]}
    entry = key(own, "A", "000000000001")
    name = record["TableName"]
    assert dynamodb.batch_get_item(RequestItems={name: {"Keys": [entry]}})["Responses"][name]
    assert denied(dynamodb.delete_item, **record, Key=entry)
    assert denied(
        dynamodb.update_item,
        **record,
        Key=entry,
        UpdateExpression="SET actor = :a",
        ExpressionAttributeValues={":a": {"S": "nobody"}},
    )
    removal = {"Delete": {**record, "Key": entry}}
    assert denied(dynamodb.transact_write_items, TransactItems=[removal])


def test_the_reader_writes_nothing(stack: Stack, opened, neighbours):
    (own, _), _ = neighbours
    dynamodb = opened("dynamodb", "Reader")
    for table in ("LedgerTable", "RecordTable"):
        assert denied(dynamodb.put_item, TableName=stack.outputs[table], Item=key(own, "M", "x"))


def test_a_scope_without_a_tag_or_with_another_one_is_not_opened(stack: Stack, api_role):
    sts = stack.aws("sts", **api_role)
    reader = {"RoleArn": stack.outputs["ReaderRoleArn"], "RoleSessionName": "probe"}
    assert denied(sts.assume_role, **reader)
    assert denied(sts.assume_role, **reader, Tags=[{"Key": "scope", "Value": ""}])
    assert denied(
        sts.assume_role,
        **reader,
        Tags=[{"Key": "scope", "Value": "a"}, {"Key": "tenant", "Value": "b"}],
    )
    assert denied(
        sts.assume_role,
        RoleArn=stack.outputs["ProjectorRoleArn"],
        RoleSessionName="probe",
        Tags=[{"Key": "scope", "Value": "a"}],
    )
    assert sts.assume_role(**reader, Tags=[{"Key": "scope", "Value": "a"}])["Credentials"]


def test_documents_lie_under_the_scopes_own_prefix(stack: Stack, neighbours):
    s3, bucket = stack.aws("s3"), stack.outputs["DocumentsBucket"]
    for scope_id, memory_id in neighbours:
        stored = s3.get_object(Bucket=bucket, Key=f"{scope_id}/memories/{memory_id}.json")
        document = json.loads(stored["Body"].read())
        assert (document["id"], document["schema"]) == (memory_id, 1)
        assert document["fact"]["content"].startswith("a stone of")
