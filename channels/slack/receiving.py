"""Handling of Slack's deliveries, by socket or HTTP: translate, commit, and only then acknowledge.

It is the first middleware of a bolt app: bolt acknowledges a delivery if the middleware returns, and not if it raises.
No listener of bolt's ever runs, since bolt would acknowledge before handling and lose messages.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

import structlog
from pydantic import JsonValue
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

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
from channels.slack.wire import quiet_logger

_log = structlog.get_logger()


class Receiver:
    """State shared by Socket Mode and HTTP: identity, resume point, names and sink."""

    def __init__(
        self,
        bot: BotIdentity,
        sink: Sink,
        resume_point: ResumePoint,
        names: NameDirectory,
        clock: Clock,
        sleep: Sleep,
    ) -> None:
        """Take a clock that gives aware UTC; `sleep` waits between two offers to a store that refuses."""
        self.bot = bot
        self.sink = sink
        self.resume_point = resume_point
        self.names = names
        self.context = TranslationContext(resume_point.threads, names.name_of)
        self._clock = clock
        self._sleep = sleep

    def translate(self, body: object) -> InboundEvent | Rejected | None:
        """Return the event in one delivery, or None if it is irrelevant."""
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
        """Commit one delivery, retrying while the store is unavailable; later ones of its chat wait for that."""
        if (profile := profile_in(body)) is not None:
            self.names.update_profile(profile)
        async with self.names.in_order(chat_of(body), people_in(body)):
            event = read_or_reject(self.bot.account, partial(self.translate, body), partial(to_rejected, body))
            await self.hand_in([event])
        self.sink.report(ChannelState.READY)

    async def hand_in(self, translated: Sequence[InboundEvent | Rejected | None]) -> None:
        """Commit events in order, with the resume point, retrying while the store is unavailable."""
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
        """Return the event with the language of its sender's Slack, if known."""
        if not isinstance(event, InboundMessage | CommandInvoked | ButtonPressed):
            return event
        locale = self.names.locale_of(event.sender.id.rpartition(":")[2])
        return event if locale is None else replace(event, locale=locale)


class DeliveryOrder(Protocol):
    """Port that delays a delivery until older messages are committed (`channels.slack.backfill.SlackGaps`)."""

    async def wait_for_older(self, body: Mapping[str, object]) -> None:
        """Return when the delivery may be committed."""
        ...


def chat_of(body: object) -> str:
    """Return the chat in which a delivery keeps its order; "" if it names none."""
    if not isinstance(body, dict):
        return ""
    event = body.get("event")
    where = event.get("channel") if isinstance(event, dict) else body.get("channel_id", body.get("channel"))
    return str(where.get("id") if isinstance(where, dict) else where)


class PersistBeforeAck(AsyncMiddleware):
    """The one middleware: a return is acknowledged, an exception is not."""

    def __init__(self, receiver: Receiver, order: DeliveryOrder) -> None:
        self._receiver = receiver
        self._order = order

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Callable[[], Awaitable[BoltResponse]],  # noqa: A002  bolt passes it by this name
    ) -> BoltResponse:
        """Commit the delivery, and call no further middleware."""
        body = req.body
        if body.get("type") == "url_verification":
            return BoltResponse(status=200, body={"challenge": str(body.get("challenge", ""))})
        if body.get("ssl_check") != "1":
            await self._order.wait_for_older(body)
            await self._receiver.receive(body)
        return BoltResponse(status=200, body="")


def bolt_app(client: AsyncWebClient, receiver: Receiver, order: DeliveryOrder) -> AsyncApp:
    """Return a bolt app that persists before it acknowledges; its requests are verified before."""
    app = AsyncApp(
        name="tenk",  # else bolt walks the stack for one
        client=client,
        before_authorize=PersistBeforeAck(receiver, order),
        request_verification_enabled=False,  # `webhook` does, over the raw bytes
        logger=quiet_logger(),
    )

    async def not_taken(error: Exception) -> BoltResponse:
        _log.error("event_broken", account=receiver.bot.account, exc_info=error)
        return BoltResponse(status=500)

    app.error(not_taken)
    return app


async def dispatch(app: AsyncApp, body: dict[str, JsonValue]) -> BoltResponse:
    """Return bolt's answer to a parsed body."""
    return await app.async_dispatch(AsyncBoltRequest(body=body, mode="socket_mode"))
