"""Dashboards and alarms, made of what `dashboards.py` and `alarms.py` say, and who is woken by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from infra.alarms import ALARMS, Silence
from infra.dashboards import BOARDS
from infra.lines import Own
from unsay_core.metrics import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import aws_sqs as sqs

    from infra.alarms import Alarm
    from infra.dashboards import Board, Graph
    from infra.functions import Functions
    from infra.http_api import HttpApi
    from infra.lines import Line

PERIOD = Duration.minutes(5)
HALF = 12
RUNBOOK = "https://github.com/unsay-dev/unsay/blob/main/docs/runbook"
_SILENCE = {
    Silence.GOOD: cloudwatch.TreatMissingData.NOT_BREACHING,
    Silence.BAD: cloudwatch.TreatMissingData.BREACHING,
}
NOBODY = "none"  # the context `alarm_topic` where no alarm is sent on


@dataclass(frozen=True)
class Watched:
    """Something in the stack of which AWS has metrics: their namespace, and its dimensions there."""

    namespace: str
    dimensions: dict[str, str]


def runbook(alarm: Alarm) -> str:
    """The address of the page that says what to do about an alarm."""
    return f"{RUNBOOK}/{alarm.page}.md"


class Watch(Construct):
    """The alarms, and a dashboard for each of its readers."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        http_api: HttpApi,
        functions: Functions,
        index_queue: sqs.Queue,
        dead_letters: Mapping[str, sqs.Queue],
    ) -> None:
        super().__init__(scope, construct_id)
        self._natives = {
            "api": Watched("AWS/ApiGateway", {"ApiId": http_api.api.api_id}),
            "index queue": _queue(index_queue),
            **{f"{name} dead letters": _queue(queue) for name, queue in dead_letters.items()},
            **{
                f"{name} function": Watched("AWS/Lambda", {"FunctionName": each.function.function_name})
                for name, each in functions.all.items()
            },
        }
        alarms = [self._alarm(alarm) for alarm in ALARMS]
        self._send_on(alarms)
        for board in BOARDS:
            self._board(board, alarms)

    def _alarm(self, alarm: Alarm) -> cloudwatch.Alarm:
        operators = cloudwatch.ComparisonOperator
        return cloudwatch.Alarm(
            self,
            alarm.name,
            alarm_description=f"{alarm.says} What to do: {runbook(alarm)}",
            metric=self._metric(alarm.line, Duration.minutes(alarm.minutes)),
            threshold=alarm.threshold,
            evaluation_periods=1,
            comparison_operator=operators.LESS_THAN_THRESHOLD
            if alarm.is_floor
            else operators.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=_SILENCE[alarm.silence],
        )

    def _send_on(self, alarms: Sequence[cloudwatch.Alarm]) -> None:
        """Tell a topic of one's own of each alarm, and when it is over."""
        topic_arn = self.node.try_get_context("alarm_topic") or NOBODY
        if topic_arn == NOBODY:
            return
        action = actions.SnsAction(sns.Topic.from_topic_arn(self, "Topic", topic_arn))
        for alarm in alarms:
            alarm.add_alarm_action(action)
            alarm.add_ok_action(action)

    def _board(self, board: Board, alarms: Sequence[cloudwatch.Alarm]) -> None:
        rows = [
            [self._graph(graph) for graph in board.graphs[at : at + 2]]
            for at in range(0, len(board.graphs), 2)
        ]
        cloudwatch.Dashboard(
            self,
            board.name,
            dashboard_name=f"{Stack.of(self).stack_name}-{board.name}",
            default_interval=Duration.hours(3),
            widgets=[
                [cloudwatch.TextWidget(markdown=_heading(board), width=2 * HALF, height=2)],
                [
                    cloudwatch.AlarmStatusWidget(title="Alarms", alarms=list(alarms), width=HALF, height=6),
                    cloudwatch.TextWidget(markdown=_links(), width=HALF, height=6),
                ],
                *rows,
            ],
        )

    def _graph(self, graph: Graph) -> cloudwatch.GraphWidget:
        return cloudwatch.GraphWidget(
            title=graph.title,
            width=HALF,
            left=[self._metric(line) for line in graph.left],
            right=[self._metric(line) for line in graph.right],
        )

    def _metric(self, line: Line, period: Duration = PERIOD) -> cloudwatch.IMetric:
        if isinstance(line, Own) and line.search:
            return cloudwatch.MathExpression(
                expression=line.search, using_metrics={}, label="", period=period
            )
        watched = Watched(NAMESPACE, line.dimensions) if isinstance(line, Own) else self._natives[line.of]
        return cloudwatch.Metric(
            namespace=watched.namespace,
            metric_name=line.name,
            dimensions_map=watched.dimensions,
            period=period,
            statistic=line.statistic,
        )


def _queue(queue: sqs.Queue) -> Watched:
    return Watched("AWS/SQS", {"QueueName": queue.queue_name})


def _heading(board: Board) -> str:
    return f"# {board.name}\n{board.reader}"


def _links() -> str:
    """What is red on the left, by its name here: one click to what to do about it."""
    return " · ".join(f"[{alarm.name}]({runbook(alarm)})" for alarm in ALARMS)
