"""One Discord bot account as a channel. `consumer` receives, `wire` makes calls.

No retry, splitting or pacing here: a call is made once and ends in a receipt or one of three errors.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from pydantic import JsonValue

from channels.base import ChannelConnection, Connections, Menus, Reaction, Renderer
from channels.chat.reactions import OneReaction
from channels.chat.refusals import ApiRefusal
from channels.clocks import Clock, Sleep, steady_now
from channels.discord.config import DiscordAccount
from channels.discord.ephemeral_replies import EphemeralReplies, PrivateSendUnknown, is_ephemeral, is_private
from channels.discord.error_mapping import CLOSE_WORDS, NO_ACCESS, as_channel_errors
from channels.discord.files import fetch_file
from channels.discord.interaction_replies import InteractionReplies
from channels.discord.limits import DISCORD_LIMITS, MAX_MEDIA_BYTES
from channels.discord.payloads import (
    body_of,
    commands_of,
    id_of,
    message_of,
    safe_media,
    same_commands,
    shared_names,
    target_of,
)
from channels.discord.receiving import ShardConnection
from channels.discord.render import DiscordRenderer
from channels.discord.reply_route import ReplyRoute
from channels.discord.sent_lookup import Echoes, SentLookup
from channels.discord.sharding import SessionStarts, Shard, lay_out
from channels.discord.translate import CHANNEL
from channels.discord.wire import MESSAGE, MESSAGES, NO_PARAMETERS, DiscordWire
from channels.errors import ConfigRefused, Retryable, Unknown
from channels.foreign import JsonObject
from channels.messages import Address, Attachment, OutboundPart, Receipt

REACTIONS: Mapping[Reaction, str] = {
    Reaction.WORKING: "✍️",
    Reaction.QUEUED: "👀",
    Reaction.STEERED: "👌",
    Reaction.REFUSED: "🤷",
}

_REACTION = MESSAGE + "/reactions/{emoji}/@me"


class DiscordChannel:
    """One Discord bot: receives from the gateway, answers chats and interactions, with everything Discord offers."""

    name = CHANNEL
    limits = DISCORD_LIMITS
    max_media_bytes = MAX_MEDIA_BYTES

    def __init__(self, config: DiscordAccount, *, sleep: Sleep = asyncio.sleep, clock: Clock = steady_now) -> None:
        self.account = config.name
        self.renderer: Renderer = DiscordRenderer()
        self._config = config
        self._wire = DiscordWire(config)
        self._replies = InteractionReplies(self._wire)
        self._echoes = Echoes()
        self._sent_lookup = SentLookup(self._wire, self._replies, self._echoes)
        self._ephemeral = EphemeralReplies(self._wire, self._replies, self._echoes)
        self._reactions = OneReaction(REACTIONS, self._add_reaction, self._remove_reaction)
        self._sleep = sleep
        self._clock = clock
        self._starts = SessionStarts()
        self._shards: list[ShardConnection] = []
        self.shared_commands: frozenset[str] = frozenset()  # with a public answer in a server; from the menus

    def __repr__(self) -> str:
        return f"DiscordChannel({self.account!r})"

    # ------------------------------------------------------------ in

    async def connections(self) -> Sequence[ChannelConnection]:
        """Return a connection for each shard; with `shards = "auto"` ask Discord how many it recommends.

        Raises:
            ConfigRefused: Discord refuses the token.
            Retryable, Unknown: Discord did not answer.
        """
        count = self._config.shards
        if count == "auto":
            try:
                count = (await self._wire.gateway()).shards
            except ApiRefusal:
                raise ConfigRefused(CLOSE_WORDS[4004].format(account=self.account)) from None
        self._shards = [
            ShardConnection(
                Shard(number, count),
                self._wire,
                self._replies,
                self._echoes,
                self._starts,
                self.shared_commands.__contains__,
                sleep=self._sleep,
                clock=self._clock,
            )
            for number in range(count)
        ]
        return self._shards

    def lay_out(self, cursors: Mapping[int, str], count: int) -> Mapping[int, str | None]:
        """Return which resume points change if there are now `count` shards."""
        return lay_out(cursors, count)

    def count_connections(self) -> Connections | None:
        """Return how many shards have a session."""
        running = [shard for shard in self._shards if shard.is_running]
        return Connections("shards", sum(shard.is_open for shard in running), len(running)) if running else None

    async def aclose(self) -> None:
        """Close the connections after `run` has ended."""
        await self._wire.aclose()

    async def fetch(self, attachment: Attachment, max_bytes: int) -> bytes:
        """Return the content of an attachment.

        Raises:
            Permanent: it is larger than `max_bytes`, or gone.
            Retryable: Discord does not deliver it now.
        """
        with as_channel_errors():
            return await fetch_file(self._wire, attachment, max_bytes)

    # ------------------------------------------------------------ out

    async def send(self, part: OutboundPart) -> Receipt:
        """Send one part: complete its interaction if that is still open, else post to the chat.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`. A cancelled send may have happened.
        """
        part = replace(part, media=safe_media(part.media))
        now = self._clock()
        if is_private(part.route):
            return Receipt(await self._ephemeral.send(part, now))
        with as_channel_errors():
            return Receipt(await self._send(part, now))

    async def _send(self, part: OutboundPart, now: datetime) -> str:
        """Complete the interaction, else post a message; send a follow-up if the bot may not write in the channel."""
        if part.route is not None and part.route.expires_at > now:
            reply_route = ReplyRoute.of(part.route)
            completed = await self._replies.complete(reply_route, part.idem_key, body_of(part), part.media)
            if completed is not None:
                return completed
        try:
            sent = await self._wire.call(
                "POST", MESSAGES, message_of(part), media=part.media, at={"channel_id": target_of(part.address)}
            )
        except ApiRefusal as refusal:
            if part.route is None or refusal.code not in NO_ACCESS:
                raise
            return _sure(await self._replies.follow_up(ReplyRoute.of(part.route), body_of(part), part.media))
        return _sure(id_of(sent))

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        """Replace the text of our message; repeating the call changes nothing.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`; TARGET_GONE if the message was deleted.
        """
        body = body_of(replace(part, media=()))
        if not part.unfinished:
            body.setdefault("components", [])  # a finished message has only the part's buttons
        if is_ephemeral(platform_id):
            await self._ephemeral.change(platform_id, body, self._clock(), part.route)
            return Receipt(platform_id)
        at = {"channel_id": target_of(part.address), "message_id": platform_id}
        with as_channel_errors():
            try:
                await self._wire.call("PATCH", MESSAGE, body, at=at)
            except ApiRefusal as refusal:
                if part.route is None or refusal.code not in NO_ACCESS:
                    raise
                await self._replies.edit(ReplyRoute.of(part.route), platform_id, body)
        return Receipt(platform_id)

    async def find_sent(self, part: OutboundPart) -> Receipt | None:
        """Return the receipt of an earlier attempt, or None if none is found (see `sent_lookup`).

        Raises:
            Permanent: the chat is out of reach.
            Retryable: Discord does not answer now.
            Unknown: only one person could see the message, so it can never be looked up.
        """
        finding = self._ephemeral if is_private(part.route) else self._sent_lookup
        try:
            with as_channel_errors():
                found = await finding.find(part, self._clock())
        except PrivateSendUnknown:
            raise
        except Unknown as unanswered:
            raise Retryable(unanswered.reason) from None
        return None if found is None else Receipt(found)

    # ------------------------------------------------------------ typing, reactions, buttons

    async def show_typing(self, address: Address) -> None:
        """Show "typing" for 10 s."""
        await self._call("POST", "/channels/{channel_id}/typing", at={"channel_id": target_of(address)})

    async def react(self, address: Address, message_id: str, reaction: Reaction | None) -> None:
        """Replace our reaction, or clear it."""
        await self._reactions.replace(target_of(address), message_id, reaction)

    async def _add_reaction(self, channel: str, message_id: str, emoji: str) -> None:
        await self._call("PUT", _REACTION, at={"channel_id": channel, "message_id": message_id, "emoji": emoji})

    async def _remove_reaction(self, channel: str, message_id: str, emoji: str) -> None:
        await self._call("DELETE", _REACTION, at={"channel_id": channel, "message_id": message_id, "emoji": emoji})

    async def delete(self, address: Address, message_id: str) -> None:
        """Delete a message; another author's only if the bot may manage messages."""
        if is_ephemeral(message_id):
            await self._ephemeral.change(message_id, None, self._clock())
            return
        await self._call("DELETE", MESSAGE, at={"channel_id": target_of(address), "message_id": message_id})

    async def close_buttons(self, address: Address, message_id: str) -> None:
        """Remove the buttons of our message."""
        body: JsonObject = {"components": []}
        if is_ephemeral(message_id):
            await self._ephemeral.change(message_id, body, self._clock())
            return
        await self._call("PATCH", MESSAGE, body, at={"channel_id": target_of(address), "message_id": message_id})

    async def set_commands(self, menus: Menus) -> None:
        """Set the application commands with options and languages; write nothing if they are already set."""
        self.shared_commands = shared_names(menus)
        with as_channel_errors():
            bot = await self._wire.identify()
        path = "/applications/{application_id}/commands"
        wanted = commands_of(menus)
        there = await self._call(
            "GET", path, query={"with_localizations": "true"}, at={"application_id": bot.application_id}
        )
        if not same_commands(there, wanted):
            listing: list[JsonValue] = list(wanted)
            await self._call("PUT", path, listing, at={"application_id": bot.application_id})

    async def _call(
        self,
        verb: str,
        path: str,
        body: JsonObject | list[JsonValue] | None = None,
        *,
        at: Mapping[str, str],
        query: Mapping[str, str] = NO_PARAMETERS,
    ) -> JsonValue:
        with as_channel_errors():
            return await self._wire.call(verb, path, body, at=at, query=query)


def _sure(message_id: str | None) -> str:
    if message_id is None:
        raise Unknown("the call was answered without a message")
    return message_id
