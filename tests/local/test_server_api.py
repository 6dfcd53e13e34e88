"""The deployed HTTP API behind the front door, and the functions behind it, as Lambda runs them."""

import httpx
import pytest

GOOD = {"Authorization": "Bearer good"}


@pytest.fixture
def call(cloud, app):
    """GET below /v1 of the deployed API, authorized."""

    def get(path, **request):
        return httpx.get(f"{cloud.place.url}/v1/{path}", headers=GOOD, timeout=20, **request)

    return get


class TestFrontDoor:
    def test_path_and_query_arrive_as_they_were_sent(self, call):
        event = call("a%2Fb/%C3%A9?x=%20b+c&x=2&y").json()["event"]
        assert event["rawQueryString"] == "x=%20b+c&x=2&y"
        assert event["rawPath"] == "/v1/a/b/é"
        assert event["version"] == "2.0"

    def test_an_open_route_needs_no_key(self, cloud, app):
        assert httpx.get(f"{cloud.place.url}/v1/health").status_code == 200

    def test_without_the_header_the_gateway_itself_answers_401(self, cloud, app):
        answer = httpx.get(f"{cloud.place.url}/v1/anything")
        assert (answer.status_code, answer.json()) == (401, {"message": "Unauthorized"})

    def test_a_refused_key_is_a_403(self, cloud, app):
        answer = httpx.get(f"{cloud.place.url}/v1/anything", headers={"Authorization": "Bearer bad"})
        assert (answer.status_code, answer.json()) == (403, {"message": "Forbidden"})

    def test_the_authorizer_is_asked_once_per_key_while_its_answer_is_kept(self, cloud, app):
        def asked(key):
            url = f"{cloud.place.url}/v1/anything"
            answer = httpx.get(url, headers={"Authorization": f"Bearer good-{key}"}).json()
            return answer["event"]["requestContext"]["authorizer"]["lambda"]["asked"]

        first = asked("one")
        assert [asked("one"), asked("one")] == [first, first]
        assert asked("two") != first

    def test_a_request_body_and_its_method_arrive(self, cloud, app):
        answer = httpx.post(f"{cloud.place.url}/v1/x", headers=GOOD, json={"a": 1}).json()
        assert answer["event"]["body"] == '{"a":1}'
        assert answer["event"]["requestContext"]["http"]["method"] == "POST"

    def test_a_signed_aws_request_below_v1_is_not_taken_for_the_api(self, cloud, app):
        assert cloud.client("batch").list_jobs(jobQueue="q")["ResponseMetadata"]["HTTPStatusCode"] == 200

    def test_the_emulators_own_controls_are_not_reachable(self, cloud, app):
        assert httpx.post(f"{cloud.place.url}/_ministack/reset").status_code == 404
        assert httpx.get(f"{cloud.place.url}/v1/health").status_code == 200


class TestFailures:
    @pytest.mark.parametrize("path", ["crash", "exit", "slow"])
    def test_a_function_that_fails_is_a_bare_500(self, call, path):
        answer = call(path)
        assert answer.status_code == 500
        assert answer.text == '{"message":"Internal Server Error"}'

    def test_its_error_is_in_its_log(self, cloud, app, call):
        call("crash")
        events = cloud.client("logs").filter_log_events(logGroupName=f"/aws/lambda/{app['ApiFunction']}")[
            "events"
        ]
        assert any("RuntimeError: a secret detail" in event["message"] for event in events)

    def test_an_error_leaves_the_environment_warm_and_a_crash_does_not(self, call):
        before = call("memory").json()
        call("crash")
        warm = call("memory").json()
        assert warm["pid"] == before["pid"]
        assert warm["calls"] == before["calls"] + 2
        call("exit")
        assert call("memory").json()["pid"] != before["pid"]


class TestIsolation:
    def test_a_function_sees_lambdas_variables_and_its_own_and_no_others(self, cloud, call):
        seen = call("environment").json()["variables"]
        assert seen["AWS_ENDPOINT_URL"] == cloud.place.url
        assert seen["AWS_EXECUTION_ENV"] == "AWS_Lambda_python3.13"
        assert seen["TABLE"]
        known = {
            "AWS_REGION_X",
            "TABLE",
            "LAMBDA_TASK_ROOT",
            "_HANDLER",
            "LANG",
            "LC_CTYPE",
            "LD_LIBRARY_PATH",
            "TZ",
            "PATH",
        }
        unexpected = {n for n in seen if n not in known and not n.startswith(("AWS_LAMBDA_", "_X_AMZN"))}
        assert unexpected == {
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_REGION",
            "AWS_DEFAULT_REGION",
            "AWS_EXECUTION_ENV",
            "AWS_ENDPOINT_URL",
            "AWS_DISABLE_HOST_PREFIX_INJECTION",
            "AWS_XRAY_DAEMON_ADDRESS",
        }

    def test_a_function_imports_its_layers_and_nothing_of_the_server(self, call):
        modules = call("environment").json()["modules"]
        assert modules["jmespath"] is True  # from the host build of the layer
        assert modules["numpy"] is False  # the server has it, no layer does
        assert modules["sample_dependency"] is False  # the layer as synthesized was swapped for the host's
