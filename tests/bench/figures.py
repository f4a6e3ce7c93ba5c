"""Figures of one bot, percentiles, and two bots side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, field

Row = dict[str, float]


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value that so many percent of the others stay under; 0.0 if there are none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


@dataclass(slots=True)
class Load:
    """Figures of a closed loop."""

    messages: int = 0
    wall_s: float = 0.0
    latencies_ms: list[float] = field(default_factory=list)

    @property
    def per_s(self) -> float:
        return self.messages / self.wall_s


@dataclass(frozen=True, slots=True)
class Figures:
    """One bot under one load."""

    cpu_ms: float  # CPU milliseconds a message
    per_s: float  # messages a second
    p50_ms: float
    p95_ms: float
    rss_mb: float

    @classmethod
    def of(cls, load: Load, cpu_s: float, rss_mb: float) -> "Figures":
        return cls(
            cpu_ms=cpu_s * 1000 / load.messages,
            per_s=load.per_s,
            p50_ms=percentile(load.latencies_ms, 50),
            p95_ms=percentile(load.latencies_ms, 95),
            rss_mb=rss_mb,
        )

    def rounded(self) -> Row:
        return {name: round(getattr(self, name), 3) for name in Figures.__slots__}


LABELS = (
    ("CPU ms/message", "cpu_ms"),
    ("messages/s", "per_s"),
    ("p50 ms", "p50_ms"),
    ("p95 ms", "p95_ms"),
    ("RSS MiB", "rss_mb"),
)


def side_by_side(ours: Figures, bare: Figures) -> list[str]:
    """Return a table: the gateway, the bare bot and the ratio."""
    lines = [f"  {'':14}{'gateway':>10}{'bare bot':>10}{'ratio':>8}"]
    for label, name in LABELS:
        mine, theirs = getattr(ours, name), getattr(bare, name)
        ratio = f"{mine / theirs:8.2f}" if theirs else f"{'-':>8}"
        lines.append(f"  {label:14}{mine:10.2f}{theirs:10.2f}{ratio}")
    return lines
