"""InvokeModel for `amazon.titan-embed-text-v2:0`: Titan's request and response around the local model.

The model is a smaller one (384 numbers, padded or cut to the dimension asked for): near
texts are near and far ones far, but no number equals Titan's.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import numpy as np
from ministack import app

from local.aws_json import AwsError, Response, answer, invalid, parse, refusal
from local.embeddings import count_off_loop, embed_off_loop
from unsay_core.adapters.minilm.encoder import Vector

PATCHES = {"ministack.app": ("SERVICE_HANDLERS",)}

DIMENSIONS = (1024, 512, 256)
MAX_CHARACTERS = 50_000
MAX_TOKENS = 8192

_INVOKE = re.compile(
    r"/model/(?:arn:aws:bedrock:[^/]*::foundation-model/)?amazon\.titan-embed-text-v2:0/invoke"
)
_KEYS = {"inputText", "dimensions", "normalize", "embeddingTypes"}

_emulator = app.SERVICE_HANDLERS["bedrock-runtime"]


def install() -> None:
    """Put the model into the emulator's tables."""
    app.SERVICE_HANDLERS["bedrock-runtime"] = handle


async def handle(
    method: str, path: str, headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]
) -> Response:
    """Answer InvokeModel for Titan text embeddings, or leave the request to the emulator."""
    if method != "POST" or not _INVOKE.fullmatch(unquote(path)):
        return await _emulator(method, path, headers, body, query)
    try:
        return await _invoke(parse(body))
    except AwsError as error:
        return refusal(error)


async def _invoke(request: dict[str, Any]) -> Response:
    text = _input_text(request)
    tokens = await count_off_loop(text)
    if tokens > MAX_TOKENS:
        raise invalid(
            "400 Bad Request: Too many input tokens. "
            f"Max input tokens: {MAX_TOKENS}, request input token count: {tokens} "
        )
    dimension, normalize, types = _options(request)
    vector = (await embed_off_loop([text], dimension, normalize=normalize))[0]
    by_type = {kind: _as_type(vector, kind) for kind in types}
    payload = {"embedding": vector.tolist(), "embeddingsByType": by_type, "inputTextTokenCount": tokens}
    status, headers, content = answer(payload)
    return status, {**headers, "X-Amzn-Bedrock-Input-Token-Count": str(tokens)}, content


def _input_text(request: dict[str, Any]) -> str:
    for key in request:
        if key not in _KEYS:
            raise _malformed(f"#: extraneous key [{key}] is not permitted")
    if "inputText" not in request:
        raise _malformed("#: required key [inputText] not found")
    text = request["inputText"]
    if not isinstance(text, str):
        raise _malformed("#/inputText: expected type: String")
    if not text:
        raise _malformed("#/inputText: expected minLength: 1, actual: 0")
    if len(text) > MAX_CHARACTERS:
        raise _malformed(f"#/inputText: expected maxLength: {MAX_CHARACTERS}, actual: {len(text)}")
    return text


def _options(request: dict[str, Any]) -> tuple[int, bool, list[str]]:
    dimension = request.get("dimensions", DIMENSIONS[0])
    if isinstance(dimension, bool) or dimension not in DIMENSIONS:
        raise _malformed(f"#/dimensions: {dimension} is not a valid enum value")
    normalize = request.get("normalize", True)
    if not isinstance(normalize, bool):
        raise _malformed("#/normalize: expected type: Boolean")
    types = request.get("embeddingTypes", ["float"])
    if not isinstance(types, list) or not types or not set(types) <= {"float", "binary"}:
        raise _malformed(f"#/embeddingTypes: {types} is not a valid enum value")
    return int(dimension), normalize, types


def _as_type(vector: Vector, kind: str) -> list[Any]:
    converted = (vector > 0).astype(np.int8) if kind == "binary" else vector
    return list(converted.tolist())


def _malformed(problem: str) -> AwsError:
    return invalid(f"Malformed input request: {problem}, please reformat your input and try again.")
