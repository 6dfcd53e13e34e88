"""The first dashboard, and alarms on what must not happen unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from unsay_core.metrics import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_cdk import aws_sqs as sqs

    from infra.functions import Functions
    from infra.http_api import HttpApi
    from infra.projection import Projection

PERIOD = Duration.minutes(5)
HALF = 12
FOREIGN_HITS = "The knowledge base answered with what lies in another scope; it was dropped."


class Watch(Construct):
    """Requests, λs, and the way from the ledger to the index."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        http_api: HttpApi,
        functions: Functions,
        projection: Projection,
        dead_letters: Mapping[str, sqs.Queue],
    ) -> None:
        super().__init__(scope, construct_id)
        alarms = [
            self._server_errors(http_api),
            # Nothing of the service may do it, so somebody with an administrator's rights has.
            self._must_not_happen(
                "AuditEntryChanged",
                "project",
                "An audit entry was changed or removed: verify the scope named in the log.",
            ),
            self._must_not_happen(
                "ForeignHits",
                "api",
                FOREIGN_HITS,
            ),
            self._must_not_happen("ForeignHits", "extract", FOREIGN_HITS),
            *self._dead_letters(dead_letters),
        ]
        cloudwatch.Dashboard(
            self,
            "Dashboard",
            default_interval=Duration.hours(3),
            widgets=[
                [cloudwatch.AlarmStatusWidget(title="Alarms", alarms=alarms, width=2 * HALF)],
                [_requests(http_api), _latency(http_api)],
                [_errors(functions), _durations(functions)],
                [_lag(functions, projection), _dead(dead_letters)],
                [_model(), _facts()],
            ],
        )

    def _server_errors(self, http_api: HttpApi) -> cloudwatch.Alarm:
        return cloudwatch.Alarm(
            self,
            "ServerErrors",
            alarm_description="The API answered 5xx.",
            metric=http_api.api.metric_server_error(period=PERIOD, statistic="Sum"),
            threshold=1,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )

    def _must_not_happen(self, name: str, service: str, description: str) -> cloudwatch.Alarm:
        """An alarm on a count of one λ that ought to stay at nought."""
        return cloudwatch.Alarm(
            self,
            f"{service.capitalize()}{name}",
            alarm_description=description,
            metric=cloudwatch.Metric(
                namespace=NAMESPACE,
                metric_name=name,
                dimensions_map={"service": service},
                period=PERIOD,
                statistic="Sum",
            ),
            threshold=1,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )

    def _dead_letters(self, dead_letters: Mapping[str, sqs.Queue]) -> list[cloudwatch.Alarm]:
        """One alarm per queue, so that the alarm's name says which work failed."""
        return [
            cloudwatch.Alarm(
                self,
                f"{name.capitalize()}DeadLetters",
                alarm_description=f"Work of the {name} λ was given up and waits for an operator.",
                metric=queue.metric_approximate_number_of_messages_visible(period=PERIOD),
                threshold=1,
                evaluation_periods=1,
                treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            )
            for name, queue in dead_letters.items()
        ]


def _graph(title: str, metrics: list[cloudwatch.IMetric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, width=HALF, left=metrics)


def _requests(http_api: HttpApi) -> cloudwatch.GraphWidget:
    api = http_api.api
    return _graph("Requests", [api.metric_count(), api.metric_client_error(), api.metric_server_error()])


def _latency(http_api: HttpApi) -> cloudwatch.GraphWidget:
    return _graph("Latency", [http_api.api.metric_latency(statistic=name) for name in ("p50", "p99")])


def _errors(functions: Functions) -> cloudwatch.GraphWidget:
    made = [each.function for each in functions.all.values()]
    errors = [function.metric_errors() for function in made]
    return _graph("λ errors and throttles", errors + [function.metric_throttles() for function in made])


def _durations(functions: Functions) -> cloudwatch.GraphWidget:
    made = functions.all.values()
    return _graph("λ duration, p99", [each.function.metric_duration(statistic="p99") for each in made])


def _lag(functions: Functions, projection: Projection) -> cloudwatch.GraphWidget:
    queue = projection.index_queue
    return _graph(
        "How far the projections lag",
        [
            functions.project.function.metric("IteratorAge", statistic="Maximum"),
            queue.metric_approximate_age_of_oldest_message(),
            queue.metric_approximate_number_of_messages_visible(),
        ],
    )


def _of_extraction(name: str, statistic: str) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=name,
        dimensions_map={"service": "extract"},
        period=PERIOD,
        statistic=statistic,
    )


def _model() -> cloudwatch.GraphWidget:
    """What the model costs and how long it takes: per batch, in all its questions."""
    return cloudwatch.GraphWidget(
        title="The model",
        width=HALF,
        left=[_of_extraction("ModelTokens", "Sum")],
        right=[_of_extraction("ModelTime", "p50"), _of_extraction("ModelTime", "p99")],
    )


def _facts() -> cloudwatch.GraphWidget:
    """What is kept of conversations; what is dropped, by reason, is found by a search over its metric."""
    dropped = cloudwatch.MathExpression(
        expression=f"SEARCH('{{{NAMESPACE},service,reason}} MetricName=\"FactsDropped\"', 'Sum')",
        using_metrics={},
        label="dropped:",
    )
    return _graph("Facts of conversations", [_of_extraction("FactsKept", "Sum"), dropped])


def _dead(dead_letters: Mapping[str, sqs.Queue]) -> cloudwatch.GraphWidget:
    queues = dead_letters.values()
    return _graph("Given up", [queue.metric_approximate_number_of_messages_visible() for queue in queues])
