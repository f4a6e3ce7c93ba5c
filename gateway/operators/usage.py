"""Actions about usage: sums of model calls, and of the light turns that a cheaper model could have answered."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import Any, Literal

from agent.calendar import zone_of
from agent.context.sizes import HEAVY_FROM, features_of, score
from agent.transcript import Item, TurnStarted, Usage, fold
from gateway.access.ranks import Rank
from gateway.operators.actions import ActionCall, action
from gateway.operators.base import OperatorsBase
from gateway.operators.models import (
    DaySum,
    SummaryQuery,
    UsageByQuery,
    UsageGroup,
    UsageGrouping,
    UsageGroups,
    UsageQuery,
    UsageReport,
    UsageRoutes,
    UsageRow,
    UsageSummary,
    WeightSums,
)
from gateway.store import people
from gateway.store.tenancy import whose_rows
from gateway.store.usage import (
    DayUsage,
    RecordedTurn,
    UsageSum,
    recorded_turns,
    usage_by_account,
    usage_by_column,
    usage_by_day,
    usage_sums,
)

MOST_TURNS = 5_000
"""Newest turns that one report reads."""

COLUMNS: Mapping[UsageGrouping, Literal["day", "user_id", "model"]] = {
    "person": "user_id",
    "model": "model",
    "day": "day",
}

COUNTED = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_microusd")


def sums_by_weight(turns: Iterable[RecordedTurn]) -> UsageRoutes:
    """Sum turns, calls, tokens and cost of light turns, and of all others as "main". Turns come oldest first.

    Count only tokens of calls with a known cost, so that the same calls can be priced differently.
    """
    talks: dict[tuple[str, str], list[Item]] = defaultdict(list)  # of a person in a conversation
    light, main = Counter[str](), Counter[str]()
    for turn in turns:
        talk = talks[turn.session_id, turn.user_id]
        started = next((event for event in turn.events if isinstance(event, TurnStarted)), None)
        if started is not None:
            _add(light if score(features_of(talk, started.items)) < HEAVY_FROM else main, turn.calls)
        talk += fold(turn.events)
    return UsageRoutes(light=WeightSums(**light), main=WeightSums(**main))


def _add(sums: Counter[str], calls: Sequence[Usage]) -> None:
    sums["turns"] += 1
    for used in calls:
        sums["calls"] += 1
        if used.cost_microusd is None:
            sums["unpriced"] += 1
            continue
        for name in COUNTED:
            sums[name] += getattr(used, name) or 0


class UsageActions(OperatorsBase):
    """The actions about usage of one tenant; of the default tenant if the store is the whole."""

    @action(Rank.OPERATOR)
    async def usage(self, call: ActionCall, wanted: UsageQuery) -> UsageReport:
        """Return calls, tokens and cost by UTC day, person and model, oldest first."""
        return UsageReport(rows=await self._rows(call.now - timedelta(days=wanted.days)))

    @action(Rank.OPERATOR)
    async def usage_by(self, call: ActionCall, wanted: UsageByQuery) -> UsageGroups:
        """Return the sums by person, model, channel account or UTC day, the most costly first."""
        since = call.now - timedelta(days=wanted.days)
        if wanted.by == "channel":
            found = await self.store.read(lambda connection: usage_by_account(connection, whose_rows(), since))
        else:
            column = COLUMNS[wanted.by]
            found = await self.store.read(lambda connection: usage_by_column(connection, whose_rows(), since, column))
        names = await self.store.read(partial(people.names_of, user_ids=set(found))) if found else {}
        groups = [
            UsageGroup(group=group, name=names.get(group, group), **_sums_of(row)) for group, row in found.items()
        ]
        by_day = wanted.by == "day"
        groups.sort(key=lambda row: row.group if by_day else (row.cost_microusd or 0, row.calls), reverse=True)
        return UsageGroups(rows=tuple(groups))

    @action(Rank.OPERATOR)
    async def usage_summary(self, call: ActionCall, wanted: SummaryQuery) -> UsageSummary:
        """Return the sums of each day, oldest first."""
        zone = zone_of(wanted.timezone)
        today = call.now.astimezone(zone).date()
        days = [today - timedelta(days=back) for back in reversed(range(wanted.days))]
        since = datetime.combine(days[0], time(), zone).astimezone(UTC)
        found = await self.store.read(lambda connection: usage_by_day(connection, whose_rows(), since, zone))
        sums = {day: found.get(day, DayUsage()) for day in days}
        return UsageSummary(
            days={
                day: DaySum(calls=total.calls, tokens=total.tokens, microusd=total.cost_microusd)
                for day, total in sums.items()
            }
        )

    @action(Rank.OPERATOR)
    async def usage_routes(self, call: ActionCall, wanted: UsageQuery) -> UsageRoutes:
        """Return the usage of light turns and of all others."""
        since = call.now - timedelta(days=wanted.days)
        return await self.store.read(
            lambda connection: sums_by_weight(recorded_turns(connection, whose_rows(), since, MOST_TURNS))
        )

    async def _rows(self, since: datetime) -> tuple[UsageRow, ...]:
        found = await self.store.read(lambda connection: usage_sums(connection, whose_rows(), since))
        names = await self.store.read(partial(people.names_of, user_ids={row.user_id for row in found}))
        return tuple(_to_row(row, names) for row in found)


def _sums_of(row: UsageSum) -> dict[str, Any]:
    """Return the fields of `UsageSums`."""
    return {
        "calls": row.calls,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "cache_read_tokens": row.cache_read_tokens,
        "cache_write_tokens": row.cache_write_tokens,
        "discarded": row.discarded,
        "estimated": row.estimated,
        "cost_microusd": row.cost_microusd,
        "unpriced_calls": row.unpriced,
    }


def _to_row(row: UsageSum, names: Mapping[str, str]) -> UsageRow:
    name = names.get(row.user_id, row.user_id)
    return UsageRow(day=row.day, user=row.user_id, name=name, model=row.model, **_sums_of(row))
