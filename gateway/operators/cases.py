"""The action that drafts a case for `tenk eval` of a recorded conversation."""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace

from pydantic import Field, JsonValue

from agent.catalogue import language_of
from agent.evals.case import MAX_MESSAGES
from agent.evals.draft import SaidTurn, draft_case
from agent.replay.record import RecordedCall, recorded_calls
from agent.transcript import JournalEvent, Steered, TurnEnded, TurnStarted
from agent.wellformed import read_object
from gateway.access.ranks import Rank
from gateway.operators.actions import ActionCall, OperationRefused, action
from gateway.operators.base import OperatorsBase
from gateway.operators.conversations import find_conversation
from gateway.operators.models import Model
from gateway.safety.pseudonyms import Pseudonyms
from gateway.store.engine import Connection
from gateway.store.heads import ConversationHead
from gateway.store.journal import events_of_turn
from gateway.store.people import Person
from gateway.store.schedules import HEARTBEAT, SCHEDULED
from gateway.store.tenancy import whose_rows
from gateway.store.timeline import TurnHead, turns_of_session


class CaseWish(Model):
    """The case to draft."""

    name: str = Field(min_length=1, max_length=80)


class DraftedCase(Model):
    """A case, and the rest of its conversation."""

    case: dict[str, JsonValue]
    turns: int = Field(description="Turns of the conversation that are in the case, its last ones.")
    left_out: int = Field(description="Turns that are not: earlier ones, those of schedules, those without words.")


class CaseActions(OperatorsBase):
    """The actions on cases of one tenant; of the default tenant if the store is the whole."""

    @action(Rank.MACHINE, audit="case_recorded")
    async def draft_case(self, call: ActionCall, id_: str, wish: CaseWish) -> DraftedCase:
        """Return a case of a conversation, with placeholders for names and secrets. The end of its id is enough.

        Raises:
            OperationRefused: no conversation has this id, or several do, or none of its turns can be a case.
        """

        def read(connection: Connection) -> tuple[ConversationHead, list[tuple[TurnHead, tuple[JournalEvent, ...]]]]:
            head = find_conversation(connection, id_)
            turns = turns_of_session(connection, whose_rows(), head.id, MAX_MESSAGES)
            return head, [(turn, events_of_turn(connection, turn.id)) for turn in turns]

        await call.check()
        head, turns = await self.store.read(read)
        await call.commit(lambda connection: call.record(connection, whose_rows(), head.id))
        known = await self.read_people()
        speaking = {turn.user_id for turn, _ in turns}
        ordered = sorted(known, key=lambda person: person.user_id not in speaking)
        hidden = Pseudonyms([(person.display_name, *sorted(person.identities)) for person in ordered])
        recorded = [found for turn, events in turns if (found := _to_recorded(turn, events, hidden)) is not None]
        if not recorded:
            raise OperationRefused("no turn of this conversation has words of a person that are still kept")
        case = draft_case(wish.name, head.agent, _language_of(known, speaking), recorded)
        return DraftedCase(case=case, turns=len(recorded), left_out=head.turns - len(recorded))


def _to_recorded(turn: TurnHead, events: Sequence[JournalEvent], hidden: Pseudonyms) -> SaidTurn | None:
    """Return a turn with placeholders; None if no person's words are in it, or it has not ended."""
    said = [item for event in events if isinstance(event, TurnStarted | Steered) for item in event.items if item.own]
    text = "\n\n".join(item.text for item in said if item.text.strip())
    ended = next((event for event in events if isinstance(event, TurnEnded)), None)
    if not text or ended is None or turn.kind in {SCHEDULED, HEARTBEAT}:
        return None
    return SaidTurn(
        hidden.replace(text),
        hidden.replace(ended.text),
        turn.started_at,
        [_without_names(call, hidden) for call in recorded_calls(turn.id, events)],
    )


def _without_names(call: RecordedCall, hidden: Pseudonyms) -> RecordedCall:
    return replace(call, arguments=_replace_in(call.arguments, hidden), content=_replace_in(call.content, hidden))


def _replace_in(text: str, hidden: Pseudonyms) -> str:
    """Return a JSON object as text with placeholders in its values; a text that is none as a text."""
    if read_object(text) is None:
        return hidden.replace(text)
    return json.dumps(hidden.replace_in(json.loads(text)), ensure_ascii=False)


def _language_of(known: Sequence[Person], speaking: Collection[str]) -> str | None:
    """Return the language of the person who speaks; None if it is unknown, or several speak."""
    locales = [person.locale for person in known if person.user_id in speaking]
    return language_of(locales[0]) if len(locales) == 1 and locales[0] is not None else None
