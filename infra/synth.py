"""`python -m infra.synth`: leave a current template in `cdk.out`, and take no time when it already is.

Importable without the CDK. The new output replaces the old one in one rename, so an interrupted run leaves no
half-copied asset behind: the CDK would take it for a finished one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from infra.freshness import OUTDIR, ROOT, is_fresh

# Node 20 still runs the CDK; its twelve-line banner would bury our one line. docs/deploy.md asks for 22.
QUIET_ABOUT_NODE = {"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20"}


def ensure_fresh() -> bool:
    """Synthesize the `dev` stack into `cdk.out` unless it is current; True when it had to.

    Raises `subprocess.CalledProcessError` when the synthesis fails; its output has been shown by then.
    """
    if is_fresh():
        return False
    with tempfile.TemporaryDirectory(dir=ROOT, prefix="cdk.out-") as scratch:
        made = Path(scratch, "made")
        environment = os.environ | QUIET_ABOUT_NODE | {"CDK_OUTDIR": str(made)}
        subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=environment, check=True)
        shutil.rmtree(OUTDIR, ignore_errors=True)
        made.rename(OUTDIR)
    return True


def main() -> int:
    """Say what is done, because a synthesis takes some 15 seconds."""
    if is_fresh():
        sys.stdout.write("cdk.out is current\n")
        return 0
    sys.stdout.write("Synthesizing the stack into cdk.out (about 15 s) …\n")
    sys.stdout.flush()
    try:
        ensure_fresh()
    except subprocess.CalledProcessError as failed:
        return int(failed.returncode)
    return 0


if __name__ == "__main__":
    sys.exit(main())
