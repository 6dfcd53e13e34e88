"""Figures, their bars, and how they are shown."""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Figure:
    """One measured number; `bar` is the most it may be, where there is one."""

    section: str
    name: str
    value: float
    unit: str
    bar: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the bar was reached."""
        return "" if self.bar is None else "ok" if self.value <= self.bar else "over"

    def to_json(self) -> dict[str, object]:
        """The figure for comparing runs."""
        return asdict(self) | {"verdict": self.verdict}


def as_markdown(figures: Sequence[Figure]) -> str:
    """The table."""
    lines = ["| | what | value | bar | |", "|---|---|---:|---:|---|"]
    section = None
    for figure in figures:
        shown = f"{figure.value:,.2f}".rstrip("0").rstrip(".") + f" {figure.unit}"
        bar = "" if figure.bar is None else f"≤ {figure.bar:g}"
        head = figure.section if figure.section != section else ""
        lines.append(f"| {head} | {figure.name} | {shown} | {bar} | {figure.verdict} |")
        section = figure.section
    return "\n".join(lines)


def cpu_ms(call: Callable[[], object], times: int = 200, warm: int = 20) -> float:
    """The median processor time of a call in this process, all its threads together, in milliseconds."""
    return _median(call, time.process_time, times, warm)


def wall_ms(call: Callable[[], object], times: int = 30, warm: int = 3) -> float:
    """The median time until a call is answered, in milliseconds."""
    return _median(call, time.perf_counter, times, warm)


def _median(call: Callable[[], object], clock: Callable[[], float], times: int, warm: int) -> float:
    for _ in range(warm):
        call()
    taken = []
    for _ in range(times):
        began = clock()
        call()
        taken.append(clock() - began)
    return statistics.median(taken) * 1_000
