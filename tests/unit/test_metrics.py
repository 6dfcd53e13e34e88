"""The catalogue of metrics, and how they are told."""

from __future__ import annotations

import ast
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from unsay_core.adapters.metrics import EmbeddedMetrics
from unsay_core.adapters.world import real_world
from unsay_core.domain.ids import minted_at
from unsay_core.metrics import CATALOGUE, FACTS_DROPPED, FOREIGN_HITS, MODEL_COST, MODEL_TOKENS, Metric

DEPLOYED = Path(__file__).resolve().parents[2]
SOURCES = [
    path
    for folder in ("layers/core/python/unsay_core", "functions")
    for path in sorted((DEPLOYED / folder).rglob("*.py"))
]


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    line: dict[str, object] = json.loads(capsys.readouterr().out)
    return line


@pytest.fixture(autouse=True)
def in_the_api_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "api")


def test_a_metric_is_a_line_of_the_log_in_the_one_namespace(capsys: pytest.CaptureFixture[str]) -> None:
    EmbeddedMetrics().tell(FOREIGN_HITS, 3)
    line = told(capsys)
    assert (line["service"], line["ForeignHits"]) == ("api", [3.0])
    (made,) = line["_aws"]["CloudWatchMetrics"]  # type: ignore[index]
    assert made["Namespace"] == "unsay"
    assert made["Dimensions"] == [["service"]]
    assert made["Metrics"] == [{"Name": "ForeignHits", "Unit": "Count"}]


def test_whose_it_is_stands_beside_it_and_makes_no_metric_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    EmbeddedMetrics().tell(FACTS_DROPPED, 2, whose={"scope_id": "a digest"}, reason="question")
    line = told(capsys)
    assert (line["scope_id"], line["reason"]) == ("a digest", "question")
    assert line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"], ["service", "reason"]]  # type: ignore[index]


@pytest.mark.parametrize("dimensions", [{}, {"reason": "x", "scope": "y"}, {"scope": "y"}])
def test_dimensions_that_are_not_the_metrics_own_are_refused(dimensions: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="FactsDropped"):
        EmbeddedMetrics().tell(FACTS_DROPPED, 1, **dimensions)


def test_no_two_metrics_have_one_name_and_each_says_what_it_is() -> None:
    assert len({metric.name for metric in CATALOGUE}) == len(CATALOGUE) > 20
    for metric in CATALOGUE:
        assert re.fullmatch(r"([A-Z][a-z]+)+", metric.name)
        assert metric.meaning.endswith(".")
        assert metric.services


def test_no_dimension_can_carry_a_text_a_key_or_a_scope() -> None:
    assert {name for metric in CATALOGUE for name in metric.dimensions} == {
        "reason",
        "channel",
        "result",
        "root",
        "state",
    }
    assert {metric for metric in CATALOGUE if "root" in metric.dimensions} == {MODEL_TOKENS, MODEL_COST}


def test_metrics_are_made_in_the_catalogue_and_told_by_one_adapter_alone() -> None:
    """Whatever is told is a `Metric`, by its type; nobody else makes one, or writes one to the log."""
    telling = ("single_metric", "Metrics", "AmazonCloudWatchEMFProvider")
    calling: dict[str, set[str]] = {name: set() for name in ("Metric", *telling)}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in calling:
                    calling[name].add(path.parent.name)
    assert calling.pop("Metric") == {"unsay_core"}
    assert calling == {"single_metric": set(), "Metrics": set(), "AmazonCloudWatchEMFProvider": {"adapters"}}


def test_every_metric_is_told_somewhere() -> None:
    names = {
        node.id
        for path in SOURCES
        if path.name != "metrics.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name)
    }
    import unsay_core.metrics as catalogue

    constants = {name for name, value in vars(catalogue).items() if isinstance(value, Metric)}
    assert {getattr(catalogue, name) for name in constants} == set(CATALOGUE)
    assert constants - names == set()


def test_an_id_says_when_it_was_made() -> None:
    now = datetime.now(UTC)
    made = minted_at(real_world().new_id("era"))
    assert abs(made - now) < timedelta(minutes=1)
