"""Operators list conversations, read one as a timeline and take it out whole; for the control socket and CLI.

How each is drawn is the CLI's matter; what may be known of it the store's.
"""

from collections.abc import Mapping
from functools import partial

from pydantic import JsonValue

from agent.transcript import JournalEvent, ModelResponded, Steered, ToolIntended, ToolReturned, TurnEnded, TurnStarted
from gateway.ops.control_client import Handler
from gateway.safety.names import shown_name
from gateway.store import people
from gateway.store.heads import LEAST_ID_CHARS, Connection, ConversationHead, find_head, list_heads
from gateway.store.journal import events_of_turn
from gateway.store.looking import Reader
from gateway.store.tenancy import whose_rows
from gateway.store.timeline import Hop, TurnHead, hops, turns_of_session
from gateway.texts import TranslatedError

MOST_LISTED = 100_000

MOST_TURNS = 500
"""Turns of one timeline: more is more than anybody reads."""

EXPORTED_AT_ONCE = 50
"""Turns of one answer of an export; what follows is asked for anew."""


def conversation_calls(store: Reader, _clock: object) -> Mapping[str, Handler]:
    """`sessions.list {most, person?}`, `sessions.show {id, turns}`, `sessions.export {id, skip}`."""

    async def names(*shown: TurnHead) -> dict[str, str]:
        query = partial(people.names_of, user_ids={row.user_id for row in shown})
        return {user_id: shown_name(name) for user_id, name in (await store.read(query)).items()}

    async def list_all(arguments: dict[str, JsonValue]) -> JsonValue:
        person = arguments.get("person")
        whose = None if person is None else await _person(store, str(person))
        return await store.read(partial(list_conversations, most=arguments.get("most"), user_id=whose))

    async def show(arguments: dict[str, JsonValue]) -> JsonValue:
        most = number("turns", arguments.get("turns"), MOST_TURNS)

        def read(connection: Connection) -> tuple[ConversationHead, list[TurnHead], list[Hop]]:
            head = _only(find_head(connection, whose_rows(), _id_end(arguments)))
            turns = turns_of_session(connection, whose_rows(), head.id, most)
            return head, turns, hops(connection, whose_rows(), turn_ids=[turn.id for turn in turns])

        head, turns, way = await store.read(read)
        known = await names(*turns)
        return {
            "session": head_shown(head),
            "turns": [_turn_shown(turn, known) for turn in turns],
            "hops": [_hop_shown(hop) for hop in way],
        }

    async def export(arguments: dict[str, JsonValue]) -> JsonValue:
        skip = number("skip", arguments.get("skip"), 10**9, least=0)

        def read(connection: Connection) -> tuple[ConversationHead, list[tuple[TurnHead, tuple[JournalEvent, ...]]]]:
            head = _only(find_head(connection, whose_rows(), _id_end(arguments)))
            turns = turns_of_session(connection, whose_rows(), head.id, 10**6)[skip : skip + EXPORTED_AT_ONCE]
            return head, [(turn, events_of_turn(connection, turn.id)) for turn in turns]

        head, turns = await store.read(read)
        known = await names(*(turn for turn, _ in turns))
        return {
            "session": head_shown(head),
            "turns": [_turn_shown(turn, known) | {"events": _to_export(events)} for turn, events in turns],
            "more": skip + len(turns) < head.turns,
        }

    return {"sessions.list": list_all, "sessions.show": show, "sessions.export": export}


def _id_end(arguments: Mapping[str, JsonValue]) -> str:
    return str(arguments.get("id", "")).strip().lower()


def _only(found: list[ConversationHead]) -> ConversationHead:
    if not found:
        raise TranslatedError("ops.no_conversation", letters=LEAST_ID_CHARS)
    if len(found) > 1:
        raise TranslatedError("ops.conversation_twice")
    return found[0]


async def _person(store: Reader, who: str) -> str:
    """The user of a sender, an id or its end."""
    if await store.read(partial(people.person_of, user_id=who)) is not None:
        return who
    known = await store.read(people.everybody)
    found = {
        person.user_id
        for person in known
        if who in person.identities or (len(who) >= LEAST_ID_CHARS and person.user_id.endswith(who.lower()))
    }
    if len(found) != 1:
        raise TranslatedError("ops.nobody")
    return found.pop()


def _turn_shown(turn: TurnHead, names: Mapping[str, str]) -> dict[str, JsonValue]:
    return {
        "turn": turn.id, "kind": turn.kind, "person": names.get(turn.user_id, turn.user_id), "user": turn.user_id,
        "started_at": turn.started_at.isoformat(), "end_reason": turn.end_reason,
        "ended_at": turn.ended_at.isoformat() if turn.ended_at else None,
    }  # fmt: skip


def _hop_shown(hop: Hop) -> dict[str, JsonValue]:
    return {
        "at": hop.at.isoformat(), "hop": hop.name, "turn": hop.turn_id, "inbox": hop.inbox_id, "facts": dict(hop.facts),
    }  # fmt: skip


def _to_export(events: tuple[JournalEvent, ...]) -> list[JsonValue]:
    """What was said and done in a turn, in order, without what is the harness's own."""
    said: list[JsonValue] = []
    for event in events:
        match event:
            case TurnStarted(items=items) | Steered(items=items):
                said += [{"person": item.text, "sender": item.sender, "data": item.data} for item in items]
            case ModelResponded():
                calls: list[JsonValue] = [{"tool": call.name, "arguments": call.arguments} for call in event.tool_calls]
                said.append({"agent": event.text, "model": event.model, "calls": calls})
            case ToolReturned():
                said.append({"tool": event.name, "outcome": event.outcome, "result": event.content})
            case TurnEnded():
                said.append({"ended": event.reason, "answer": event.text})
            case ToolIntended() | _:
                pass
    return said


def list_conversations(connection: Connection, most: object, user_id: str | None = None) -> JsonValue:
    """Those that were used last; with a user, where they spoke last.

    Raises:
        TranslatedError: `most` is no number of rows.
    """
    heads = list_heads(connection, whose_rows(), number("most", most, MOST_LISTED), user_id=user_id)
    return [head_shown(head) for head in heads]


def head_shown(head: ConversationHead) -> dict[str, JsonValue]:
    """A conversation for an operator's list, without its title: that is for its person, whose first words it has."""
    return {
        "id": head.id, "person": shown_name(head.person) or head.user_id,
        "user": head.user_id, "key": head.key, "generation": head.generation, "living": head.living,
        "mode": head.mode, "turns": head.turns, "created_at": head.created_at.isoformat(),
        "used_at": head.used_at.isoformat(), "cost_microusd": head.cost_microusd,
    }  # fmt: skip


def number(name: str, value: object, most: int, least: int = 1) -> int:
    """A number of a request.

    Raises:
        TranslatedError: it is none, or out of these bounds.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise TranslatedError("ops.no_number", name=name, least=least, most=most)
    return value
