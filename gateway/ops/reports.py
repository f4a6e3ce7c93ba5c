"""Answers what operators ask about messages, by name with JSON arguments: by the control socket and to the CLI alone.

Rows are `gateway.store.reports`'; what is done to a failed part is `gateway.delivery.dead_letters`'.
"""

from collections.abc import Awaitable, Callable, Mapping

from pydantic import JsonValue, TypeAdapter

from gateway.delivery.dead_letters import DeadLetters
from gateway.ops.control_client import Handler
from gateway.store import reports
from gateway.store.inbox import Outcome
from gateway.store.looking import Reader
from gateway.store.outbox import PartState
from gateway.store.reports import MAX_ROW_ID, OPEN, InboxLine, OutboxLine, OutboxWords
from gateway.store.tenancy import whose_rows
from gateway.texts import TranslatedError

MOST_ROWS = 1_000

_INBOX: TypeAdapter[list[InboxLine]] = TypeAdapter(list[InboxLine])
_OUTBOX: TypeAdapter[list[OutboxLine]] = TypeAdapter(list[OutboxLine])
_WORDS: TypeAdapter[OutboxWords] = TypeAdapter(OutboxWords)
_LINE: TypeAdapter[OutboxLine] = TypeAdapter(OutboxLine)

Arguments = dict[str, JsonValue]


def report_calls(store: Reader, _clock: object) -> Mapping[str, Handler]:
    """`inbox.list {outcome, limit}`, `outbox.list {states, limit}`, `outbox.show {id}`.

    Rows come newest first.
    """

    async def list_inbox(arguments: Arguments) -> JsonValue:
        given, outcomes = arguments.get("outcome"), (OPEN, *map(str, Outcome))
        outcome = next((known for known in outcomes if known == given), None)
        if given is not None and outcome is None:
            raise TranslatedError("ops.no_outcome", given=given, known=", ".join(outcomes))
        limit = _limit(arguments)
        query = lambda connection: reports.inbox_lines(connection, whose_rows(), limit, outcome)  # noqa: E731  shorter than its def
        return _INBOX.dump_python(await store.read(query), mode="json")  # type: ignore[no-any-return]  # JSON it is

    async def list_outbox(arguments: Arguments) -> JsonValue:
        given = arguments.get("states") or [*reports.NEED_SOMEBODY]
        states = given if isinstance(given, list) else [given]
        if unknown := [state for state in states if state not in (*PartState,)]:
            raise TranslatedError("ops.no_state", given=unknown[0], known=", ".join(PartState))
        named = [str(state) for state in states]
        limit = _limit(arguments)
        query = lambda connection: reports.outbox_lines(connection, whose_rows(), limit, named)  # noqa: E731  shorter than its def
        return _OUTBOX.dump_python(await store.read(query), mode="json")  # type: ignore[no-any-return]  # JSON it is

    async def show_outbox(arguments: Arguments) -> JsonValue:
        id_ = _id(arguments)
        found = await store.read(lambda connection: reports.outbox_words(connection, whose_rows(), id_))
        if found is None:
            raise TranslatedError("ops.no_part", id=id_)
        return _WORDS.dump_python(found, mode="json")  # type: ignore[no-any-return]  # JSON it is

    return {"inbox.list": list_inbox, "outbox.list": list_outbox, "outbox.show": show_outbox}


def letter_calls(letters: DeadLetters, by: str) -> Mapping[str, Handler]:
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
        raise TranslatedError("ops.no_number", name="limit", least=1, most=MOST_ROWS)
    return limit


def _id(arguments: Arguments) -> int:
    id_ = arguments.get("id")
    if not isinstance(id_, int) or not 0 < id_ <= MAX_ROW_ID:
        raise TranslatedError("ops.no_id")
    return id_
