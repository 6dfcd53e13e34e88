"""cdk-nag at synth: a finding is fixed, or acknowledged on one construct with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Acknowledgment, Validations
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

if TYPE_CHECKING:
    from aws_cdk import App
    from aws_cdk import aws_sqs as sqs
    from constructs import IConstruct

PACK = "AwsSolutions"
SERVERLESS = "Serverless"


def check_with_cdk_nag(app: App) -> None:
    """Make `app.synth()` raise on any finding of either pack that nobody answered for."""
    Validations.of(app).add_plugins(
        AwsSolutionsChecks(app, verbose=True), ServerlessChecks(app, verbose=True)
    )


def acknowledge(construct: IConstruct, rule: str, reason: str, *, pack: str = PACK) -> None:
    """Answer for one finding: `rule` is its id without the pack, such as `S1` or `IAM5[Resource::*]`."""
    Validations.of(construct).acknowledge(Acknowledgment(id=f"{pack}::{pack}-{rule}", reason=reason))


def acknowledge_dead_letters(queue: sqs.Queue) -> None:
    """Answer for a queue in which failed work ends, and is looked at by an operator."""
    reason = "It is a dead-letter queue: an alarm tells of what is in it, and nothing reads it by itself."
    acknowledge(queue, "SQSRedrivePolicy", reason, pack=SERVERLESS)
