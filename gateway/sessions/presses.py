"""Buttons under an answer: the replies it suggests, and what a press stands for, where it is ours and its presser's.

A press of a suggested reply becomes a message of its person's own, so that everything behind it (turns, steering,
restarts) knows messages only. Which answer may still be replied to is asked of the journal, in the commit that takes
the press.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from agent.catalogue import Catalogue
from agent.consent import Consent
from agent.journal import suggested_replies
from agent.language import escape
from agent.ports import Principal
from agent.transcript import JournalEvent
from agent.wellformed import cut_text
from channels.base import Channel, DeletesMessages, HasButtons
from channels.errors import ChannelError
from channels.messages import Address, Button, ButtonPressed, CommandInvoked, InboundEvent, InboundMessage
from gateway.access.buttons import Meant, SealedButtons, Void, short_id
from gateway.commands.base import AnswerApproval, ApprovalAnswered, Reply, SaySuggested, SuggestionTaken
from gateway.commands.decisions import SAY, VOID, Decision, offer_text
from gateway.delivery.sender import call_within
from gateway.sessions.inbox_rules import PRESSED
from gateway.store import approvals, inbox, offers, reply_routes
from gateway.store.engine import Connection, Store
from gateway.store.inbox import InboxRow, NewRow, Outcome
from gateway.store.journal import TurnRow

log = structlog.get_logger()

CLOSE_TIMEOUT_S = 10.0
MAX_REPLIES = 8
LABEL_CHARS = 72
HOLDS = timedelta(days=7)
"""After this a button says nothing any more, however quiet the conversation was."""


@dataclass(frozen=True, slots=True)
class SuggestedReplies:
    """Makes the buttons of a turn's answer, and takes away those of the offer before it."""

    seals: SealedButtons
    clean: Callable[[str], str]  # an agent's text to what a person may see
    clock: Callable[[], datetime]
    texts: Catalogue  # what people read
    store: Store
    tasks: asyncio.TaskGroup

    def buttons(self, channel: Channel, turn: TurnRow, events: Sequence[JournalEvent]) -> tuple[Button, ...]:
        """Return the buttons of what the ended turn suggests, for its person alone; none if the channel shows none."""
        if not isinstance(channel, HasButtons):
            return ()
        account, until = f"{turn.address.channel}:{turn.address.account}", self.clock() + HOLDS
        return tuple(
            Button(label, self.seals.seal(SAY, f"{short_id(turn.id)}.{index}", turn.user_id, account, until))
            for index, label in self._labels(events)
        )

    def lines(self, channel: Channel, events: Sequence[JournalEvent], locale: str | None) -> str:
        """Return the suggestions as numbered lines, for a channel without buttons; "" if there are none."""
        labels = () if isinstance(channel, HasButtons) else self._labels(events)
        listed = "\n".join(f"{index + 1}. {escape(label)}" for index, label in labels)
        return f"{listed}\n\n{self.texts.text(locale, 'consent.type_number')}" if listed else ""

    def _labels(self, events: Sequence[JournalEvent]) -> list[tuple[int, str]]:
        replies = enumerate(suggested_replies(events)[:MAX_REPLIES])
        named = [(index, reply.words.strip(), self.clean(reply.label).strip()) for index, reply in replies]
        return [(index, cut_text(label, LABEL_CHARS)) for index, words, label in named if label and words]

    async def standing(self, session_key: str, turn: TurnRow) -> str | None:
        """Return the message with the newest offer to the turn's person, before this turn's own."""

        def find(connection: Connection) -> str | None:
            offer = offers.newest(connection, turn.tenant, session_key, turn.user_id)
            message = None if offer is None else offers.message_of(connection, offer.turn_id)
            return None if message is None else message[1]

        return await self.store.read(find)

    def close(self, channel: Channel, address: Address, message_id: str) -> None:
        """Take the buttons of an overtaken offer away."""
        self.tasks.create_task(close_buttons(channel, address, message_id))


OfAnother = Callable[[str, str, Principal], Awaitable[Reply | None]]
"""From a button's word, what it is about and who pressed it to what they are told, where it is known as another's."""


@dataclass(frozen=True, slots=True)
class PressHandler:
    """Opens what comes back with a press and finds what it does."""

    seals: SealedButtons
    decisions: Mapping[str, Decision]  # by the word that a button carries
    texts: Catalogue  # what people read
    of_another: OfAnother

    async def decide(self, pressed: ButtonPressed, principal: Principal, now: datetime) -> tuple[Reply, bool]:
        """What is done and said about it, and whether the buttons go: not where they may be somebody else's."""
        account = f"{pressed.address.channel}:{pressed.address.account}"
        meant = self.seals.open(pressed.data, principal.user_id, account, now)
        decide = self.decisions.get(meant.word) if isinstance(meant, Meant) else None
        if decide is None or not isinstance(meant, Meant):
            log.warning("button_void", event_id=pressed.event_id, user_id=principal.user_id, why=str(meant))
            word, _, rest = pressed.data.partition(":")
            if meant is Void.FORGED and (told := await self.of_another(word, rest.partition(":")[0], principal)):
                return told, False
            return Reply(self.texts.text(principal.locale, VOID)), meant is not Void.FORGED
        return await decide(meant.subject, principal), True


async def close_buttons(channel: Channel, address: Address, message_id: str) -> None:
    """Take the buttons of a message away; if that fails, a press finds nothing to do."""
    if not isinstance(channel, HasButtons) or not message_id:
        return
    try:
        await call_within(CLOSE_TIMEOUT_S, channel.close_buttons(address, message_id))
    except ChannelError as failure:
        log.debug("buttons_stay", message_id=message_id, error=str(failure))


async def delete_said(channel: Channel, event: InboundEvent) -> bool | None:
    """Delete what a person said; False: the platform does not allow it, None: it is no message."""
    if not isinstance(event, InboundMessage):
        return None
    if not isinstance(channel, DeletesMessages):
        return False
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await channel.delete(event.address, event.message_id)
    except (ChannelError, TimeoutError) as failure:
        log.debug("message_stays", event_id=event.event_id, error=str(failure))
        return False
    return True


def take_press(
    connection: Connection, row: InboxRow, reply: SaySuggested, talk: str, outcome: Outcome | None = None
) -> tuple[InboxRow | None, SuggestionTaken]:
    """Admit the words of a pressed button as its person's own, once; with an outcome they are done by then.

    The offer is over once the person got a newer one in that conversation, a new conversation was begun, or one of its
    buttons was pressed: the words under one answer are one event, which is admitted once.
    """
    replies = offers.of_turn(connection, reply.turn_id).replies
    if not isinstance(row.event, ButtonPressed) or reply.index >= len(replies):
        return None, SuggestionTaken(said=False)
    event = _to_event(row.event, replies[reply.index].words, f"{PRESSED}{reply.turn_id}", talk)
    if words := offers.taken_words(connection, event):
        return None, SuggestionTaken(said=False, before=offers.label_of(replies, words))
    newest = offers.newest(connection, row.tenant, row.session_key, row.user_id)
    if newest is None or newest.turn_id != reply.turn_id:
        return None, SuggestionTaken(said=False)
    id_ = inbox.admit(connection, NewRow(event, row.user_id, row.session_key, outcome), row.admitted_at)
    if id_ is None:
        return None, SuggestionTaken(said=False)
    if isinstance(event, CommandInvoked) and outcome is None:
        reply_routes.copy_route(connection, row.id, id_)
    said = InboxRow(id_, row.tenant, row.session_key, row.user_id, event, row.admitted_at)
    return said, SuggestionTaken(said=True)


def take_offer(
    connection: Connection, row: InboxRow, wanted: Reply, talk: str, texts: Catalogue, locale: str | None
) -> Reply:
    """Return what a pressed offer wants, if it holds and is pressed for the first time; else what to say."""
    if wanted.offer is None:
        return wanted
    _, taken = take_press(connection, row, wanted.offer, talk, Outcome.MERGED)
    return wanted if taken.said else Reply(offer_text(texts, locale, taken.before))


def _to_event(pressed: ButtonPressed, words: str, event_id: str, talk: str) -> InboundEvent:
    """The words as if typed under the answer; where only their person sees that, so that only they see what follows."""
    if pressed.route is not None and pressed.route.private:
        return CommandInvoked(
            event_id=event_id, address=pressed.address, sender=pressed.sender, received_at=pressed.received_at,
            tenant=pressed.tenant, name=talk, arguments=words, kind=pressed.kind, locale=pressed.locale,
            route=replace(pressed.route, token=""),
        )  # fmt: skip
    return InboundMessage(
        event_id=event_id, address=pressed.address, sender=pressed.sender, received_at=pressed.received_at,
        tenant=pressed.tenant, message_id=pressed.message_id, kind=pressed.kind, text=words, mentions_bot=True,
        locale=pressed.locale,
    )  # fmt: skip


def answer_approval(
    connection: Connection, user_id: str, answer: AnswerApproval, results: list[object], now: datetime
) -> Sequence[str]:
    """Take somebody's word about a tool call, if the question is theirs and nothing has ended it.

    The turns that wait no more; how the question stands is added to the results.
    """
    asked = approvals.by_id(connection, answer.approval_id)
    if asked is None or asked.user_id != user_id:
        results.append(ApprovalAnswered(taken=False, stood=None))
        return ()
    late = now >= asked.until
    if approvals.settle(connection, asked, Consent.EXPIRED if late else answer.answer, now):
        results.append(ApprovalAnswered(taken=not late, stood=Consent.EXPIRED if late else answer.answer))
        return (asked.turn_id,)
    results.append(ApprovalAnswered(taken=False, stood=asked.state))
    return ()


def unparked_before(connection: Connection, reply: Reply) -> Sequence[str]:
    """The turn that an answer took out of waiting, in a commit that held and nobody heard of."""
    if not isinstance(reply.session, AnswerApproval):
        return ()
    asked = approvals.by_id(connection, reply.session.approval_id)
    return () if asked is None or asked.state is Consent.PENDING else (asked.turn_id,)
