"""Days in a row. Pure counting of dates."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Streaks:
    """Days in a row with practice."""

    current_days: int
    longest_days: int
    practised_today: bool


def streaks_of(days: Iterable[date], today: date) -> Streaks:
    """The streaks of these practice days; a today without practice yet does not break the current one.

    A day past `today` counts as well: who flies west has practised "tomorrow".
    """
    practised = sorted(set(days))
    longest = run = 0
    before: date | None = None
    for day in practised:
        run = run + 1 if before is not None and day - before == DAY else 1
        longest = max(longest, run)
        before = day
    alive = before is not None and before >= today - DAY
    return Streaks(run if alive else 0, longest, today in practised)
