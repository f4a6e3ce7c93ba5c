"""What an ingest is given and what it commits, without Discord, a store or a loop."""

from datetime import UTC, datetime, timedelta

from channels.discord.channel_cache import Place
from channels.discord.config import DiscordAccount
from channels.discord.cursor import Cursor, GatewaySession
from channels.discord.identity import BotIdentity
from channels.discord.ingest import Commit, Dispatch, Ingest
from channels.discord.translate import TranslationContext, snowflake_at
from channels.messages import InboundMessage

NOW = datetime(2026, 11, 20, tzinfo=UTC)
PERSON = {"id": "7", "username": "ana"}
ROOM, THREAD = "50", "51"  # a channel of a server that is known, and one that nobody told of


def snowflake(after_s: float) -> int:
    """The least id of an instant so long after `NOW`."""
    return snowflake_at(1000 * (NOW + timedelta(seconds=after_s)).timestamp())


def context() -> TranslationContext:
    """A bot that knows one channel."""
    config = DiscordAccount.model_validate({"token": "made.up.token", "wake": "always"})
    known = TranslationContext(BotIdentity("main", "99", "98"), config)
    known.channels.put(Place(ROOM, "5"))
    return known


def ingest(cursor: Cursor | None = None) -> Ingest:
    """One that goes on where a cursor stands; without one, in a session that heard something before."""
    return Ingest(context(), cursor or Cursor(GatewaySession("s", "wss://g", 1), snowflake(-60)))


def ready(session: str = "new", seq: int = 1) -> Dispatch:
    """A session is opened."""
    data = {"session_id": session, "resume_gateway_url": "wss://g", "user": {"id": "99", "username": "TenK"}}
    return Dispatch("READY", seq, data)


def said(seq: int | None, message_id: int, channel: str = ROOM) -> Dispatch:
    """Somebody says their message's id in a server."""
    data = {"id": str(message_id), "channel_id": channel, "guild_id": "5", "author": PERSON, "type": 0}
    return Dispatch("MESSAGE_CREATE", seq, data | {"content": str(message_id)})


def used(seq: int, interaction_id: int) -> Dispatch:
    """Somebody uses a command."""
    data = {"id": str(interaction_id), "type": 2, "token": "secret", "channel_id": "1", "user": PERSON}
    return Dispatch("INTERACTION_CREATE", seq, data | {"data": {"name": "stats", "type": 1}})


def ids(commit: Commit) -> list[int]:
    """The messages and interactions of a commit."""
    return [
        int(event.message_id if isinstance(event, InboundMessage) else event.event_id.removeprefix("int:"))
        for event in commit.events
    ]
