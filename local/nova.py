"""InvokeModel for `amazon.nova-2-multimodal-embeddings-v1:0`: Nova's form around the local model, for text.

The model is a smaller one (384 numbers, padded or cut to the dimension asked for): near texts are near and
far ones far, but no number equals Nova's, and the purpose of an embedding changes nothing.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import unquote

from ministack import app

from local.aws_json import AwsError, Response, answer, invalid, parse, refusal
from local.embeddings import embed_off_loop

PATCHES = {"ministack.app": ("SERVICE_HANDLERS",)}

MODEL = "amazon.nova-2-multimodal-embeddings-v1:0"
DIMENSIONS = (3072, 1024, 384, 256)
PURPOSES = (
    "GENERIC_INDEX",
    "GENERIC_RETRIEVAL",
    "TEXT_RETRIEVAL",
    "DOCUMENT_RETRIEVAL",
    "CLASSIFICATION",
    "CLUSTERING",
)
MAX_CHARACTERS = 50_000

_INVOKE = re.compile(rf"/model/(?:arn:aws:bedrock:[^/]*::foundation-model/)?{re.escape(MODEL)}/invoke")

Handler: TypeAlias = Callable[[str, str, Mapping[str, str], bytes, Mapping[str, Any]], Awaitable[Response]]


def install() -> None:
    """Put the model before whatever answers for the service until now."""
    app.SERVICE_HANDLERS["bedrock-runtime"] = partial(handle, app.SERVICE_HANDLERS["bedrock-runtime"])


async def handle(
    others: Handler,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes,
    query: Mapping[str, Any],
) -> Response:
    """Answer InvokeModel for Nova embeddings, or leave the request to the others."""
    if method != "POST" or not _INVOKE.fullmatch(unquote(path)):
        return await others(method, path, headers, body, query)
    try:
        return await _invoke(parse(body))
    except AwsError as error:
        return refusal(error)


async def _invoke(request: dict[str, Any]) -> Response:
    if request.get("taskType") != "SINGLE_EMBEDDING":
        raise invalid("taskType: only SINGLE_EMBEDDING can be invoked synchronously")
    wanted = request.get("singleEmbeddingParams")
    if not isinstance(wanted, dict):
        raise invalid("singleEmbeddingParams is required")
    text, dimension = _text(wanted), _dimension(wanted)
    (vector,) = await embed_off_loop([text], dimension)
    return answer({"embeddings": [{"embeddingType": "TEXT", "embedding": vector.tolist()}]})


def _text(wanted: Mapping[str, Any]) -> str:
    given = wanted.get("text")
    if not isinstance(given, dict) or given.get("truncationMode") not in ("START", "END", "NONE"):
        raise invalid("text: a truncationMode is required; other media are not emulated")
    text = given.get("value")
    if not isinstance(text, str) or not 1 <= len(text) <= MAX_CHARACTERS:
        raise invalid(f"text.value must have 1 to {MAX_CHARACTERS} characters")
    return text


def _dimension(wanted: Mapping[str, Any]) -> int:
    if wanted.get("embeddingPurpose") not in PURPOSES:
        raise invalid(f"embeddingPurpose must be one of {', '.join(PURPOSES)}")
    dimension = wanted.get("embeddingDimension", DIMENSIONS[0])
    if isinstance(dimension, bool) or dimension not in DIMENSIONS:
        raise invalid(f"embeddingDimension must be one of {', '.join(map(str, DIMENSIONS))}")
    return int(dimension)
