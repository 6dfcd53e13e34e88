"""What was forgotten comes back in no disguise through the service, and everything else is believed."""

from __future__ import annotations

import pytest

from tests.support.disguises import VALUES, attacks, sentences
from tests.support.http import Caller

MOST = 25  # items of one batch


def answered(contents: list[str], api: Caller) -> list[int]:
    """How each content was answered, in batches."""
    found: list[int] = []
    for start in range(0, len(contents), MOST):
        items = [{"content": content} for content in contents[start : start + MOST]]
        found += [result["status"] for result in api.batch(items)["results"]]
    return found


@pytest.mark.parametrize("value", VALUES)
def test_a_forgotten_value_is_refused_in_every_disguise(api: Caller, value: str) -> None:
    api.forget(api.remember(value)["id"])
    worn = sorted({value, *attacks(value, VALUES[value])})
    assert len(worn) > 25  # of 20 values: at least 500
    assert answered([*worn, "It rains."], api) == [409] * len(worn) + [201]
    assert api.remember(worn[0]).code == "tombstoned"


def test_hundreds_of_real_sentences_in_the_same_scripts_are_believed_each(api: Caller) -> None:
    for value in VALUES:
        api.forget(api.remember(value)["id"])
    texts = sentences()
    assert len(texts) > 500
    assert answered(texts, api) == [201] * len(texts)
    assert answered([*VALUES], api) == [409] * len(VALUES)
