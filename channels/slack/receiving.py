"""Takes what Slack delivers, by socket or by HTTP: translated, committed, and only then acknowledged.

slack_bolt acknowledges and then handles, which would lose messages.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import structlog

from channels.base import ChannelState, Sink
from channels.chat.offering import offer_until_stored
from channels.chat.reading import read_or_reject
from channels.clocks import Clock, Sleep
from channels.messages import ButtonPressed, CommandInvoked, InboundEvent, InboundMessage, Rejected
from channels.slack.cursor import ResumePoint
from channels.slack.identity import BotIdentity
from channels.slack.names import NameDirectory, people_in, profile_in
from channels.slack.translate import TranslationContext, to_rejected, translate_event
from channels.slack.translate_interaction import translate_actions, translate_command

_log = structlog.get_logger()


class Receiver:
    """What both ways in share: who we are, how far we heard, and the sink."""

    def __init__(
        self,
        bot: BotIdentity,
        sink: Sink,
        resume_point: ResumePoint,
        names: NameDirectory,
        clock: Clock,
        sleep: Sleep,
    ) -> None:
        """`clock` gives aware UTC; between two offers of what the store refuses it sleeps, and nothing overtakes it."""
        self.bot = bot
        self.sink = sink
        self.resume_point = resume_point
        self.names = names
        self.context = TranslationContext(resume_point.threads, names.name_of)
        self._clock = clock
        self._sleep = sleep

    def translate(self, body: object) -> InboundEvent | Rejected | None:
        """What one delivery means; None when it says nothing to us."""
        if not isinstance(body, dict):
            return to_rejected(body, "a payload that is no object")
        kind = body.get("type")
        if "command" in body and kind is None:
            return translate_command(body, self.bot, self._clock(), self.names.name_of)
        if kind == "block_actions":
            return translate_actions(body, self.bot, self._clock(), self.names.name_of)
        if kind == "event_callback":
            return translate_event(body, self.bot, self.context)
        return None  # shortcuts, views, options: nothing of ours asks for them

    async def receive(self, body: object) -> None:
        """Commit what one delivery says, however long the store is away; what comes next in its chat waits for that."""
        if (profile := profile_in(body)) is not None:
            self.names.update_profile(profile)
        async with self.names.in_turn(chat_of(body), people_in(body)):
            event = read_or_reject(self.bot.account, partial(self.translate, body), partial(to_rejected, body))
            await self.hand_in([event])
        self.sink.report(ChannelState.READY)

    async def hand_in(self, translated: Sequence[InboundEvent | Rejected | None]) -> None:
        """Commit events in their order, with the resume point, however long the store is away."""
        events: list[InboundEvent] = []
        refused: list[Rejected] = []
        for event in translated:
            if isinstance(event, Rejected):
                _log.warning("event_rejected", account=self.bot.account, event_id=event.event_id, reason=event.reason)
                refused.append(event)
            elif event is not None:
                self.resume_point.note(event)
                events.append(self._in_language(event))
        if events or refused:
            await offer_until_stored(
                lambda: self.sink.receive(events, rejected=refused, cursor=self.resume_point.cursor()),
                self.sink,
                self._sleep,
            )

    def _in_language(self, event: InboundEvent) -> InboundEvent:
        """With the language of its sender's Slack, as far as it is known."""
        if not isinstance(event, InboundMessage | CommandInvoked | ButtonPressed):
            return event
        locale = self.names.locale_of(event.sender.id.rpartition(":")[2])
        return event if locale is None else replace(event, locale=locale)


def chat_of(body: object) -> str:
    """Return the chat in which a delivery keeps its order; "" if it names none."""
    if not isinstance(body, dict):
        return ""
    event = body.get("event")
    where = event.get("channel") if isinstance(event, dict) else body.get("channel_id", body.get("channel"))
    return str(where.get("id") if isinstance(where, dict) else where)
