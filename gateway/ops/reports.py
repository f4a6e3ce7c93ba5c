"""Answers what operators ask about messages, by name with JSON arguments: by the control socket and to the CLI alone.

Rows are `gateway.store.reports`'; what is done to a failed part is `gateway.delivery.dead_letters`'.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from pydantic import JsonValue, TypeAdapter

from gateway.access.ranks import BY_CLI
from gateway.delivery.dead_letters import MAX_ROW_ID, DeadLetters
from gateway.errors import GatewayError
from gateway.ops.control import Handler
from gateway.ops.trace import trace_calls
from gateway.store import reports
from gateway.store.engine import Reader
from gateway.store.inbox import Outcome
from gateway.store.outbox import PartState
from gateway.store.reports import OPEN, InboxLine, OutboxLine, OutboxWords
from gateway.store.tenancy import whose_rows

MOST_ROWS = 1_000

_INBOX: TypeAdapter[list[InboxLine]] = TypeAdapter(list[InboxLine])
_OUTBOX: TypeAdapter[list[OutboxLine]] = TypeAdapter(list[OutboxLine])
_WORDS: TypeAdapter[OutboxWords] = TypeAdapter(OutboxWords)
_LINE: TypeAdapter[OutboxLine] = TypeAdapter(OutboxLine)

Arguments = dict[str, JsonValue]


def report_calls(store: Reader, clock: Callable[[], datetime]) -> Mapping[str, Handler]:
    """`trace {who, at, count}`, `inbox.list {outcome, limit}`, `outbox.list {states, limit}`, `outbox.show {id}`.

    Rows come newest first.
    """

    async def list_inbox(arguments: Arguments) -> JsonValue:
        given, outcomes = arguments.get("outcome"), (OPEN, *map(str, Outcome))
        outcome = next((known for known in outcomes if known == given), None)
        if given is not None and outcome is None:
            raise GatewayError(f"{given!r} is no outcome; there are: {', '.join(outcomes)}")
        limit = _limit(arguments)
        query = lambda connection: reports.inbox_lines(connection, whose_rows(), limit, outcome)  # noqa: E731  shorter than its def
        return _INBOX.dump_python(await store.read(query), mode="json")  # type: ignore[no-any-return]  # JSON it is

    async def list_outbox(arguments: Arguments) -> JsonValue:
        states = arguments.get("states") or [*reports.NEED_SOMEBODY]
        if not isinstance(states, list) or (unknown := [state for state in states if state not in (*PartState,)]):
            raise GatewayError(f"{unknown[0]!r} is no state; there are: {', '.join(PartState)}")
        named = [str(state) for state in states]
        limit = _limit(arguments)
        query = lambda connection: reports.outbox_lines(connection, whose_rows(), limit, named)  # noqa: E731  shorter than its def
        return _OUTBOX.dump_python(await store.read(query), mode="json")  # type: ignore[no-any-return]  # JSON it is

    async def show_outbox(arguments: Arguments) -> JsonValue:
        id_ = _id(arguments)
        found = await store.read(lambda connection: reports.outbox_words(connection, whose_rows(), id_))
        if found is None:
            raise GatewayError(f"no part of the outbox has the id {id_}; `tenk outbox list --all` shows them")
        return _WORDS.dump_python(found, mode="json")  # type: ignore[no-any-return]  # JSON it is

    rows = {"inbox.list": list_inbox, "outbox.list": list_outbox, "outbox.show": show_outbox}
    return {**rows, **trace_calls(store, clock)}


def letter_calls(letters: DeadLetters, by: str = BY_CLI) -> Mapping[str, Handler]:
    """`outbox.retry {id}` and `outbox.discard {id}`; each answers the part as it was."""

    def call(change: Callable[[str, int, str], Awaitable[OutboxLine]]) -> Handler:
        async def run(arguments: Arguments) -> JsonValue:
            line = await change(letters.tenant, _id(arguments), by)
            return _LINE.dump_python(line, mode="json")  # type: ignore[no-any-return]  # JSON it is

        return run

    return {"outbox.retry": call(letters.retry), "outbox.discard": call(letters.discard)}


def _limit(arguments: Arguments) -> int:
    limit = arguments.get("limit", 50)
    if not isinstance(limit, int) or not 0 < limit <= MOST_ROWS:
        raise GatewayError(f"the limit is a number from 1 to {MOST_ROWS}")
    return limit


def _id(arguments: Arguments) -> int:
    id_ = arguments.get("id")
    if not isinstance(id_, int) or not 0 < id_ <= MAX_ROW_ID:
        raise GatewayError("the id is a number, as `tenk outbox list` shows it")
    return id_
