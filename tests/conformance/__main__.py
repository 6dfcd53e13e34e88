"""`make conformance`: the whole run, on the product and on a control build with six faults.

`python -m tests.conformance tomb step` runs the checks whose names begin so, on the product alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "api")

from local.deploy import deploy
from local.place import Place
from tests.conformance import acceptance, promises, thirteen
from tests.conformance.builds import CONTROL, FAULTS
from tests.conformance.checks import FAILED, Outcome, tried
from tests.conformance.page import PAGE, missed, page
from tests.conformance.product import Product
from tests.isolation.builds import build
from tests.support.stack import ROOT, Stack, free_port, start, stop

if TYPE_CHECKING:
    from tests.conformance.checks import Check


def checks(names: list[str]) -> list[Check]:
    """All checks in their order, or those whose names begin with one of these words."""
    every = [*thirteen.Sequence().checks(), *acceptance.CHECKS, *promises.CHECKS]
    return [check for check in every if not names or check.id.startswith(tuple(names))]


def meant_to_see() -> list[str]:
    """The checks that have to fail on the control build, and the steps, which are one story."""
    return ["step ", *(check for _, _, _, seen_by in FAULTS.values() for check in seen_by)]


def run(product: Product, names: list[str]) -> list[Outcome]:
    """Every check, each told as it ends."""
    outcomes = []
    for check in checks(names):
        outcome = tried(check, product)
        outcomes.append(outcome)
        print(f"  {outcome.verdict:9} {outcome.seconds:6.1f} s  {check.id}  {outcome.why}", flush=True)
    return outcomes


def main(names: list[str]) -> int:
    """Both builds, each on a cloud of its own; the page if everything was run."""
    subprocess.run([sys.executable, "-m", "infra.synth"], cwd=ROOT, check=True, capture_output=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        ours = _on_a_cloud(Path(folder) / "ours", names, control=False)
        theirs = [] if names else _on_a_cloud(Path(folder) / "control", names, control=True)
    unseen = [] if names else missed(theirs)
    if not names:
        PAGE.write_text(page(ours, theirs))
    failing = [outcome.check.id for outcome in ours if outcome.verdict == FAILED]
    print(f"product: {len(ours)} checks; failing: {failing or 'none'}")
    print(f"control: faults that nobody saw: {unseen or 'none'}")
    return 1 if failing or unseen else 0


def _on_a_cloud(folder: Path, names: list[str], *, control: bool) -> list[Outcome]:
    print("the control build, with six faults:" if control else "the product:", flush=True)
    folder.mkdir()
    place = Place(free_port(), folder / "state")
    stack = start(place)

    def restart() -> Stack:
        stop(place)
        return start(place)

    try:
        if control:
            deploy(place, build(folder / "build", CONTROL))
            return run(Product(stack), meant_to_see())
        return run(Product(stack, restart=restart), names)
    finally:
        stop(place)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
