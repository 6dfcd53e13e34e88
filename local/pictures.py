"""The dashboards as pictures, drawn from the metrics of a local cloud: `python -m local.pictures FOLDER`.

Plain SVG, for a picture in a page needs no program that draws.
"""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from infra.dashboards import BOARDS
from infra.lines import Own
from local.place import REGION, ROOT_KEY, Place
from unsay_core.metrics import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from infra.dashboards import Board, Graph
    from infra.lines import Line

    Points = Sequence[tuple[float, float]]  # seconds before now, and values
    Drawn = tuple[str, Points]  # a label, and its line

PERIOD = 10  # seconds of one point: a run on one's own machine takes minutes, not days
BACK = timedelta(minutes=30)
WIDTH, HEIGHT, PLOT, MARGIN = 420, 200, 110, 12
NAMED = 6  # lines that a graph has a name below it for, two in a row
COLOURS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d")
_NAMED = {  # what CloudFormation calls what a line is of
    "function": r"Functions{}",
    "dead letters": r"{}(ion)?DeadLetters",
    "queue": r"{}Queue",
}


class Metrics:
    """What a cloud has measured lately."""

    def __init__(self, cloudwatch: Any, now: datetime) -> None:
        self._cloudwatch, self._now = cloudwatch, now
        pages = cloudwatch.get_paginator("list_metrics").paginate()
        found = [metric for page in pages for metric in page["Metrics"]]
        self._known = [json.loads(text) for text in dict.fromkeys(map(json.dumps, found))]

    def series(self, line: Line) -> Iterator[Drawn]:
        """Each line that a line of a graph stands for."""
        for metric in self._known:
            dimensions = {each["Name"]: each["Value"] for each in metric["Dimensions"]}
            label = _label(line, metric, dimensions)
            if label is not None:
                yield label, self._points(metric, line.statistic)

    def _points(self, metric: Mapping[str, Any], statistic: str) -> list[tuple[float, float]]:
        kind = "ExtendedStatistics" if statistic.startswith("p") else "Statistics"
        found = self._cloudwatch.get_metric_statistics(
            Namespace=metric["Namespace"],
            MetricName=metric["MetricName"],
            Dimensions=metric["Dimensions"],
            StartTime=self._now - BACK,
            EndTime=self._now + timedelta(seconds=PERIOD),
            Period=PERIOD,
            **{kind: [statistic]},
        )["Datapoints"]
        return sorted(
            (
                (each["Timestamp"] - self._now).total_seconds(),
                float(each["ExtendedStatistics"][statistic] if kind != "Statistics" else each[statistic]),
            )
            for each in found
        )


def _label(line: Line, metric: Mapping[str, Any], dimensions: Mapping[str, str]) -> str | None:
    """What a metric is called in a graph; None if the line does not stand for it."""
    if metric["MetricName"] != line.name:
        return None
    if isinstance(line, Own):
        if metric["Namespace"] != NAMESPACE:
            return None
        rest = {name: value for name, value in dimensions.items() if line.dimensions.get(name) != value}
        if not line.dimensions.items() <= dimensions.items() or list(rest) != [line.by] * bool(line.by):
            return None
        return _short(rest[line.by]) if line.by else f"{line.service} {line.name} {line.statistic}"
    if not _is_of(line.of, dimensions):
        return None
    if line.of == "api":
        return f"{line.name} {line.statistic}"
    return f"{line.of} {line.name if line.of.endswith(' function') else line.statistic}"


def _short(name: str) -> str:
    """A reason as it is, and the beginning of a digest."""
    return name if len(name) < 40 else name[:12]


def _is_of(thing: str, dimensions: Mapping[str, str]) -> bool:
    if thing == "api":
        return set(dimensions) == {"ApiId"}
    name, _, kind = thing.partition(" ")
    (value,) = dimensions.values() if len(dimensions) == 1 else ("",)
    return re.search(_NAMED[kind].format(name.capitalize()), value) is not None


def picture(board: Board, metrics: Metrics) -> str:
    """One dashboard as an SVG document; all graphs are over the time from its first point to its last."""
    found = [
        [(label, points) for line in graph.lines for label, points in metrics.series(line) if points]
        for graph in board.graphs
    ]
    times = [at for lines in found for _, points in lines for at, _ in points] or [0.0]
    rows = (len(board.graphs) + 1) // 2
    width, height = 2 * WIDTH, rows * HEIGHT + 50
    graphs = "".join(
        f'<g transform="translate({at % 2 * WIDTH},{50 + at // 2 * HEIGHT})">'
        f"{_graph(graph, lines, min(times), max(times))}</g>"
        for at, (graph, lines) in enumerate(zip(board.graphs, found, strict=True))
    )
    head = (
        f'<text x="{MARGIN}" y="22" font-size="16" font-weight="bold">{escape(board.name)}</text>'
        f'<text x="{MARGIN}" y="40" font-size="11" fill="#555">{escape(board.reader)}'
        f" {max(times) - min(times):.0f} seconds are shown.</text>"
    )
    style = 'font-family="sans-serif" style="background:#fff"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {style}>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>{head}{graphs}</svg>\n'
    )


def _graph(graph: Graph, found: Sequence[Drawn], start: float, end: float) -> str:
    most = max((value for _, points in found for _, value in points), default=0.0) or 1.0
    inner = WIDTH - 2 * MARGIN
    lines = "".join(
        _line(points, start, end, most, COLOURS[at % len(COLOURS)]) for at, (_, points) in enumerate(found)
    )
    names = "".join(
        f'<tspan x="{MARGIN + inner * (at % 2) // 2}" dy="{12 * (at % 2 == 0)}" '
        f'fill="{COLOURS[at % len(COLOURS)]}">{escape(label)}  </tspan>'
        for at, (label, _) in enumerate(found[:NAMED])
    )
    return (
        f'<text x="{MARGIN}" y="14" font-size="12" font-weight="bold">{escape(graph.title)}</text>'
        f'<rect x="{MARGIN}" y="22" width="{inner}" height="{PLOT}" fill="none" stroke="#ddd"/>'
        f'<text x="{MARGIN + 3}" y="33" font-size="9" fill="#777">{most:.4g}</text>{lines}'
        f'<text x="{MARGIN}" y="{PLOT + 25}" font-size="10">{names}</text>'
    )


def _line(points: Points, start: float, end: float, most: float, colour: str) -> str:
    """A line through its points; each is a dot too, for one alone is no line."""
    inner, span = WIDTH - 2 * MARGIN, max(end - start, 1.0)
    places = [
        (MARGIN + inner * (at - start) / span, 22 + PLOT * (1 - 0.9 * value / most)) for at, value in points
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.5" fill="{colour}"/>' for x, y in places)
    return f'<polyline points="{path}" fill="none" stroke="{colour}"/>{dots}'


def draw(cloudwatch: Any, folder: Path) -> list[Path]:
    """Write a picture of each dashboard."""
    folder.mkdir(parents=True, exist_ok=True)
    metrics, drawn = Metrics(cloudwatch, datetime.now(UTC)), []
    for board in BOARDS:
        path = folder / f"{board.name.lower()}.svg"
        path.write_text(picture(board, metrics))
        drawn.append(path)
    return drawn


def main() -> None:
    """Draw what the local cloud of this checkout has measured."""
    place = Place(int(os.environ["PORT"]), Path(os.environ["STATE"]))
    local = json.loads(place.local_json.read_text())
    cloudwatch = boto3.client(
        "cloudwatch",
        endpoint_url=local["endpoint_url"],
        region_name=REGION,
        aws_access_key_id=ROOT_KEY,
        aws_secret_access_key=ROOT_KEY,
    )
    for path in draw(cloudwatch, Path(sys.argv[1])):
        print(path)


if __name__ == "__main__":
    main()
