"""Buttons under an answer: the replies it suggests, and what a press stands for, where it is ours and its presser's.

A press of a suggested reply becomes a message of its person's own, so that everything behind it (turns, steering,
restarts) knows messages only. Which answer may still be replied to is asked of the journal, in the commit that takes
the press.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

import structlog

from agent.catalogue import Catalogue, escape
from agent.fallbacks import OVER_CAP, RULES_PREFIX, Fallback, Recovered
from agent.journal import suggested_replies
from agent.transcript import EndReason, JournalEvent, TurnEnded
from agent.wellformed import cut_text
from channels.base import Channel, DeletesMessages, HasButtons
from channels.errors import ChannelError
from channels.messages import Button, ButtonPressed, CommandInvoked, InboundEvent, InboundMessage
from gateway.access.buttons import SealedButtons, long_id, short_id
from gateway.commands.base import Changed, Invocation, Reply, Write
from gateway.commands.decisions import ANSWERS, RUN_COMMAND, SAY, VOID
from gateway.commands.session import RETRY
from gateway.commands.table import CommandTable
from gateway.inbound.session_key import place_of
from gateway.store import approvals, inbox, journal, offers, reply_routes, standing_buttons
from gateway.store.engine import Connection, Store
from gateway.store.inbox import PRESSED, InboxRow, NewRow, Outcome
from gateway.store.journal import TurnRow

log = structlog.get_logger()

DELETE_TIMEOUT_S = 10.0
MAX_REPLIES = 8
LABEL_CHARS = 72
UNANSWERED = (EndReason.MODEL_ERROR, EndReason.TIMEOUT)
HOLDS = timedelta(days=7)
"""After this a button says nothing any more, however quiet the conversation was."""


@dataclass(frozen=True, slots=True)
class SuggestedReplies:
    """Makes the buttons of a turn's answer."""

    seals: SealedButtons
    clean: Callable[[str], str]  # an agent's text to what a person may see
    clock: Callable[[], datetime]
    texts: Catalogue  # what people read

    def buttons(
        self, channel: Channel, turn: TurnRow, events: Sequence[JournalEvent], locale: str | None
    ) -> tuple[Button, ...]:
        """Return the buttons of what the ended turn suggests, for its person alone; none if the channel shows none.

        The last one asks again, if a model did not answer.
        """
        if not isinstance(channel, HasButtons):
            return ()
        account, until = f"{turn.address.channel}:{turn.address.account}", self.clock() + HOLDS
        id_ = short_id(turn.id)
        suggested = [
            Button(label, self.seals.seal(SAY, f"{id_}.{index}", turn.user_id, account, until))
            for index, label in self._labels(events)
        ]
        if not _is_unanswered(events):
            return tuple(suggested)
        data = self.seals.seal(RUN_COMMAND, f"{id_}.{RETRY}", turn.user_id, account, until)
        return (*suggested, Button(self.texts.text(locale, "answer.button_retry"), data, words=f"/{RETRY}"))

    def lines(self, channel: Channel, events: Sequence[JournalEvent], locale: str | None) -> str:
        """Return the suggestions as numbered lines, for a channel without buttons; "" if there are none."""
        labels = () if isinstance(channel, HasButtons) else self._labels(events)
        listed = "\n".join(f"{index + 1}. {escape(label)}" for index, label in labels)
        language = next((reply.language for reply in suggested_replies(events)), "") or locale
        return f"{listed}\n\n{self.texts.text(language, 'consent.type_number')}" if listed else ""

    def _labels(self, events: Sequence[JournalEvent]) -> list[tuple[int, str]]:
        replies = enumerate(suggested_replies(events)[:MAX_REPLIES])
        named = [(index, reply.words.strip(), self.clean(reply.label).strip()) for index, reply in replies]
        return [(index, cut_text(label, LABEL_CHARS)) for index, words, label in named if label and words]


def _is_unanswered(events: Sequence[JournalEvent]) -> bool:
    """Return True if the turn failed, or rules answered because its model did: not if only a cap is reached."""
    failed = any(isinstance(event, TurnEnded) and event.reason in UNANSWERED for event in events)
    taken = [event for event in events if isinstance(event, Recovered) and event.fallback is Fallback.NEXT_MODEL]
    by_rules = bool(taken) and taken[-1].detail.startswith(RULES_PREFIX)
    return failed or (by_rules and not taken[-1].why.startswith(OVER_CAP))


async def find_asked(store: Store, word: str, subject: str) -> str | None:
    """Return the user whom the question with this button was asked, or None if that is not known."""
    id_ = long_id(subject.partition(".")[0])
    if word == SAY and id_:
        return await store.read(partial(journal.person_of, turn_id=id_), lasting=True)
    if word in ANSWERS and id_:
        approval = await store.read(partial(approvals.by_id, id_=id_), lasting=True)
        return None if approval is None else approval.user_id
    return None


@dataclass(frozen=True, slots=True)
class SuggestionButtons:
    """The actions of the buttons under an answer."""

    table: CommandTable

    async def say(self, asked: Invocation) -> Reply | Write:
        """Run the command that the button suggests, or admit its words as a message of the person's."""
        turn, _, number = asked.arguments.partition(".")
        turn_id = long_id(turn)
        if not turn_id or not number.isdecimal():
            return Reply(asked.say(VOID))
        press = Press(turn_id, int(number), self.table.talk)
        said = await asked.store.read(partial(offers.suggestion, turn_id=turn_id, index=press.index))
        if said is not None and said.language:
            asked = replace(asked, principal=replace(asked.principal, locale=said.language))
        command, name, arguments = (None if said is None else self.table.parse(said.words)) or (None, "", "")
        if command is None or command.turn or command.stops:
            return Write(_say_suggested, asked, press)
        if self.table.refusal(command, asked.principal, asked.scopes):
            return Write(_say_suggested, asked, press)
        wanted = await command.handle(replace(asked, name=name, arguments=arguments))
        return Write(_run_suggested, asked, press, wanted)

    async def run(self, asked: Invocation) -> Reply | Write:
        """Run the command of a button under a reply; it is kept with that message."""
        event, button, over = asked.row.event, asked.button, Reply(offer_text(asked, ""))
        command, name, arguments = (None if button is None else self.table.parse(button.words)) or (None, "", "")
        if button is None or command is None or not isinstance(event, ButtonPressed):
            return over
        if (refusal := self.table.refusal(command, asked.principal, asked.scopes)) is not None:
            return Reply(refusal)
        if command.turn or command.stops:
            said = _to_event(event, button.words, f"{PRESSED}{asked.arguments}", self.table.talk)
            return Write(_say_offered, asked, event, said)
        wanted = await command.handle(replace(asked, name=name, arguments=arguments))
        return Write(_run_offered, asked, event, wanted)


@dataclass(frozen=True, slots=True)
class Press:
    """A pressed suggestion."""

    turn_id: str  # whose answer suggested it
    index: int  # among the suggestions of that answer
    talk: str  # the command whose text is a message


def _say_suggested(connection: Connection, asked: Invocation, press: Press) -> Reply:
    """Admit the suggested words; they run as a message of the person's."""
    said, before = take_press(connection, asked.row, press, asked.clock())
    return Reply("" if said else offer_text(asked, before), changed=Changed(said=said))


def _run_suggested(connection: Connection, asked: Invocation, press: Press, wanted: Reply | Write) -> Reply:
    """Run the suggested command, if the offer holds and is pressed for the first time."""
    said, before = take_press(connection, asked.row, press, asked.clock(), Outcome.MERGED)
    if said is None:
        return Reply(offer_text(asked, before))
    return wanted.run(connection) if isinstance(wanted, Write) else wanted


def _say_offered(connection: Connection, asked: Invocation, pressed: ButtonPressed, said: InboundEvent) -> Reply:
    """Admit the command as a message of the person's, if its button stands."""
    if not standing_buttons.take(connection, pressed.address, pressed.data, asked.clock()):
        return Reply(offer_text(asked, ""))
    return Reply("", changed=Changed(said=_admit(connection, asked.row, asked.row.session_key, said)))


def _run_offered(connection: Connection, asked: Invocation, pressed: ButtonPressed, wanted: Reply | Write) -> Reply:
    """Run the command of a button, if it stands and is pressed for the first time."""
    if not standing_buttons.take(connection, pressed.address, pressed.data, asked.clock()):
        return Reply(offer_text(asked, ""))
    return wanted.run(connection) if isinstance(wanted, Write) else wanted


def offer_text(asked: Invocation, before: str) -> str:
    """Return what to say of a button whose offer was taken `before` or does not hold any more."""
    return asked.say("commands.offer_done", what=escape(before)) if before else asked.say("commands.offer_over")


async def delete_said(channel: Channel, event: InboundEvent) -> bool | None:
    """Delete what a person said; False: the platform does not allow it, None: it is no message."""
    if not isinstance(event, InboundMessage):
        return None
    if not isinstance(channel, DeletesMessages):
        return False
    try:
        async with asyncio.timeout(DELETE_TIMEOUT_S):
            await channel.delete(event.address, event.message_id)
    except (ChannelError, TimeoutError) as failure:
        log.debug("message_stays", event_id=event.event_id, error=str(failure))
        return False
    return True


def take_press(
    connection: Connection, row: InboxRow, press: Press, now: datetime, outcome: Outcome | None = None
) -> tuple[InboxRow | None, str]:
    """Admit the words of a pressed button as its person's own, once; with an outcome they are done by then.

    Return the admitted row, else None and the label of the button that was pressed before ("": the offer is over). An
    offer is over once the person got another answer in that conversation, a new conversation was begun, or one of its
    buttons was pressed: the words under one answer are one event, which is admitted once.
    """
    replies = offers.of_turn(connection, press.turn_id).replies
    if not isinstance(row.event, ButtonPressed) or press.index >= len(replies):
        return None, ""
    event = _to_event(row.event, replies[press.index].words, f"{PRESSED}{press.turn_id}", press.talk)
    if words := offers.taken_words(connection, event):
        return None, offers.label_of(replies, words)
    key = _offering_session(connection, row, press)
    newest = offers.newest(connection, row.tenant, key, row.user_id)
    if newest is None or newest.turn_id != press.turn_id or standing_buttons.is_over(connection, press.turn_id, now):
        return None, ""
    return _admit(connection, row, key, event, outcome), ""


def _admit(
    connection: Connection, pressed: InboxRow, key: str, said: InboundEvent, outcome: Outcome | None = None
) -> InboxRow | None:
    """Admit what a press says to a session; with an outcome it is done by then. Return None if it was said before."""
    id_ = inbox.admit(connection, NewRow(said, pressed.user_id, key, outcome), pressed.admitted_at)
    if id_ is None:
        return None
    if isinstance(said, CommandInvoked) and outcome is None:
        reply_routes.copy_route(connection, pressed.id, id_)
    return InboxRow(id_, pressed.tenant, key, pressed.user_id, said, pressed.admitted_at)


def _offering_session(connection: Connection, row: InboxRow, press: Press) -> str:
    """Return the session in which the offer was made: another agent's, if the person has chosen that one since."""
    key = journal.key_of(connection, press.turn_id)
    return key if key is not None and place_of(key) == place_of(row.session_key) else row.session_key


def _to_event(pressed: ButtonPressed, words: str, event_id: str, talk: str) -> InboundEvent:
    """Return the words as if typed under the answer, shown to the presser alone if the answer was."""
    if pressed.route is not None and pressed.route.private:
        return CommandInvoked(
            event_id=event_id,
            address=pressed.address,
            sender=pressed.sender,
            received_at=pressed.received_at,
            tenant=pressed.tenant,
            name=talk,
            arguments=words,
            kind=pressed.kind,
            locale=pressed.locale,
            route=replace(pressed.route, token=""),
        )
    return InboundMessage(
        event_id=event_id,
        address=pressed.address,
        sender=pressed.sender,
        received_at=pressed.received_at,
        tenant=pressed.tenant,
        message_id=pressed.message_id,
        kind=pressed.kind,
        text=words,
        mentions_bot=True,
        locale=pressed.locale,
    )
