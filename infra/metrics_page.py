"""`docs/metrics.md`, made of the catalogue, the dashboards and the alarms: `python -m infra.metrics_page`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from infra.alarms import ALARMS
from infra.dashboards import BOARDS
from infra.lines import Own
from unsay_core.metrics import CATALOGUE, NAMESPACE, SERVICE

if TYPE_CHECKING:
    from infra.alarms import Alarm
    from infra.lines import Line
    from unsay_core.metrics import Metric

HEAD = f"""# Metrics

Made from the code by `make metrics`: `unsay_core/metrics.py`, `infra/dashboards.py`, `infra/alarms.py`.

Everything the service counts is in the namespace `{NAMESPACE}`, and written to the log in CloudWatch's
embedded format, from which CloudWatch makes the metrics. Each has the dimension `{SERVICE}`, the λ that
tells it; where a metric has another dimension, it is told with it and without. No dimension carries a text,
a key or the name of a scope: `root` is a keyed digest, as in the log. Each root with a model costs two
metrics more.

"""
ALARM_HEAD = """
## Alarms

Each page says what an alarm means, where to look, what to do, and how to see that it is over.
`alarm_topic` in `cdk.json`, the ARN of an SNS topic, has all of them sent on.

| alarm | watches | goes off | page |
|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    rows = "".join(_row(metric) for metric in CATALOGUE)
    titles = (
        "| metric | unit | by | told by | what it says | drawn in | alarm |\n|---|---|---|---|---|---|---|\n"
    )
    boards = "".join(f"- **{board.name}**: {board.reader}\n" for board in BOARDS)
    alarms = "".join(
        f"| `{a.name}` | {_named(a.line)} | {_bound(a)} | [{a.page}](runbook/{a.page}.md) |\n" for a in ALARMS
    )
    return f"{HEAD}{titles}{rows}\n## Dashboards\n\n{boards}{ALARM_HEAD}{alarms}"


def _row(metric: Metric) -> str:
    drawn = {b.name: None for b in BOARDS for g in b.graphs for line in g.lines if _is_of(line, metric)}
    alarms = [f"[{alarm.name}](runbook/{alarm.page}.md)" for alarm in ALARMS if _is_of(alarm.line, metric)]
    cells = [
        f"`{metric.name}`",
        metric.unit.value if metric.unit.value != "None" else "US dollars",
        ", ".join(f"`{name}`" for name in metric.dimensions),
        ", ".join(metric.services),
        metric.meaning,
        ", ".join(drawn),
        ", ".join(alarms),
    ]
    return f"| {' | '.join(cells)} |\n"


def _is_of(line: Line, metric: Metric) -> bool:
    return isinstance(line, Own) and line.metric is metric


def _named(line: Line) -> str:
    if isinstance(line, Own):
        return f"`{line.name}` of {line.service}" + (f", {line.at[0]} `{line.at[1]}`" if line.at else "")
    return f"`{line.name}` of the {line.of}"


def _bound(alarm: Alarm) -> str:
    side = "below" if alarm.is_floor else "at"
    return f"{alarm.line.statistic} {side} {alarm.threshold:,} in {alarm.minutes} min"


if __name__ == "__main__":
    sys.stdout.write(page())
