"""`docs/conformance.md`: what was run, what held, what the control build shows, and what a pass does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.builds import FAULTS
from tests.conformance.checks import FAILED
from tests.conformance.promises import SHOWN_BY
from tests.support.stack import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.conformance.checks import Outcome

PAGE = ROOT / "docs" / "conformance.md"
HEAD = """# The conformance run

`make conformance` deploys the product to a local cloud, drives it over HTTP through the checks below and
looks into its raw stores with code that shares nothing with what erases. The same checks then run on a
*control build*: the same template and API with six faults, one of each class. Each has to be seen by a check
that is meant to see it; these, and the thirteen steps, run there too. This page is what the last whole run
wrote. Where it says "not run", that part of it was not run yet. The gate runs some of it on the product, on a
cloud shared with other tests.

A pass is worth what its control is worth: every check of an absence has something beside it that is there.
And it does not say more than it says: the last column names what it does not show.
"""


def missed(control: Sequence[Outcome]) -> list[str]:
    """The faults that no check meant to see them has seen."""
    failed = {outcome.check.id for outcome in control if outcome.verdict == FAILED}
    return [name for name, (_, _, _, seen_by) in FAULTS.items() if not failed & set(seen_by)]


def page(ours: Sequence[Outcome], control: Sequence[Outcome]) -> str:
    """The page of one run."""
    there = {outcome.check.id: outcome for outcome in control}
    parts = [HEAD, "\n## The faults of the control build\n", *_faults(control)]
    groups = {
        "The thirteen steps": [o for o in ours if o.check.id.startswith("step ")],
        "Twenty acceptance tests": [o for o in ours if "-" in o.check.id.partition(" ")[0]],
    }
    rest = [o for o in ours if not any(o in group for group in groups.values())]
    for title, outcomes in {**groups, "More of the promises": rest}.items():
        parts += [f"\n## {title}\n", *_table(outcomes, there)]
    return "\n".join([*parts, "\n## Promise by promise\n", *_promises(ours)]) + "\n"


def _faults(control: Sequence[Outcome]) -> list[str]:
    failed = {outcome.check.id for outcome in control if outcome.verdict == FAILED}
    lines = ["| class | fault | meant to be seen by | seen by |", "|---|---|---|---|"]
    for name, (what, _, _, seen_by) in FAULTS.items():
        seen = [check for check in seen_by if check in failed]
        told = "; ".join(seen) or ("**nobody**" if control else "not run")
        lines.append(f"| {name} | {what} | {'; '.join(seen_by)} | {told} |")
    return lines


def _table(outcomes: Sequence[Outcome], there: dict[str, Outcome]) -> list[str]:
    lines = [
        "| check | what must hold | control | product | control build | does not show |",
        "|---" * 6 + "|",
    ]
    for outcome in outcomes:
        check, other = outcome.check, there.get(outcome.check.id)
        verdict = f"{outcome.verdict}: {outcome.why}" if outcome.why else outcome.verdict
        cells = (
            check.id,
            check.holds,
            check.control,
            verdict,
            other.verdict if other else "–",
            check.not_shown,
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def _promises(ours: Sequence[Outcome]) -> list[str]:
    verdicts = {outcome.check.id: outcome.verdict for outcome in ours}
    lines = ["| promise | checks of this run | elsewhere in the gate |", "|---|---|---|"]
    for promise, shown in SHOWN_BY.items():
        here = "; ".join(f"{name}: {verdicts[name]}" for name in shown if name in verdicts)
        lines.append(
            f"| {promise} | {here or '–'} | {'; '.join(n for n in shown if n not in verdicts) or '–'} |"
        )
    return lines
