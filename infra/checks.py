"""cdk-nag at synth: a finding is fixed, or acknowledged on one construct with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Acknowledgment, Validations
from cdk_nag import AwsSolutionsChecks

if TYPE_CHECKING:
    from aws_cdk import App
    from constructs import IConstruct

PACK = "AwsSolutions"


def check_with_cdk_nag(app: App) -> None:
    """Make `app.synth()` raise on any AwsSolutions finding nobody answered for."""
    Validations.of(app).add_plugins(AwsSolutionsChecks(app, verbose=True))


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Answer for one finding: `rule` is its id without the pack, such as `S1` or `IAM5[Resource::*]`."""
    Validations.of(construct).acknowledge(Acknowledgment(id=f"{PACK}::{PACK}-{rule}", reason=reason))
