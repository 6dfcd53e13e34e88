"""The Retrieve filter grammar, translated to that of S3 Vectors."""

import pytest

from local.aws_json import AwsError
from local.retrieval_filter import translate

A = {"equals": {"key": "a", "value": 1}}
B = {"notIn": {"key": "b", "value": ["x"]}}
PREFIX = {"startsWith": {"key": "c", "value": "x"}}
PART = {"stringContains": {"key": "c", "value": "x"}}


def test_combinations_and_leaves_become_their_counterparts() -> None:
    assert translate({"andAll": [A, {"orAll": [A, B]}]}) == {
        "$and": [{"a": {"$eq": 1}}, {"$or": [{"a": {"$eq": 1}}, {"b": {"$nin": ["x"]}}]}]
    }


def test_operators_that_aws_ignores_on_s3_vectors_drop_out() -> None:
    assert translate(PREFIX) is None
    assert translate({"andAll": [A, PREFIX]}) == {"$and": [{"a": {"$eq": 1}}]}
    assert translate({"orAll": [PREFIX, PART]}) is None


@pytest.mark.parametrize(
    "document",
    [
        {},
        {**A, **B},
        {"andAll": [A]},
        {"orAll": []},
        {"andAll": [A, {"orAll": [A]}]},
        {"matches": {"key": "a", "value": 1}},
        {"equals": {"key": "a"}},
        {"equals": {"key": "", "value": 1}},
        {"equals": {"key": "k" * 101, "value": 1}},
        {"startsWith": {"key": "k" * 101, "value": "x"}},
        "a = 1",
    ],
    ids=str,
)
def test_a_broken_filter_is_a_validation_error(document: object) -> None:
    with pytest.raises(AwsError) as caught:
        translate(document)
    assert caught.value.code == "ValidationException"
