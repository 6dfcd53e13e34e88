"""One trace from the words that came to the last write they led to, on the deployed stack."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.stack import Stack, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.stack

TRACE, SPAN = "c0ffee1916cd43dd8448eb211c80319c", "b7ad6b7169203331"
OURS = f"1-{TRACE[:8]}-{TRACE[8:]}"
SCOPE, WORDS = "traces/quokka", "I live in Quokkaville."


def segments(stack: Stack) -> list[dict[str, Any]]:
    """Those of the one trace."""
    url = stack.control_url.replace("/_faults", "/_traces")
    found = httpx.get(url).json()["segments"]
    return [segment for segment in found if segment["trace_id"] == OURS]


def works(found: list[dict[str, Any]]) -> set[str]:
    return {segment["annotations"]["work"] for segment in found}


def above(segment: dict[str, Any], found: list[dict[str, Any]]) -> Iterator[str]:
    """The work that a segment stands below, the nearest first, up to whoever sent the request."""
    by_id = {each["id"]: each for each in found}
    while segment["parent_id"] in by_id:
        segment = by_id[segment["parent_id"]]
        yield segment["annotations"]["work"]
    assert segment["parent_id"] == SPAN, segment


def test_one_trace_leads_from_what_was_said_to_the_last_write(stack: Stack) -> None:
    headers = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
    body = {"scope": SCOPE, "messages": [{"seq": 1, "role": "user", "content": WORDS}], "flush": True}
    with stack.client() as client:
        path = "/v1/conversations/run-1/messages"
        assert client.post(path, json=body, headers=headers).status_code == 202

        def indexed() -> bool:
            found = client.get("/v1/memories", params={"scope": SCOPE}).json()["items"]
            return bool(found) and found[0]["index"]["state"] == "indexed"

        eventually(indexed, within=120)
    found = eventually(lambda: _whole(segments(stack)))
    said = "record_messages"
    extracted = next(each for each in found if each["annotations"]["work"] == "extract")
    assert list(above(extracted, found)) == [said]
    asked = next(each for each in found if each["annotations"]["work"] == "bedrock-runtime.Converse")
    assert list(above(asked, found)) == ["extract", said]
    index = next(each for each in found if each["annotations"]["work"] == "index")
    assert list(above(index, found)) == ["project", "extract", said]
    writes = [each for each in found if each["annotations"]["work"] == "dynamodb.TransactWriteItems"]
    last = max(writes, key=lambda each: each["end_time"])
    assert list(above(last, found)) == ["index", "project", "extract", said]
    (first,) = [each for each in found if each["annotations"]["work"] == said]
    assert (first["name"], first["annotations"]["status"]) == ("unsay api", 202)
    scope_ids = {each["annotations"]["scope"] for each in found if "scope" in each["annotations"]}
    assert len(scope_ids) == 1
    assert extracted["annotations"]["tokens"] > 0
    assert "uokka" not in json.dumps(found)


def _whole(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The trace once its last part has come; segments are told when their work is over."""
    is_whole = works(found) >= {"record_messages", "extract", "project", "index", "bedrock-runtime.Converse"}
    return found if is_whole else []
