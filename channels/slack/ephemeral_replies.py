"""Private answers: by the command's response URL, then in direct messages, then as an ephemeral message in the chat.

A private answer is never shown to the whole chat. A direct message carries its key and can be looked up; the other two
are in no history.
"""

from dataclasses import replace
from datetime import datetime

from channels.chat.refusals import ApiRefusal
from channels.errors import ChannelError, Permanent, PermanentKind, Retryable, Unknown
from channels.foreign import JsonObject
from channels.messages import OutboundPart, Receipt
from channels.slack.error_mapping import MISSING_SCOPE, to_channel_error
from channels.slack.files import send_files
from channels.slack.payloads import client_msg_id, content, to_message
from channels.slack.reply_route import ReplyRoute
from channels.slack.sent_lookup import find_sent
from channels.slack.wire import SlackWire

PRIVATE_ID = "route:"  # prefix of the ids of private answers, which can be neither edited nor deleted


class EphemeralReplies:
    """The private answers of one app."""

    def __init__(self, wire: SlackWire) -> None:
        self._wire = wire

    async def send(self, part: OutboundPart, now: datetime) -> Receipt:
        """Send one part; a placeholder is not shown, since it could never be edited.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`; no other person was shown it.
        """
        receipt = Receipt(PRIVATE_ID + client_msg_id(part.idem_key))
        route = _reply_route(part)
        if part.unfinished:
            return receipt
        if not part.media and route.is_valid(now) and await self._wire.respond(route.url, _ephemeral(part)):
            return receipt
        try:
            await self._send_directly(part, route)
        except ApiRefusal as refusal:
            await self._post_ephemeral(part, route, refusal)
        return receipt

    async def _send_directly(self, part: OutboundPart, route: ReplyRoute) -> None:
        direct = await self._to_direct(part, route)
        if direct.media:
            await send_files(self._wire, direct)
        else:
            await self._wire.post("chat.postMessage", to_message(direct))

    async def _to_direct(self, part: OutboundPart, route: ReplyRoute) -> OutboundPart:
        """Return the part addressed to the person's direct messages, which Slack opens if needed."""
        answer = await self._wire.post("conversations.open", {"users": route.person})
        channel = answer.get("channel")
        chat = channel.get("id") if isinstance(channel, dict) else None
        if not isinstance(chat, str):
            raise Retryable("conversations.open was answered without a channel")
        return replace(part, address=replace(part.address, chat=chat, thread=None), reply_to=None)

    async def _post_ephemeral(self, part: OutboundPart, route: ReplyRoute, closed: ApiRefusal) -> None:
        """Send it as an ephemeral message where the person asked; `closed` is the refusal of their direct messages."""
        failure = to_channel_error(closed)
        if isinstance(failure, Unknown) or (isinstance(failure, Retryable) and closed.code != MISSING_SCOPE):
            raise failure
        if isinstance(failure, Permanent) and failure.kind is PermanentKind.MALFORMED:
            raise failure
        if part.media:
            raise _unreachable(closed)
        body: JsonObject = {"channel": part.address.chat, "user": route.person}
        if part.address.thread is not None:
            body["thread_ts"] = part.address.thread
        try:
            await self._wire.post("chat.postEphemeral", body | content(part.rendered, part.buttons))
        except ApiRefusal as refusal:
            again = to_channel_error(refusal)
            raise (_unreachable(closed) if isinstance(again, Permanent) else again) from None

    async def find(self, part: OutboundPart, bot_user: str, now: datetime) -> Receipt | None:
        """Return the receipt of an earlier attempt; None if it did not arrive. `bot_user` is our bot's user id.

        Raises:
            Retryable: Slack does not answer now.
            Unknown: it may have been sent, but only the person can see it.
        """
        found = None
        try:
            found = await find_sent(self._wire, await self._to_direct(part, _reply_route(part)), bot_user, now)
        except ApiRefusal as refusal:
            if isinstance(to_channel_error(refusal), Retryable) and refusal.code != MISSING_SCOPE:
                raise Retryable(str(refusal)) from None
        except ChannelError as failure:
            raise Retryable(f"it is unknown if it was sent: {failure}") from None
        if found is not None:
            return Receipt(PRIVATE_ID + client_msg_id(part.idem_key))
        if part.media:
            return None  # files are sent only to direct messages
        raise Unknown("a private answer cannot be looked up")


def _reply_route(part: OutboundPart) -> ReplyRoute:
    assert part.route is not None, "called for private parts only"
    return ReplyRoute.of(part.route)


def _ephemeral(part: OutboundPart) -> JsonObject:
    body: JsonObject = {"response_type": "ephemeral", "replace_original": False}
    return body | content(part.rendered, part.buttons)


def _unreachable(closed: ApiRefusal) -> Permanent:
    """Return the error for an unreachable person, which does not block the chat in which they asked."""
    return Permanent(f"only one person may see it, and they cannot be written to directly: {to_channel_error(closed)}")
