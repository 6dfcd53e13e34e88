"""CDK entry point: one stack per stage, checked by cdk-nag while it is synthesized.

Run by the CDK command line, or alone: `CDK_OUTDIR=cdk.out python app.py`. Both read the same `cdk.json`
and write the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra import freshness

if TYPE_CHECKING:
    from aws_cdk import App


def synthesize(outdir: str | None = None, **context: Any) -> App:
    """Synthesize the stack of the stage in `context` (default: the one in `cdk.json`).

    Raises when cdk-nag finds something that is neither fixed nor acknowledged.
    """
    from aws_cdk import App

    from infra.checks import check_with_cdk_nag
    from infra.stack import UnsayStack
    from infra.stage import Stage

    inputs = freshness.inputs_digest()
    app = App(outdir=outdir, context=freshness.configured_context() | context)
    stage = Stage.named(app.node.get_context("stage"))
    UnsayStack(app, f"unsay-{stage.name}", stage=stage)
    check_with_cdk_nag(app)
    assembly = app.synth()
    freshness.stamp(assembly.directory, stage.name, inputs)
    return app


if __name__ == "__main__":
    synthesize()
