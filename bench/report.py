"""Figures, shown as a small table or as JSON."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

_PRECISION = {"ms": 0, "µs": 0, "bytes": 0, "events": 1}
"""Digits after the decimal point, if not two."""


@dataclass(frozen=True)
class Figure:
    """One measured number; `goal` is its upper limit."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    samples: tuple[float, ...] = ()
    """The samples whose median the value is, in the same unit; empty if it was computed."""

    @property
    def is_met(self) -> bool:
        return self.goal is None or self.value <= self.goal

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        return f"goal {self.goal:g}: {'met' if self.is_met else 'MISSED'}"


@dataclass
class Report:
    """The figures of one measurement."""

    title: str
    figures: list[Figure] = field(default_factory=list)

    def median(
        self, name: str, samples: Sequence[float], unit: str, goal: float | None = None
    ) -> Figure:
        """Report the median of samples; `goal` is its upper limit."""
        figure = Figure(name, statistics.median(samples), unit, goal, tuple(samples))
        self.figures.append(figure)
        return figure

    def add(self, name: str, value: float, unit: str) -> Figure:
        """Report a value that was computed from others."""
        figure = Figure(name, value, unit)
        self.figures.append(figure)
        return figure

    def ratio(self, name: str, value: Figure, base: Figure, goal: float | None = None) -> None:
        """Report `value / base`; `goal` is its upper limit."""
        self.figures.append(Figure(name, value.value / base.value, "times", goal))

    @property
    def is_met(self) -> bool:
        return all(figure.is_met for figure in self.figures)

    def as_text(self) -> str:
        width = max(len(figure.name) for figure in self.figures)
        return "\n".join([self.title, *(_line(figure, width) for figure in self.figures)])


def as_json(reports: Sequence[Report]) -> str:
    """All reports, with every sample."""
    return json.dumps([asdict(report) for report in reports], indent=2)


def _line(figure: Figure, width: int) -> str:
    precision = _PRECISION.get(figure.unit, 2)
    line = f"  {figure.name:<{width}}  {figure.value:>8.{precision}f} {figure.unit:<6}"
    if figure.samples:
        low, high = min(figure.samples), max(figure.samples)
        line += f"  {low:.{precision}f} to {high:.{precision}f}, n = {len(figure.samples)}"
    return f"{line}  {figure.verdict}".rstrip()
