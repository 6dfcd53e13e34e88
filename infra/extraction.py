"""From messages that are due to memories: the rule, the queue, and the model the extract λ may ask."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.checks import acknowledge, acknowledge_dead_letters
from infra.functions import SIZES
from infra.projection import FAILED_RETENTION
from unsay_core.settings import PROMPT_NAMES

if TYPE_CHECKING:
    from infra.functions import PythonFunction

MODEL = "extraction_model"
PROMPT = "extraction_prompt"
PRICES = "model_prices"  # by model id: US dollars for a million tokens, `[read, written]`
GUARDRAIL = "extraction_guardrail"  # `id:version`, or `none`
BATCH_READY = "conversation.ready"
FILE_CAME = "Object Created"
EXTRACT_BATCH = 5
EXTRACT_CONCURRENCY = 5
VISIBILITY = Duration.seconds(6 * SIZES["extract"].timeout_seconds + 60)
# Waiting for a model that is away spends a receive, and so does waiting for the batch before.
EXTRACT_RECEIVES = 1000
_PROFILE = re.compile(r"(?:global|us|us-gov|eu|apac|jp|au|ca)\.(?P<model>.+)")


class Extraction(Construct):
    """What calls the extract λ, and where failed batches wait for an operator."""

    def __init__(
        self, scope: Construct, construct_id: str, *, bus: events.IEventBus, intake: s3.IBucket
    ) -> None:
        super().__init__(scope, construct_id)
        self.model_id = str(self.node.get_context(MODEL))
        self.guardrail = str(self.node.get_context(GUARDRAIL))
        self.prompt = str(self.node.get_context(PROMPT))
        if self.prompt not in PROMPT_NAMES:
            raise ValueError(f"{PROMPT}: one of {', '.join(PROMPT_NAMES)}")
        self.dead = sqs.Queue(self, "DeadLetters", enforce_ssl=True, retention_period=FAILED_RETENTION)
        acknowledge_dead_letters(self.dead)
        self.queue = sqs.Queue(
            self,
            "Queue",
            enforce_ssl=True,
            visibility_timeout=VISIBILITY,
            retention_period=FAILED_RETENTION,
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=EXTRACT_RECEIVES),
        )
        events.Rule(
            self,
            "Ready",
            event_bus=bus,
            description="Messages of a conversation are due to be extracted.",
            event_pattern=events.EventPattern(source=["unsay"], detail_type=[BATCH_READY]),
            targets=[targets.SqsQueue(self.queue, dead_letter_queue=self.dead)],
        )
        # S3 tells the account's own bus, never another. Whose file it is, its place says.
        events.Rule(
            self,
            "Uploaded",
            description="A transcript was handed in as a file.",
            event_pattern=events.EventPattern(
                source=["aws.s3"],
                detail_type=[FILE_CAME],
                detail={"bucket": {"name": [intake.bucket_name]}},
            ),
            targets=[targets.SqsQueue(self.queue, dead_letter_queue=self.dead)],
        )

    def run_extract(self, extract: PythonFunction) -> None:
        """Feed the extract λ, and let it ask the model and set aside what failed."""
        extract.consume("ExtractQueue", self.queue, self.dead, batch=EXTRACT_BATCH, most=EXTRACT_CONCURRENCY)
        self.let_ask(extract.role)

    @property
    def model(self) -> dict[str, str]:
        """What a λ is told that asks the model."""
        return {"model_id": self.model_id, "model_price": self._price(), "guardrail": self.guardrail}

    @property
    def _model(self) -> str:
        """The model alone, where an inference profile leads to it."""
        profile = _PROFILE.fullmatch(self.model_id)
        return profile["model"] if profile else self.model_id

    def _price(self) -> str:
        """What the λs are told of the model's price; whoever leaves it out is told tokens alone."""
        prices = self.node.try_get_context(PRICES) or {}
        price = prices.get(self.model_id) or prices.get(self._model)
        return "/".join(str(dollars) for dollars in price) if price else "none"

    def let_ask(self, role: iam.Role) -> None:
        """Allow a λ to ask the model, and the inference profile that leads to it wherever there is room."""
        stack = Stack.of(self)
        name = self._model
        resources = [f"arn:{stack.partition}:bedrock:*::foundation-model/{name}"]
        if name != self.model_id:
            resources.append(self._arn("inference-profile", self.model_id))
        role.add_to_policy(
            iam.PolicyStatement(sid="AskModel", actions=["bedrock:InvokeModel"], resources=resources)
        )
        guardrail, _, version = self.guardrail.partition(":")
        if version:
            role.add_to_policy(
                iam.PolicyStatement(
                    sid="UseGuardrail",
                    actions=["bedrock:ApplyGuardrail"],
                    resources=[self._arn("guardrail", guardrail)],
                )
            )
        acknowledge(
            role,
            f"IAM5[Resource::arn:<AWS::Partition>:bedrock:*::foundation-model/{name}]",
            "One model, in every Region: an inference profile asks it wherever there is room.",
        )

    def _arn(self, kind: str, name: str) -> str:
        return Stack.of(self).format_arn(
            service="bedrock",
            resource=kind,
            resource_name=name,
            arn_format=ArnFormat.SLASH_RESOURCE_NAME,
        )
