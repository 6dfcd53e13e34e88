"""What a check is, and what became of it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from _pytest.outcomes import Failed

from tests.conformance.product import Product, Skipped

PASSED, FAILED, SKIPPED = "holds", "fails", "not shown"


@dataclass(frozen=True)
class Check:
    """One thing that must hold of a build: what is done, its control, and what it does not show."""

    id: str
    run: Callable[[Product], None]
    holds: str
    control: str
    not_shown: str


@dataclass(frozen=True)
class Outcome:
    """What a check found on one build."""

    check: Check
    verdict: str
    why: str
    seconds: float


def tried(check: Check, product: Product) -> Outcome:
    """Run a check; whatever it stumbles over, the build has not shown that it holds."""
    began = time.monotonic()
    verdict, why = PASSED, ""
    try:
        check.run(product)
    except Skipped as skipped:
        verdict, why = SKIPPED, str(skipped)
    except (Exception, Failed) as fault:  # noqa: BLE001 - a build may fail in any way, and that is the finding
        verdict, why = FAILED, _where(fault)
    return Outcome(check, verdict, why, time.monotonic() - began)


def _where(fault: BaseException) -> str:
    """The line of the check that did not hold, and what it said."""
    frames = [f for f in traceback.extract_tb(fault.__traceback__) if "/conformance/" in f.filename]
    said = " ".join(str(fault).split())[:160]
    line = frames[-1].line if frames else ""
    return f"{type(fault).__name__}: {said or line}"
