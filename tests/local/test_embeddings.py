"""The local embedding model, its tokenizer, and Titan's API around it."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from botocore.exceptions import ClientError

from local import embeddings
from tests.local.kb_cloud import Cloud
from unsay_core.adapters.minilm import encoder

pytest_plugins = ["tests.local.kb_fixtures"]

TITAN = "amazon.titan-embed-text-v2:0"
NEAR_PAIRS = [
    ("the cat sat on the mat", "a kitten rested on the rug"),
    ("Alice likes green tea in the morning", "what does alice drink"),
    ("Bob moved to Berlin last year", "where does bob live"),
    ("She is allergic to peanuts", "foods that could harm her"),
]


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


@pytest.mark.parametrize("dimension", [256, 512, 1024])
def test_each_text_is_nearest_to_the_one_that_means_the_same(dimension: int) -> None:
    left = embeddings.embed([one for one, _ in NEAR_PAIRS], dimension)
    right = embeddings.embed([other for _, other in NEAR_PAIRS], dimension)
    for number, vector in enumerate(left):
        scores = [cosine(vector, other) for other in right]
        assert scores.index(max(scores)) == number
        assert max(scores) > sorted(scores)[-2] + 0.1


def test_vectors_have_the_length_and_norm_asked_for() -> None:
    (vector,) = embeddings.embed(["a text"], 512)
    assert vector.shape == (512,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    (raw,) = embeddings.embed(["a text"], 512, normalize=False)
    assert np.linalg.norm(raw) != pytest.approx(1, abs=0.05)
    assert cosine(raw, vector) == pytest.approx(1, abs=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_a_batch() -> None:
    texts = [f"sentence number {number} of a batch" + " and more" * number for number in range(20)]
    together = encoder.encoder().encode(texts)
    fresh = encoder.Encoder(encoder.encoder()._runtime, encoder.encoder().tokenizer)
    for text, vector in zip(texts, together, strict=True):
        assert cosine(fresh.encode([text])[0], vector) > 0.99


def test_the_tokenizer_gives_berts_ids() -> None:
    encode = encoder.encoder().tokenizer.encode
    assert encode("hello world", 256) == [101, 7592, 2088, 102]
    assert encode("Unaffable, HÉLLO!", 256) == [101, 14477, 20961, 3468, 1010, 7592, 999, 102]
    assert encode("x" * 101, 256) == [101, 100, 102]
    assert encode("one two three four", 4) == [101, 2028, 2048, 102]
    assert encode("\u0000\u200b \t", 256) == [101, 102]


def test_a_file_with_another_hash_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "model.onnx"
    other.write_bytes(b"not the model")
    with pytest.raises(encoder.PinnedFileError, match="refusing"):
        encoder.verified(other, encoder.MODEL_SHA256)


def test_what_was_embedded_before_costs_next_to_nothing() -> None:
    texts = [f"Alice number {number} works at a bank in Oslo and likes tea" for number in range(100)]
    encoder.encoder()
    # Processor time: how busy the machine is with other things does not count.
    started = time.process_time()
    first = embeddings.embed(texts, 1024)
    took = time.process_time() - started
    again = time.process_time()
    second = embeddings.embed(texts, 1024)
    assert time.process_time() - again < took / 5
    assert all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))


def invoke(cloud: Cloud, model: str = TITAN, **request: Any) -> Any:
    answer = cloud.client("bedrock-runtime").invoke_model(modelId=model, body=json.dumps(request))
    return json.loads(answer["body"].read())


def test_titan_answers_in_titans_shape(ai_cloud: Cloud) -> None:
    answer = invoke(ai_cloud, inputText="hello world", dimensions=256, embeddingTypes=["float", "binary"])
    assert len(answer["embedding"]) == 256
    assert answer["embeddingsByType"]["float"] == answer["embedding"]
    assert answer["embeddingsByType"]["binary"] == [int(number > 0) for number in answer["embedding"]]
    assert answer["inputTextTokenCount"] == 2
    arn = f"arn:aws:bedrock:us-east-1::foundation-model/{TITAN}"
    assert len(invoke(ai_cloud, arn, inputText="hello")["embedding"]) == 1024
    loud = invoke(ai_cloud, inputText="hello world", normalize=False)["embedding"]
    assert np.linalg.norm(loud) != pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    ("request_body", "message"),
    [
        ({}, r"required key \[inputText\] not found"),
        ({"inputText": ""}, "expected minLength: 1, actual: 0"),
        ({"inputText": "x" * 50_001}, "expected maxLength: 50000"),
        ({"inputText": "x " * 9_000}, "Too many input tokens"),
        ({"inputText": "x", "dimensions": 384}, "384 is not a valid enum value"),
        ({"inputText": "x", "text": "y"}, r"extraneous key \[text\]"),
    ],
)
def test_titan_refuses_what_titan_refuses(ai_cloud: Cloud, request_body: dict, message: str) -> None:
    with pytest.raises(ClientError, match=message) as caught:
        invoke(ai_cloud, **request_body)
    assert caught.value.response["Error"]["Code"] == "ValidationException"


NOVA = "amazon.nova-2-multimodal-embeddings-v1:0"


def nova(value: str, **given: Any) -> dict[str, Any]:
    text = {"truncationMode": "END", "value": value}
    asked = {"embeddingPurpose": "GENERIC_INDEX", "text": text, **given}
    return {"taskType": "SINGLE_EMBEDDING", "singleEmbeddingParams": asked}


def test_nova_answers_in_novas_shape_and_near_texts_are_near(ai_cloud: Cloud) -> None:
    def vector(text: str, **given: Any) -> Any:
        (found,) = invoke(ai_cloud, NOVA, **nova(text, **given))["embeddings"]
        assert found["embeddingType"] == "TEXT"
        return np.array(found["embedding"])

    assert len(vector("hello")) == 3072
    tea, cup, car = (
        vector(text, embeddingDimension=384) for text in ("green tea", "a cup of tea", "a fast car")
    )
    assert len(tea) == 384
    assert tea @ cup > tea @ car


@pytest.mark.parametrize(
    "request_body",
    [
        {},
        {"taskType": "SINGLE_EMBEDDING"},
        nova(""),
        nova("x", embeddingDimension=512),
        nova("x", embeddingPurpose="FUN"),
        nova("x", text={"value": "x"}),
        {**nova("x"), "taskType": "SEGMENTED_EMBEDDING"},
    ],
)
def test_nova_refuses_what_nova_refuses(ai_cloud: Cloud, request_body: dict) -> None:
    with pytest.raises(ClientError) as caught:
        invoke(ai_cloud, NOVA, **request_body)
    assert caught.value.response["Error"]["Code"] == "ValidationException"
