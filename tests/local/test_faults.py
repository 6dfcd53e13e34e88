"""Faults: what the control URL takes and refuses, and what a call then meets."""

import time

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ReadTimeoutError

from local import faults, operations

HEALTHY = {
    "kb_lag_seconds": None,
    "kb_ignore_filters": False,
    "kb_drop_deletes": False,
    "kb_keep_answering": False,
    "delay_seconds": {},
    "down": [],
    "kb_fail_ids": [],
    "throttle": {},
    "conflict": 0.0,
    "commit_then_timeout": {},
    "converse_replies": [],
    "alarms_ahead_seconds": 0.0,
}


@pytest.fixture(autouse=True)
def _healed():
    yield
    faults.clear()


class TestState:
    def test_a_change_sets_what_it_names_and_leaves_the_rest(self):
        faults.change({"kb_lag_seconds": 60, "down": ["sts"]})
        faults.change({"down": ["sqs", "s3"], "kb_drop_deletes": True})
        assert faults.current() == faults.Faults(
            kb_lag_seconds=60.0, down=("sqs", "s3"), kb_drop_deletes=True
        )

    def test_null_heals_one_fault(self):
        faults.change({"kb_lag_seconds": 60, "delay_seconds": {"sts.AssumeRole": 1}})
        faults.change({"kb_lag_seconds": None, "delay_seconds": None})
        assert faults.current() == faults.Faults()

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            ({"kb_lag": 1}, "kb_lag"),
            ({"kb_lag_seconds": "60"}, "kb_lag_seconds"),
            ({"kb_lag_seconds": -1}, "kb_lag_seconds"),
            ({"kb_lag_seconds": True}, "kb_lag_seconds"),
            ({"kb_ignore_filters": 1}, "kb_ignore_filters"),
            ({"down": "sts"}, "down"),
            ({"down": ["nosuch"]}, "nosuch"),
            ({"delay_seconds": 3}, "delay_seconds"),
            ({"delay_seconds": {"dynamodb.Get": 1}}, "dynamodb.Get"),
            ({"delay_seconds": {"dynamodb": 1}}, "dynamodb"),
            ({"delay_seconds": {"dynamodb.GetItem": "1"}}, "dynamodb.GetItem"),
            ({"kb_fail_ids": "mem_1"}, "kb_fail_ids"),
            ({"kb_fail_ids": [1]}, "kb_fail_ids"),
            ({"throttle": 0.3}, "throttle"),
            ({"throttle": {"dynamodb.Transact": 0.3}}, "dynamodb.Transact"),
            ({"throttle": {"dynamodb.GetItem": 1.5}}, "throttle.dynamodb.GetItem"),
            ({"throttle": {"dynamodb.GetItem": True}}, "throttle.dynamodb.GetItem"),
            ({"conflict": -0.1}, "conflict"),
            ({"conflict": {"dynamodb.TransactWriteItems": 1}}, "conflict"),
            ({"commit_then_timeout": ["dynamodb.PutItem"]}, "commit_then_timeout"),
            ({"commit_then_timeout": {"nosuch.PutItem": 1}}, "nosuch.PutItem"),
        ],
    )
    def test_a_wrong_change_names_what_is_wrong_and_changes_nothing(self, change, named):
        faults.change({"kb_lag_seconds": 5})
        with pytest.raises(faults.FaultError, match=named):
            faults.change({"kb_drop_deletes": True, **change})
        assert faults.current() == faults.Faults(kb_lag_seconds=5.0)


class TestOperations:
    """The operation of a request, for each protocol, from what boto3 really sends."""

    CALLS = (
        ("dynamodb", "get_item", {"TableName": "t", "Key": {"pk": {"S": "1"}}}, "GetItem"),
        (
            "sts",
            "assume_role",
            {"RoleArn": "arn:aws:iam::000000000000:role/x", "RoleSessionName": "ss"},
            "AssumeRole",
        ),
        ("sqs", "send_message", {"QueueUrl": "http://q/1/q", "MessageBody": "b"}, "SendMessage"),
        ("events", "put_events", {"Entries": [{}]}, "PutEvents"),
        ("secretsmanager", "get_secret_value", {"SecretId": "s"}, "GetSecretValue"),
        ("cloudformation", "describe_stacks", {}, "DescribeStacks"),
        ("cloudwatch", "put_metric_data", {"Namespace": "n", "MetricData": []}, "PutMetricData"),
        (
            "bedrock-agent-runtime",
            "retrieve",
            {"knowledgeBaseId": "K" * 10, "retrievalQuery": {"text": "q"}},
            "Retrieve",
        ),
        ("bedrock-agent", "list_knowledge_bases", {}, "ListKnowledgeBases"),
        (
            "bedrock-runtime",
            "invoke_model",
            {"modelId": "amazon.titan-embed-text-v2:0", "body": "{}"},
            "InvokeModel",
        ),
        ("s3vectors", "list_vector_buckets", {}, "ListVectorBuckets"),
        ("lambda", "invoke", {"FunctionName": "f"}, "Invoke"),
        ("apigatewayv2", "get_apis", {}, "GetApis"),
        ("s3", "get_object", {"Bucket": "bbb", "Key": "a/b"}, "GetObject"),
        ("s3", "head_object", {"Bucket": "bbb", "Key": "a"}, "HeadObject"),
        ("s3", "put_object", {"Bucket": "bbb", "Key": "a", "Body": b""}, "PutObject"),
        ("s3", "copy_object", {"Bucket": "bbb", "Key": "a", "CopySource": "c/d"}, "CopyObject"),
        ("s3", "list_objects_v2", {"Bucket": "bbb", "Prefix": "a"}, "ListObjectsV2"),
        ("s3", "delete_objects", {"Bucket": "bbb", "Delete": {"Objects": [{"Key": "a"}]}}, "DeleteObjects"),
    )

    @pytest.mark.parametrize(("service", "method", "request_", "operation"), CALLS)
    def test_a_request_is_known_by_its_operation(self, service, method, request_, operation):
        sent = []
        client = boto3.client(
            service,
            endpoint_url="http://127.0.0.1:1",
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

        def stop(request, **_):
            sent.append(request)
            raise InterruptedError

        client.meta.events.register("before-send", stop)
        with pytest.raises(InterruptedError):
            getattr(client, method)(**request_)
        url = httpx.URL(sent[0].url)
        headers = {name.lower(): _text(value) for name, value in sent[0].headers.items()}
        query = {name: url.params.get_list(name) for name in url.params}
        body = sent[0].body if isinstance(sent[0].body, bytes) else str(sent[0].body or "").encode()
        found = operations.operation_of(service, sent[0].method, url.path, headers, body, query)
        assert found == operation


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


class TestControlUrl:
    def test_it_shows_changes_and_heals(self, healthy):
        url = f"{healthy.place.url}/_faults"
        changed = httpx.put(url, json={"kb_lag_seconds": 60, "down": ["sts"]})
        assert changed.status_code == 200
        assert httpx.get(url).json() == {**HEALTHY, "kb_lag_seconds": 60.0, "down": ["sts"]}
        assert httpx.delete(url).json() == HEALTHY
        assert httpx.get(url).json() == HEALTHY

    def test_a_client_may_append_the_path_once_more(self, healthy):
        url = f"{healthy.place.url}/_faults/_faults"
        assert httpx.put(url, json={"kb_drop_deletes": True}).status_code == 200
        assert httpx.get(url).json()["kb_drop_deletes"] is True

    @pytest.mark.parametrize("body", [b"{", b"[]", b'"down"', b'{"nope": 1}', b'{"down": ["nope"]}'])
    def test_a_wrong_body_is_a_400_that_says_why(self, healthy, body):
        answer = httpx.put(f"{healthy.place.url}/_faults", content=body)
        assert answer.status_code == 400
        assert answer.json()["message"]
        assert httpx.get(f"{healthy.place.url}/_faults").json() == HEALTHY

    def test_other_methods_are_refused(self, healthy):
        assert httpx.post(f"{healthy.place.url}/_faults", json={}).status_code == 405


class TestEffects:
    @pytest.mark.parametrize(
        ("service", "method"),
        [
            ("sts", "get_caller_identity"),
            ("dynamodb", "list_tables"),
            ("s3", "list_buckets"),
            ("sqs", "list_queues"),
            ("events", "list_event_buses"),
            ("bedrock-agent", "list_knowledge_bases"),
            ("cloudwatch", "describe_alarms"),
        ],
    )
    def test_a_service_that_is_down_answers_503_in_its_own_protocol(self, healthy, service, method):
        client = healthy.client(service)
        getattr(client, method)()
        healthy.faults(down=[service])
        with pytest.raises(ClientError) as down:
            getattr(client, method)()
        assert down.value.response["Error"]["Code"] == "ServiceUnavailable"
        assert down.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
        healthy.faults(down=[])
        getattr(client, method)()

    def test_a_service_that_is_down_leaves_the_others_up(self, healthy):
        healthy.faults(down=["bedrock-agent-runtime", "sts"])
        assert healthy.client("dynamodb").list_tables()["ResponseMetadata"]["HTTPStatusCode"] == 200

    def test_a_delay_holds_back_its_operation_only(self, healthy):
        client = healthy.client("dynamodb")
        client.list_tables()
        healthy.faults(delay_seconds={"dynamodb.ListTables": 3})
        started = time.monotonic()
        with pytest.raises(ClientError, match="ResourceNotFoundException"):
            client.describe_table(TableName="absent")
        undelayed = time.monotonic()
        client.list_tables()
        assert time.monotonic() - undelayed >= 3
        assert undelayed - started < time.monotonic() - undelayed


@pytest.fixture(scope="module")
def table(cloud):
    """A table, by its name."""
    cloud.client("dynamodb").create_table(
        TableName="struck",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return "struck"


def write(table, *keys):
    return [{"Put": {"TableName": table, "Item": {"pk": {"S": key}}}} for key in keys]


def there(cloud, table, key):
    found = cloud.client("dynamodb").get_item(TableName=table, Key={"pk": {"S": key}}, ConsistentRead=True)
    return "Item" in found


def refusal(call, **arguments):
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return caught.value.response


class TestThrottle:
    @pytest.mark.parametrize(
        ("operation", "method", "code", "status"),
        [
            ("dynamodb.ListTables", "list_tables", "ProvisionedThroughputExceededException", 400),
            ("sts.GetCallerIdentity", "get_caller_identity", "ThrottlingException", 400),
            ("s3.ListBuckets", "list_buckets", "SlowDown", 503),
            ("sqs.ListQueues", "list_queues", "ThrottlingException", 400),
            ("bedrock-agent.ListKnowledgeBases", "list_knowledge_bases", "ThrottlingException", 400),
        ],
    )
    def test_a_throttled_call_is_refused_in_the_services_own_words(
        self, healthy, operation, method, code, status
    ):
        client = healthy.client(operation.partition(".")[0])
        getattr(client, method)()
        healthy.faults(throttle={operation: 1.0})
        found = refusal(getattr(client, method))
        assert (found["Error"]["Code"], found["ResponseMetadata"]["HTTPStatusCode"]) == (code, status)
        healthy.faults(throttle={})
        getattr(client, method)()

    def test_only_a_share_of_its_operation_is_throttled_and_nothing_of_it_is_done(self, healthy, table):
        client = healthy.client("dynamodb")
        healthy.faults(throttle={"dynamodb.TransactWriteItems": 0.5})
        done = {}
        for number in range(40):
            try:
                client.transact_write_items(TransactItems=write(table, f"throttled-{number}"))
                done[f"throttled-{number}"] = True
            except client.exceptions.ProvisionedThroughputExceededException:
                done[f"throttled-{number}"] = False
        assert set(done.values()) == {True, False}
        assert {key: there(healthy, table, key) for key in done} == done

    def test_a_share_of_nothing_strikes_nothing(self, healthy):
        healthy.faults(throttle={"dynamodb.ListTables": 0})
        for _ in range(20):
            healthy.client("dynamodb").list_tables()


class TestConflict:
    def test_a_transaction_is_cancelled_whole_and_says_why_item_by_item(self, healthy, table):
        client = healthy.client("dynamodb")
        healthy.faults(conflict=1)
        found = refusal(client.transact_write_items, TransactItems=write(table, "one", "two"))
        assert found["Error"]["Code"] == "TransactionCanceledException"
        assert [reason["Code"] for reason in found["CancellationReasons"]] == ["TransactionConflict", "None"]
        assert not there(healthy, table, "one")
        client.put_item(TableName=table, Item={"pk": {"S": "alone"}})
        healthy.faults(conflict=0)
        client.transact_write_items(TransactItems=write(table, "one", "two"))
        assert there(healthy, table, "two")


class TestCommitThenTimeout:
    def test_what_was_asked_for_is_done_and_the_client_hears_nothing(self, healthy, table):
        impatient = healthy.client("dynamodb").meta.config.merge(
            Config(read_timeout=0.5, retries={"total_max_attempts": 1})
        )
        client = boto3.client(
            "dynamodb",
            endpoint_url=healthy.place.url,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=impatient,
        )
        healthy.faults(commit_then_timeout={"dynamodb.TransactWriteItems": 1.0})
        asked = {"TransactItems": write(table, "unheard"), "ClientRequestToken": "the-same-request"}
        with pytest.raises(ReadTimeoutError):
            client.transact_write_items(**asked)
        assert there(healthy, table, "unheard")
        assert not there(healthy, table, "never asked for")
        healthy.faults(commit_then_timeout={})
        client.transact_write_items(**asked)
