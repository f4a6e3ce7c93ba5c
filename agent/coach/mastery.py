"""How far a skill has come: levels by minutes, computed and never stored."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """One level of mastery."""

    key: str  # its name in the texts
    name: str  # in English
    emoji: str
    from_minutes: int  # inclusive


LEVELS = (
    Level("seed", "Seed", "🌱", 0),
    Level("apprentice", "Apprentice", "📘", 100 * 60),
    Level("intermediate", "Intermediate", "⚡", 500 * 60),
    Level("advanced", "Advanced", "🔥", 2_000 * 60),
    Level("master", "Master", "👑", 5_000 * 60),
)
"""Ascending; the last has no upper bound."""


def level_of(minutes: int) -> Level:
    """The level of this many minutes; its lower bound belongs to it."""
    return max((level for level in LEVELS if level.from_minutes <= max(minutes, 0)), key=lambda at: at.from_minutes)


def next_level(minutes: int) -> Level | None:
    """The level after the present one; None for a master."""
    return next((level for level in LEVELS if level.from_minutes > minutes), None)
