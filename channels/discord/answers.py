"""Answers to interactions: deferred within the second, completed by an edit, remembered while this process lives.

After a restart Discord itself is asked how far an answer is. Whatever cannot be answered its own way (the token's time
is over, or it was never acknowledged) goes to the chat: callers get None.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

import structlog
from pydantic import JsonValue

from channels.discord.failures import ALREADY_ACKNOWLEDGED, UNKNOWN_MESSAGE, ApiRefusal
from channels.discord.translate_interaction import ROUTE_INTERACTION
from channels.discord.wire import DiscordWire, JsonObject
from channels.errors import ChannelError
from channels.messages import OutboundMedia, Route

DEFER_COMMAND, DEFER_PRESS = 5, 6  # callback types: "thinking", and nothing to be seen
DEADLINE_S = 3.0  # for the callback; later Discord has given up
MOST_KNOWN = 2_000
ORIGINAL = "/webhooks/{webhook_id}/{webhook_token}/messages/@original"
_LOADING = 1 << 7

log = structlog.get_logger()


@dataclass(slots=True)
class _Answer:
    """How far the answer to one interaction is."""

    tried: asyncio.Event = field(default_factory=asyncio.Event)  # set when the callback was answered, or given up
    deferred: bool = False
    first_key: str | None = None  # the part that completes it


class Answers:
    """The interactions of one bot."""

    def __init__(self, wire: DiscordWire) -> None:
        self._wire = wire
        self._known: OrderedDict[str, _Answer] = OrderedDict()

    def expect(self, route: Route) -> None:
        """An interaction is about to be committed: an answer that comes at once waits for its deferral."""
        self._known[route.token] = _Answer()
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)

    async def defer(self, route: Route) -> None:
        """Tell Discord that an answer comes; a failure only means that it goes to the chat."""
        answer = self._known.get(route.token, _Answer())
        interaction, _, token = route.token.partition("/")
        kind = DEFER_COMMAND if route.kind == ROUTE_INTERACTION else DEFER_PRESS
        path = "/interactions/{interaction_id}/{token}/callback"
        try:
            await self._wire.call(
                "POST", path, {"type": kind}, timeout_s=DEADLINE_S, at={"interaction_id": interaction, "token": token}
            )
            answer.deferred = True
        except ApiRefusal as refusal:
            answer.deferred = refusal.code == ALREADY_ACKNOWLEDGED  # a repeated call, or one that was replayed
            if not answer.deferred:
                log.warning("interaction_not_deferred", interaction=interaction, detail=str(refusal))
        except ChannelError as error:
            log.warning("interaction_not_deferred", interaction=interaction, detail=str(error))
        finally:
            answer.tried.set()

    async def complete(self, route: Route, key: str, body: JsonObject, media: tuple[OutboundMedia, ...]) -> str | None:
        """Let the part `key` be the answer; its message id, or None where it has to go to the chat.

        Raises:
            ApiRefusal: it was refused for another reason than the interaction.
            Retryable, Unknown: see `channels.errors`.
        """
        if route.kind != ROUTE_INTERACTION:
            return None
        answer = await self._standing(route, str(body.get("content") or ""), key)
        if answer is None or answer.first_key not in (None, key):
            return None
        application, token = await self._webhook(route)
        try:
            sent = await self._wire.call(
                "PATCH", ORIGINAL, body, media=media, at={"webhook_id": application, "webhook_token": token}
            )
        except ApiRefusal as refusal:
            if refusal.route_gone or refusal.code == UNKNOWN_MESSAGE:
                return None
            raise
        answer.first_key = key
        return _id_of(sent)

    async def follow_up(self, route: Route, body: JsonObject, media: tuple[OutboundMedia, ...]) -> str | None:
        """Say more by the interaction's own way: the only one where the bot may not write. It has no nonce."""
        application, token = await self._webhook(route)
        path = "/webhooks/{webhook_id}/{webhook_token}"
        sent = await self._wire.call(
            "POST",
            path,
            body,
            media=media,
            query={"wait": "true"},
            at={"webhook_id": application, "webhook_token": token},
        )
        return _id_of(sent)

    async def edit(self, route: Route, message_id: str, body: JsonObject) -> None:
        """Change what was said by the interaction's own way."""
        application, token = await self._webhook(route)
        path = "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"
        await self._wire.call(
            "PATCH", path, body, at={"webhook_id": application, "webhook_token": token, "message_id": message_id}
        )

    async def said(self, route: Route, text: str) -> str | None:
        """The message that answers this interaction, if it says this."""
        original = await self._original(route)
        if original is None or str(original.get("content") or "").strip() != text.strip():
            return None
        return _id_of(original)

    async def _standing(self, route: Route, text: str, key: str) -> _Answer | None:
        """How far the answer is; None where this way is closed."""
        answer = self._known.get(route.token)
        if answer is not None:
            try:
                async with asyncio.timeout(DEADLINE_S):
                    await answer.tried.wait()
            except TimeoutError:
                return None
            return answer if answer.deferred else None
        original = await self._original(route)
        if original is None:
            return None
        flags = original.get("flags")
        answer = _Answer(deferred=True)
        answer.tried.set()
        if not (isinstance(flags, int) and flags & _LOADING):  # answered before the restart: by this part, or another
            same = str(original.get("content") or "").strip() == text.strip()
            answer.first_key = key if same else "another"
        self._known[route.token] = answer
        return answer

    async def _original(self, route: Route) -> JsonObject | None:
        application, token = await self._webhook(route)
        try:
            found = await self._wire.call("GET", ORIGINAL, at={"webhook_id": application, "webhook_token": token})
        except ApiRefusal as refusal:
            if refusal.route_gone or refusal.status in (401, 403, 404):
                return None
            raise
        return found if isinstance(found, dict) else None

    async def _webhook(self, route: Route) -> tuple[str, str]:
        us = await self._wire.introduce()
        return us.application_id, route.token.partition("/")[2]


def _id_of(message: JsonValue) -> str | None:
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, str) else None
