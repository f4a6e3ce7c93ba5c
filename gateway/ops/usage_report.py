"""Sums up what models were used for, and what a cheaper one for turns that ask little would have saved.

The score is `agent.context.sizes`'s; at whose prices the light turns are told anew is the caller's matter.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from pydantic import JsonValue

from agent.context.sizes import HEAVY_FROM, features_of, score
from agent.transcript import Item, TurnStarted, Usage, fold
from gateway.ops.control_client import Handler
from gateway.store import people
from gateway.store.heads import Connection
from gateway.store.looking import Reader
from gateway.store.tenancy import whose_rows
from gateway.store.usage import RecordedTurn, UsageSum, recorded_turns, usage_by_day, usage_sums
from gateway.texts import TranslatedError

MOST_TURNS = 5_000
"""The newest of them; of more a report would take long."""

MOST_USAGE_ROWS = 200
MOST_DAYS = 366
LONGEST_DAYS = 9  # digits of a number that is looked at

COUNTED = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_microusd")


def sums_by_weight(turns: Iterable[RecordedTurn]) -> dict[str, JsonValue]:
    """Turns, calls, tokens and cost of light turns, and of all others as "main"; turns come oldest first. Pure.

    Tokens are those of calls whose cost is known, so that the same calls can be told at other prices.
    """
    talks: dict[tuple[str, str], list[Item]] = defaultdict(list)  # of a person in a conversation
    light, main = (dict.fromkeys(("turns", "calls", "unpriced", *COUNTED), 0) for _ in range(2))
    for turn in turns:
        talk = talks[turn.session_id, turn.user_id]
        started = next((event for event in turn.events if isinstance(event, TurnStarted)), None)
        if started is not None:
            _add(light if score(features_of(talk, started.items)) < HEAVY_FROM else main, turn.calls)
        talk += fold(turn.events)
    return {"light": dict(light), "main": dict(main)}


def _add(sums: dict[str, int], calls: Sequence[Usage]) -> None:
    sums["turns"] += 1
    for used in calls:
        sums["calls"] += 1
        if used.cost_microusd is None:
            sums["unpriced"] += 1
            continue
        for name in COUNTED:
            sums[name] += getattr(used, name) or 0


def usage_calls(store: Reader, clock: Callable[[], datetime]) -> Mapping[str, Handler]:
    """`usage {days}`: tokens and cost by UTC day, person and model, oldest first; for the control socket and CLI.

    `usage.summary {days}`: the sums of each day, and the newest of those rows: what one page shows.
    `usage.routes {days}`: what light turns and all others used.
    """

    async def rows(since: datetime, newest: int | None = None) -> list[JsonValue]:
        found = await store.read(lambda connection: usage_sums(connection, whose_rows(), since, newest=newest))
        names = await store.read(partial(people.names_of, user_ids={row.user_id for row in found}))
        return [_row_shown(row, names) for row in found]

    async def usage(arguments: dict[str, JsonValue]) -> JsonValue:
        return await rows(clock() - _back(arguments))

    async def summary(arguments: dict[str, JsonValue]) -> JsonValue:
        since = clock() - _back(arguments)
        by_day: dict[str, JsonValue] = {
            day.isoformat(): {"calls": calls, "tokens": tokens, "microusd": microusd or 0}
            for day, calls, tokens, microusd in await store.read(
                lambda connection: usage_by_day(connection, whose_rows(), since)
            )
        }
        return {"days": by_day, "rows": await rows(since, MOST_USAGE_ROWS)}

    async def routes(arguments: dict[str, JsonValue]) -> JsonValue:
        since = clock() - _back(arguments)

        def look(connection: Connection) -> dict[str, JsonValue]:
            return sums_by_weight(recorded_turns(connection, whose_rows(), since, MOST_TURNS))

        return await store.read(look)

    return {"usage": usage, "usage.summary": summary, "usage.routes": routes}


def _row_shown(row: UsageSum, names: Mapping[str, str]) -> JsonValue:
    return {
        "day": row.day.isoformat(), "user": row.user_id, "name": names.get(row.user_id, row.user_id),
        "model": row.model, "calls": row.calls, "input_tokens": row.input_tokens or 0,
        "output_tokens": row.output_tokens or 0, "cache_read_tokens": row.cache_read_tokens or 0,
        "cache_write_tokens": row.cache_write_tokens or 0, "discarded": row.discarded,
        "estimated": row.estimated, "cost_microusd": row.cost_microusd, "unpriced": row.unpriced,
    }  # fmt: skip


def _back(arguments: Mapping[str, JsonValue]) -> timedelta:
    """How far to look back: the one argument."""
    days = arguments.get("days")
    number = int(days) if isinstance(days, str) and days.isdecimal() and len(days) <= LONGEST_DAYS else 0
    if set(arguments) != {"days"} or not 0 < number <= MOST_DAYS:
        raise TranslatedError("ops.no_number", name="days", least=1, most=MOST_DAYS)
    return timedelta(days=number)
