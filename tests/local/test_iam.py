"""The decisions of the local cloud's IAM, each asked of the running server by a real session."""

import pytest
from botocore.exceptions import ClientError

from local.place import ACCOUNT, REGION

OWN, OTHER = "aaaa#M", "bbbb#M"
DENIED = {"AccessDenied", "AccessDeniedException"}
LEADING_KEYS = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "${aws:PrincipalTag/scope}#*"}}
BOUND = {**LEADING_KEYS, "Null": {"dynamodb:LeadingKeys": "false", "aws:PrincipalTag/scope": "false"}}


def allowed(call):
    """Whether IAM lets a call through; any other error is a failure of the test."""
    try:
        call()
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code not in DENIED:
            raise
        return False
    return True


def item(pk, **more):
    return {"pk": {"S": pk}, "sk": {"S": "1"}, **more}


@pytest.fixture(scope="module")
def world(cloud):
    """Two tables and a bucket with a neighbour's data in each, and a role bound to its session tag."""
    tables, bucket = ("iam-ledger", "iam-record"), "iam-documents"
    dynamodb, s3 = cloud.client("dynamodb"), cloud.client("s3")
    for table in tables:
        dynamodb.create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in ("pk", "sk")],
        )
        for pk in (OWN, OTHER):
            dynamodb.put_item(TableName=table, Item=item(pk))
    s3.create_bucket(Bucket=bucket)
    for scope in ("aaaa", "bbbb"):
        s3.put_object(Bucket=bucket, Key=f"{scope}/x", Body=b"1")
    ledger, record = (f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}" for table in tables)
    reads = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:ConditionCheckItem"]
    role = cloud.role(
        "iam-bound",
        {"Effect": "Allow", "Action": reads, "Resource": [ledger, record], "Condition": BOUND},
        {"Effect": "Allow", "Action": ["dynamodb:PutItem"], "Resource": ledger, "Condition": BOUND},
        {"Effect": "Allow", "Action": ["dynamodb:UpdateItem"], "Resource": record, "Condition": BOUND},
        {
            "Effect": "Allow",
            "Action": "s3:*Object",
            "Resource": f"arn:aws:s3:::{bucket}/${{aws:PrincipalTag/scope}}/*",
        },
        {
            "Effect": "Allow",
            "Action": "s3:ListBucket",
            "Resource": f"arn:aws:s3:::{bucket}",
            "Condition": {"StringLike": {"s3:prefix": "${aws:PrincipalTag/scope}/*"}},
        },
    )
    return {"ledger": tables[0], "record": tables[1], "bucket": bucket, "role": role, "arn": ledger}


@pytest.fixture(scope="module")
def mine(cloud, world):
    """DynamoDB as a session of the scope `aaaa` sees it."""
    return cloud.client("dynamodb", cloud.assume(world["role"], {"scope": "aaaa"}))


def put(table, pk):
    return {"Put": {"TableName": table, "Item": item(pk)}}


def check(table, pk):
    condition = {"ConditionExpression": "attribute_exists(pk)"}
    return {"ConditionCheck": {"TableName": table, "Key": item(pk), **condition}}


def update(table, pk):
    expression = {"UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n": {"N": "1"}}}
    return {"Update": {"TableName": table, "Key": item(pk), **expression}}


def delete(table, pk):
    return {"Delete": {"TableName": table, "Key": item(pk)}}


@pytest.mark.parametrize(("pk", "expected"), [(OWN, True), (OTHER, False)])
class TestSingleItems:
    def test_get_reaches_only_its_own_scope(self, mine, world, pk, expected):
        assert allowed(lambda: mine.get_item(TableName=world["ledger"], Key=item(pk))) is expected

    def test_put_reaches_only_its_own_scope(self, mine, world, pk, expected):
        assert allowed(lambda: mine.put_item(TableName=world["ledger"], Item=item(pk))) is expected

    def test_update_reaches_only_its_own_scope(self, mine, world, pk, expected):
        request = update(world["record"], pk)["Update"]
        assert allowed(lambda: mine.update_item(**request)) is expected

    @pytest.mark.parametrize(
        "condition",
        ["pk = :p", "sk = :s AND pk = :p", "#k = :p", "begins_with(sk, :s) AND #k=:p", "(pk = :p)"],
    )
    def test_query_reaches_only_its_own_scope(self, mine, world, pk, expected, condition):
        values = {":p": {"S": pk}} | ({":s": {"S": "1"}} if ":s" in condition else {})
        names = {"ExpressionAttributeNames": {"#k": "pk"}} if "#k" in condition else {}
        request = {"KeyConditionExpression": condition, "ExpressionAttributeValues": values, **names}
        assert allowed(lambda: mine.query(TableName=world["ledger"], **request)) is expected

    def test_a_table_named_by_its_arn_is_the_same_table(self, mine, world, pk, expected):
        assert allowed(lambda: mine.get_item(TableName=world["arn"], Key=item(pk))) is expected


class TestOtherActions:
    def test_an_action_that_is_not_granted_is_denied_on_the_own_scope_too(self, mine, world):
        assert not allowed(lambda: mine.delete_item(TableName=world["ledger"], Key=item(OWN)))
        assert not allowed(lambda: mine.put_item(TableName=world["record"], Item=item(OWN)))

    def test_a_scan_is_denied_whatever_else_the_request_says(self, mine, world):
        assert not allowed(lambda: mine.scan(TableName=world["ledger"]))

    def test_a_scan_that_is_granted_by_mistake_names_no_key_and_stays_denied(self, cloud, world):
        grant = {"Effect": "Allow", "Action": "dynamodb:*", "Resource": world["arn"], "Condition": BOUND}
        session = cloud.assume(cloud.role("iam-wide", grant), {"scope": "aaaa"})
        wide = cloud.client("dynamodb", session)
        assert allowed(lambda: wide.get_item(TableName=world["ledger"], Key=item(OWN)))
        assert not allowed(lambda: wide.scan(TableName=world["ledger"]))


class TestBatches:
    @pytest.mark.parametrize(
        ("keys", "expected"),
        [
            ({"ledger": [OWN], "record": [OWN]}, True),
            ({"ledger": [OWN, OTHER]}, False),
            ({"ledger": [OWN], "record": [OTHER]}, False),
            ({"ledger": [OTHER], "record": [OWN]}, False),
        ],
    )
    def test_every_key_of_every_table_of_a_batch_read_must_be_its_own(self, mine, world, keys, expected):
        request = {world[table]: {"Keys": [item(pk) for pk in pks]} for table, pks in keys.items()}
        assert allowed(lambda: mine.batch_get_item(RequestItems=request)) is expected

    @pytest.mark.parametrize("pk", [OWN, OTHER])
    def test_a_batch_write_is_its_own_action(self, cloud, mine, world, pk):
        grant = {
            "Effect": "Allow",
            "Action": "dynamodb:BatchWriteItem",
            "Resource": world["arn"],
            "Condition": BOUND,
        }
        session = cloud.assume(cloud.role(f"iam-batch-{pk[:4]}", grant), {"scope": "aaaa"})
        writes = {world["ledger"]: [{"PutRequest": {"Item": item(pk)}}]}
        assert allowed(lambda: cloud.client("dynamodb", session).batch_write_item(RequestItems=writes)) is (
            pk == OWN
        )
        assert not allowed(lambda: mine.batch_write_item(RequestItems=writes))


class TestTransactions:
    @pytest.mark.parametrize(
        ("items", "expected"),
        [
            ([("put", "ledger", OWN)], True),
            ([("put", "ledger", OTHER)], False),
            ([("put", "ledger", OWN), ("check", "record", OWN)], True),
            ([("put", "ledger", OWN), ("check", "record", OTHER)], False),
            ([("put", "ledger", OWN), ("update", "record", OWN)], True),
            ([("put", "ledger", OWN), ("put", "record", OWN)], False),
            ([("put", "ledger", OWN), ("delete", "ledger", "aaaa#X")], False),
            ([("update", "ledger", OWN)], False),
            ([("check", "ledger", OWN), ("update", "record", OTHER)], False),
        ],
    )
    def test_each_item_of_a_write_needs_its_own_action_on_its_own_table_and_key(
        self, mine, world, items, expected
    ):
        build = {"put": put, "check": check, "update": update, "delete": delete}
        request = [build[kind](world[table], pk) for kind, table, pk in items]
        assert allowed(lambda: mine.transact_write_items(TransactItems=request)) is expected

    @pytest.mark.parametrize(("pks", "expected"), [([OWN], True), ([OWN, OTHER], False)])
    def test_each_item_of_a_transactional_read_must_be_its_own(self, mine, world, pks, expected):
        gets = [{"Get": {"TableName": world[t], "Key": item(pk)}} for t in ("ledger", "record") for pk in pks]
        assert allowed(lambda: mine.transact_get_items(TransactItems=gets)) is expected

    def test_a_policy_can_ask_for_the_enclosing_operation(self, cloud, world):
        only_in_transactions = {
            **LEADING_KEYS,
            "ForAnyValue:StringEquals": {"dynamodb:EnclosingOperation": ["TransactWriteItems"]},
        }
        grant = {"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": world["arn"]}
        session = cloud.assume(
            cloud.role("iam-enclosed", {**grant, "Condition": only_in_transactions}), {"scope": "aaaa"}
        )
        client = cloud.client("dynamodb", session)
        assert allowed(lambda: client.transact_write_items(TransactItems=[put(world["ledger"], OWN)]))
        assert not allowed(lambda: client.put_item(TableName=world["ledger"], Item=item(OWN)))

    def test_a_denial_looks_as_from_dynamodb(self, mine, world):
        with pytest.raises(ClientError) as denied:
            mine.transact_write_items(TransactItems=[put(world["ledger"], OTHER)])
        error = denied.value.response
        assert error["Error"]["Code"] == "AccessDeniedException"
        assert "is not authorized to perform: dynamodb:PutItem" in error["Error"]["Message"]
        assert error["ResponseMetadata"]["HTTPStatusCode"] == 400


class TestDocuments:
    @pytest.mark.parametrize(("key", "expected"), [("aaaa/x", True), ("bbbb/x", False), ("x", False)])
    def test_an_object_is_reached_only_below_its_own_prefix(self, cloud, world, key, expected):
        s3 = cloud.client("s3", cloud.assume(world["role"], {"scope": "aaaa"}))
        if expected:
            assert s3.get_object(Bucket=world["bucket"], Key=key)["Body"].read() == b"1"
        assert allowed(lambda: s3.put_object(Bucket=world["bucket"], Key=key, Body=b"1")) is expected

    @pytest.mark.parametrize(
        ("prefix", "expected"), [("aaaa/", True), ("bbbb/", False), (None, False), ("a", False)]
    )
    def test_a_listing_shows_only_its_own_prefix(self, cloud, world, prefix, expected):
        s3 = cloud.client("s3", cloud.assume(world["role"], {"scope": "aaaa"}))
        request = {"Prefix": prefix} if prefix is not None else {}
        assert allowed(lambda: s3.list_objects_v2(Bucket=world["bucket"], **request)) is expected


class TestVariables:
    def test_without_the_tag_nothing_matches(self, cloud, world):
        session = cloud.assume(world["role"])
        dynamodb, s3 = cloud.client("dynamodb", session), cloud.client("s3", session)
        for pk in (OWN, "#M", "${aws:PrincipalTag/scope}#M"):
            assert not allowed(lambda pk=pk: dynamodb.get_item(TableName=world["ledger"], Key=item(pk)))
        for key in ("aaaa/x", "/x", "${aws:PrincipalTag/scope}/x"):
            assert not allowed(lambda key=key: s3.put_object(Bucket=world["bucket"], Key=key, Body=b""))

    def test_an_unset_variable_matches_nothing_even_where_the_condition_is_on_an_absent_key(
        self, cloud, world
    ):
        condition = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "${aws:PrincipalTag/scope}#*"}}
        grant = {"Effect": "Allow", "Action": "dynamodb:*", "Resource": world["arn"], "Condition": condition}
        client = cloud.client("dynamodb", cloud.assume(cloud.role("iam-unset", grant)))
        assert not allowed(lambda: client.scan(TableName=world["ledger"]))

    @pytest.mark.parametrize("value", ["*", "????", "aaaa?", "a*"])
    def test_a_wildcard_in_a_tag_is_an_ordinary_character(self, cloud, world, value):
        session = cloud.assume(world["role"], {"scope": value})
        dynamodb, s3 = cloud.client("dynamodb", session), cloud.client("s3", session)
        assert allowed(lambda: dynamodb.get_item(TableName=world["ledger"], Key=item(f"{value}#M")))
        assert not allowed(lambda: dynamodb.get_item(TableName=world["ledger"], Key=item(OWN)))
        assert not allowed(lambda: s3.put_object(Bucket=world["bucket"], Key="aaaa/x", Body=b"1"))

    def test_a_session_policy_narrows_by_the_keys_of_the_request(self, cloud, world):
        grant = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        only = {
            "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [OWN]},
            "Null": {"dynamodb:LeadingKeys": "false"},
        }
        policy = {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*", "Condition": only}
        document = __import__("json").dumps({"Version": "2012-10-17", "Statement": [policy]})
        session = cloud.assume(cloud.role("iam-everything", grant), Policy=document)
        client = cloud.client("dynamodb", session)
        assert allowed(lambda: client.get_item(TableName=world["ledger"], Key=item(OWN)))
        assert not allowed(lambda: client.get_item(TableName=world["ledger"], Key=item(OTHER)))
        assert not allowed(lambda: client.scan(TableName=world["ledger"]))


class TestCredentials:
    def test_a_session_with_a_wrong_secret_is_refused(self, cloud, world):
        session = cloud.assume(world["role"], {"scope": "aaaa"}) | {"SecretAccessKey": "wrong"}
        with pytest.raises(ClientError, match="InvalidSignatureException"):
            cloud.client("dynamodb", session).get_item(TableName=world["ledger"], Key=item(OWN))

    def test_an_unknown_key_is_refused(self, cloud):
        unknown = {"AccessKeyId": "AKIA0000000000000000", "SecretAccessKey": "x"}
        with pytest.raises(ClientError, match="UnrecognizedClientException"):
            cloud.client("dynamodb", unknown).list_tables()
