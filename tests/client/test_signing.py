"""Requests signed with AWS credentials, each signature checked by a computation of its own."""

import asyncio
import hashlib
import hmac
import json
import sys
from urllib.parse import quote

import httpx
import pytest

import unsay

URL = "https://abcdefghij.execute-api.eu-central-1.amazonaws.com"
KEY, SECRET, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "a-session-token"
PAGE = {"items": [], "next_cursor": None}


@pytest.fixture(autouse=True)
def credentials(monkeypatch, tmp_path):
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "config").write_text(
        "[profile desk]\nregion = eu-west-1\naws_access_key_id = AKIDDESK\naws_secret_access_key = s\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)


class Wire:
    """Keeps the requests that are sent."""

    def __init__(self):
        self.sent = []

    def __call__(self, request):
        self.sent.append(request)
        return httpx.Response(200, json=PAGE)


def parts_of(request):
    """Key, Region, service and signature of a request, and which headers are signed."""
    kind, _, rest = request.headers["Authorization"].partition(" ")
    assert kind == "AWS4-HMAC-SHA256"
    found = dict(part.strip().split("=", 1) for part in rest.split(","))
    key, day, region, service, _ = found["Credential"].split("/")
    return key, day, region, service, found["SignedHeaders"].split(";"), found["Signature"]


def signature_of(request, secret):
    """What AWS would compute of a request as it came."""
    _, day, region, service, names, _ = parts_of(request)
    path = quote(request.url.raw_path.partition(b"?")[0].decode(), safe="/~")
    query = "&".join(sorted(request.url.query.decode().split("&")))
    headers = "".join(f"{name}:{request.headers[name].strip()}\n" for name in names)
    body = hashlib.sha256(request.content).hexdigest()
    canonical = "\n".join([request.method, path, query, headers, ";".join(names), body])
    where = f"{day}/{region}/{service}/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", request.headers["X-Amz-Date"], where, digest])
    key = b"AWS4" + secret.encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def test_a_request_goes_below_iam_with_a_signature_that_holds():
    wire = Wire()
    with unsay.connect(URL, aws=unsay.AwsAuth(), transport=httpx.MockTransport(wire)) as memory:
        memory.list(scope="acme/users/alice & bob", tag="tea/ü+", limit=3)
        with pytest.raises(unsay.UnexpectedAnswerError):
            memory.remember("Alice drinks tea.", scope="acme/users/alice")
        with pytest.raises(unsay.UnexpectedAnswerError):
            memory.conversation("run.1:a", scope="acme/users/alice")
        assert memory.url == URL
    assert len(wire.sent) == 3
    for request in wire.sent:
        key, _, region, service, names, signature = parts_of(request)
        assert (key, region, service) == (KEY, "eu-central-1", "execute-api")
        assert {"host", "x-amz-date", "x-amz-security-token"} <= set(names)
        assert request.headers["X-Amz-Security-Token"] == TOKEN
        assert str(request.url).startswith(f"{URL}/iam/v1/")
        assert signature == signature_of(request, SECRET)
        assert signature != signature_of(request, "another")
    assert json.loads(wire.sent[1].content)["content"] == "Alice drinks tea."


def test_an_event_loop_signs_too():
    wire = Wire()

    async def asked():
        async with unsay.connect_async(
            URL, aws=unsay.AwsAuth(), transport=httpx.MockTransport(wire)
        ) as memory:
            await memory.list(scope="acme/users/alice")

    asyncio.run(asked())
    (request,) = wire.sent
    assert parts_of(request)[-1] == signature_of(request, SECRET)


def test_a_profile_brings_its_own_credentials_and_its_region_where_the_url_names_none():
    wire = Wire()
    auth = unsay.AwsAuth(profile="desk")
    for url in ("https://memory.example.com", URL):
        with unsay.connect(url, aws=auth, transport=httpx.MockTransport(wire)) as memory:
            memory.list(scope="acme")
    assert [parts_of(request)[:1] + parts_of(request)[2:3] for request in wire.sent] == [
        ("AKIDDESK", "eu-west-1"),
        ("AKIDDESK", "eu-central-1"),
    ]


@pytest.mark.parametrize(
    ("url", "given", "said"),
    [
        ("https://memory.example.com", {"aws": unsay.AwsAuth()}, "Region"),
        (URL, {"aws": unsay.AwsAuth(profile="nobody")}, "no AWS profile 'nobody'"),
        (URL, {"aws": unsay.AwsAuth(), "token": "t"}, "one credential"),
        (URL, {}, "one credential"),
        ("http://memory.example.com", {"aws": unsay.AwsAuth(region="eu-west-1")}, "https"),
        ("memory://", {"aws": unsay.AwsAuth()}, "in this process"),
    ],
)
def test_what_cannot_be_signed_is_refused_before_anything_is_sent(url, given, said):
    for connect in (unsay.connect, unsay.connect_async):
        with pytest.raises(ValueError, match=said):
            connect(url, **given)


def test_without_any_credentials_it_says_so(monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(ValueError, match="no AWS credentials"):
        unsay.connect(URL, aws=unsay.AwsAuth())


def test_without_the_extra_it_says_which(monkeypatch):
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(ValueError, match=r"unsay\[aws\]"):
        unsay.connect(URL, aws=unsay.AwsAuth())
