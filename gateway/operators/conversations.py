"""Actions about conversations: list them, show one as a timeline, export one."""

from collections.abc import Mapping, Sequence
from functools import partial

from pydantic import JsonValue

from agent.transcript import JournalEvent, ModelResponded, Steered, ToolIntended, ToolReturned, TurnEnded, TurnStarted
from gateway.access.ranks import Rank
from gateway.operators.actions import ActionCall, OperationRefused, action
from gateway.operators.base import OperatorsBase
from gateway.operators.finding import find_one, of_person
from gateway.operators.models import (
    ConversationExport,
    ConversationLine,
    ConversationList,
    ConversationsQuery,
    ExportedTurn,
    ExportQuery,
    Timeline,
    TimelineQuery,
    TurnLine,
)
from gateway.operators.tracing import to_hop
from gateway.safety.names import shown_name
from gateway.store import people
from gateway.store.engine import Connection
from gateway.store.heads import LEAST_ID_CHARS, ConversationHead, find_head, list_heads
from gateway.store.journal import events_of_turn
from gateway.store.tenancy import whose_rows
from gateway.store.timeline import Hop, TurnHead, hops, tasks_of, turns_by_id, turns_of_session

EXPORTED_AT_ONCE = 50
"""Turns on one page of an export."""


class ConversationActions(OperatorsBase):
    """The actions about conversations of one tenant; of the default tenant if the store is the whole."""

    @action(Rank.OPERATOR)
    async def list_conversations(self, _call: ActionCall, wanted: ConversationsQuery) -> ConversationList:
        """Return the conversations used last; with a person, only those in which that person wrote last.

        Raises:
            OperationRefused: no person fits.
        """
        whose = None if wanted.person is None else await self._user_of(wanted.person)
        heads = await self.store.read(
            lambda connection: list_heads(connection, whose_rows(), wanted.limit, user_id=whose)
        )
        return ConversationList(sessions=tuple(map(to_conversation, heads)))

    @action(Rank.OPERATOR)
    async def show_conversation(self, _call: ActionCall, id_: str, wanted: TimelineQuery) -> Timeline:
        """Return a conversation's turns and hops. The end of its id is enough.

        Raises:
            OperationRefused: no conversation has this id, or several do.
        """

        def read(connection: Connection) -> tuple[ConversationHead, list[TurnHead], dict[str, str], list[Hop]]:
            head = find_conversation(connection, id_)
            turns = turns_of_session(connection, whose_rows(), head.id, wanted.turns)
            ids = [turn.id for turn in turns]
            parents = tasks_of(connection, whose_rows(), ids)
            tasks = turns_by_id(connection, whose_rows(), parents)
            return head, _in_families(turns, tasks, parents), parents, hops(connection, whose_rows(), turn_ids=ids)

        head, turns, parents, found = await self.store.read(read)
        names = await self._names_of(turns)
        return Timeline(
            session=to_conversation(head),
            turns=tuple(to_turn_line(turn, names, parents.get(turn.id)) for turn in turns),
            hops=tuple(map(to_hop, found)),
        )

    @action(Rank.MACHINE)
    async def export_conversation(self, _call: ActionCall, id_: str, wanted: ExportQuery) -> ConversationExport:
        """Return a page of a conversation's messages, tool calls and results.

        Raises:
            OperationRefused: no conversation has this id, or several do.
        """

        def read(connection: Connection) -> tuple[ConversationHead, list[tuple[TurnHead, tuple[JournalEvent, ...]]]]:
            head = find_conversation(connection, id_)
            every = turns_of_session(connection, whose_rows(), head.id, 10**6)
            page = every[wanted.skip : wanted.skip + EXPORTED_AT_ONCE]
            return head, [(turn, events_of_turn(connection, turn.id)) for turn in page]

        head, turns = await self.store.read(read)
        names = await self._names_of([turn for turn, _ in turns])
        return ConversationExport(
            session=to_conversation(head),
            turns=tuple(
                ExportedTurn(**dict(to_turn_line(turn, names)), events=_to_export(events)) for turn, events in turns
            ),
            more=wanted.skip + len(turns) < head.turns,
        )

    async def _names_of(self, turns: list[TurnHead]) -> dict[str, str]:
        query = partial(people.names_of, user_ids={turn.user_id for turn in turns})
        return {user_id: shown_name(name) for user_id, name in (await self.store.read(query)).items()}

    async def _user_of(self, who: str) -> str:
        """Return the user id for a name, a sender, an id or its end."""
        if await self.store.read(partial(people.person_of, user_id=who)) is not None:
            return who
        return find_one(who, map(of_person, await self.read_people())).user_id


def find_conversation(connection: Connection, id_end: str) -> ConversationHead:
    """Return the conversation with this id or end of an id.

    Raises:
        OperationRefused: there is none, or there are several.
    """
    found = find_head(connection, whose_rows(), id_end.strip().lower())
    if not found:
        raise OperationRefused("ops.no_conversation", letters=LEAST_ID_CHARS)
    if len(found) > 1:
        raise OperationRefused("ops.conversation_twice")
    return found[0]


def _in_families(turns: Sequence[TurnHead], tasks: Sequence[TurnHead], parents: Mapping[str, str]) -> list[TurnHead]:
    """Return turns in order, behind each the turns of its tasks."""
    return [
        each
        for turn in turns
        for each in (turn, *_in_families([task for task in tasks if parents[task.id] == turn.id], tasks, parents))
    ]


def to_turn_line(turn: TurnHead, names: Mapping[str, str], parent: str | None = None) -> TurnLine:
    """Return a turn as operators see it; `names` are those of people, by user id."""
    return TurnLine(
        turn=turn.id,
        kind=turn.kind,
        person=names.get(turn.user_id, turn.user_id),
        user=turn.user_id,
        started_at=turn.started_at,
        end_reason=turn.end_reason,
        ended_at=turn.ended_at,
        task=turn.task,
        parent=parent,
    )


def to_conversation(head: ConversationHead) -> ConversationLine:
    """Return a conversation without its title, which quotes the person."""
    return ConversationLine(
        id=head.id,
        person=shown_name(head.person) or head.user_id,
        user=head.user_id,
        agent=head.agent,
        key=head.key,
        generation=head.generation,
        living=head.living,
        mode=head.mode,
        turns=head.turns,
        created_at=head.created_at,
        used_at=head.used_at,
        cost_microusd=head.cost_microusd,
    )


def _to_export(events: tuple[JournalEvent, ...]) -> tuple[dict[str, JsonValue], ...]:
    """Return the messages, calls and results of a turn in order."""
    said: list[dict[str, JsonValue]] = []
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
    return tuple(said)
