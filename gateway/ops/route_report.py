"""What a cheaper model for turns that ask little would have saved, from turns as they are recorded.

The score is `agent.context.weight`'s; at whose prices the light turns are told anew is the caller's matter.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from pydantic import JsonValue

from agent.context.weight import HEAVY_FROM, features_of, score
from agent.transcript import Item, TurnStarted, Usage, fold
from channels.messages import DEFAULT_TENANT
from gateway.errors import GatewayError
from gateway.ops.control import Handler
from gateway.store.engine import Connection, Reader
from gateway.store.usage import RecordedTurn, recorded_turns

MOST_TURNS = 5_000
"""The newest of them; of more a report would take long."""

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


def route_calls(store: Reader, clock: Callable[[], datetime]) -> Mapping[str, Handler]:
    """`usage.routes {days}`: what light turns and all others used; for the control socket and CLI."""

    async def routes(arguments: dict[str, JsonValue]) -> JsonValue:
        days = arguments.get("days")
        if set(arguments) != {"days"} or not isinstance(days, str) or not days.isdecimal() or not 0 < int(days) <= 366:
            raise GatewayError('usage.routes takes "days", a number from 1 to 366 as a text')
        since = clock() - timedelta(days=int(days))

        def look(connection: Connection) -> dict[str, JsonValue]:
            return sums_by_weight(recorded_turns(connection, DEFAULT_TENANT, since, MOST_TURNS))

        return await store.read(look)

    return {"usage.routes": routes}
