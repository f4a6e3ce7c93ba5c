"""Settings of one Discord bot, validated without importing an SDK."""

import re
from enum import StrEnum
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from channels.chat.account import PlatformAccount, check_base_url

OFFICIAL_API = "https://discord.com/api/v10"
MOST_SHARDS = 16_384
PORTAL = "https://discord.com/developers/applications"


class Wake(StrEnum):
    """The messages in a server's channel that are meant for the bot."""

    MENTION = "mention"  # a mention of the bot or a reply to it
    ALWAYS = "always"  # everything
    OFF = "off"  # nothing: the channel is not read


class DiscordAccount(PlatformAccount):
    """One bot account. Validation errors never show the token."""

    token: SecretStr  # from the developer portal, page Bot
    api_base: str = OFFICIAL_API  # REST; the gateway's own address is asked for there
    wake: Wake = Wake.MENTION  # in every channel of a server that the next three do not name
    always_in: frozenset[str] = frozenset()  # ids of channels, forums or threads in which all messages are for the bot
    mention_in: frozenset[str] = frozenset()  # in which only mentions and replies are
    off_in: frozenset[str] = frozenset()  # which are not read
    shards: int | Literal["auto"] = 1  # connections to the gateway; "auto": as many as Discord recommends
    message_content: bool = True  # ask for the privileged Message Content intent
    backfill_hours: float = Field(default=24.0, gt=0)  # older messages are not fetched after a gap
    backfill_messages: int = Field(default=2_000, ge=1)  # most of one channel after one gap
    call_timeout_s: float = Field(default=30.0, gt=0)  # any call, waiting for a rate limit included
    connect_timeout_s: float = Field(default=20.0, gt=0)  # until the gateway has said hello

    @field_validator("token")
    @classmethod
    def _token_shape(cls, token: SecretStr) -> SecretStr:
        text = token.get_secret_value()
        if not re.fullmatch(r"[\x21-\x7e]{3,}", text) or text.startswith("Bot"):
            raise ValueError(f"is not a bot token; {PORTAL} shows it on the page Bot, without the word Bot before it")
        return token

    @field_validator("shards", mode="before")
    @classmethod
    def _shards_shape(cls, shards: object) -> object:
        if shards != "auto" and (type(shards) is not int or not 1 <= shards <= MOST_SHARDS):
            raise ValueError(
                f'must be "auto", or 1 to {MOST_SHARDS}: connections that share the servers the bot is in; Discord'
                " wants one for each 2,500 of them at least"
            )
        return shards

    @field_validator("api_base")
    @classmethod
    def _base_shape(cls, base: str) -> str:
        base = check_base_url(base, OFFICIAL_API)
        if re.search(r"/v\d+$", base):
            return base
        return f"{base}/v10" if base.endswith("/api") else f"{base}/api/v10"

    @field_validator("always_in", "mention_in", "off_in")
    @classmethod
    def _channel_ids(cls, channels: frozenset[str]) -> frozenset[str]:
        if not all(name.isascii() and name.isdigit() for name in channels):
            raise ValueError("holds channels by their ids (digits): in Discord, right click a channel, Copy Channel ID")
        return channels

    @property
    def official(self) -> bool:
        """Return True for Discord itself, False for another server."""
        return (urlsplit(self.api_base).hostname or "").endswith("discord.com")

    def wake_in(self, channel: str, parent: str | None) -> Wake:
        """Return the wake setting for a channel (or a thread of `parent`)."""
        for name in (channel, parent):
            if name in self.off_in:
                return Wake.OFF
            if name in self.always_in:
                return Wake.ALWAYS
            if name in self.mention_in:
                return Wake.MENTION
        return self.wake
