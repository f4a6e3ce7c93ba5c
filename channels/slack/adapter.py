"""One Slack app in one workspace as a channel. `sockets` and `webhook` receive, `wire` makes calls.

No retry, splitting or pacing here: a part is sent once and ends in a receipt or one of three errors. Edits and live
answers are in `streams`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from channels.base import ChannelConnection, ChannelState, CommandSpec, Connections, HttpRoute, Reaction, Renderer, Sink
from channels.bounded_dict import BoundedDict
from channels.chat.reactions import OneReaction
from channels.chat.refusals import ApiRefusal
from channels.clocks import Clock, Sleep, steady_now, steady_s
from channels.errors import ChannelError, Permanent, PermanentKind, Retryable, Unknown
from channels.foreign import JsonObject
from channels.messages import Address, Attachment, OutboundPart, Receipt
from channels.slack.backfill import SlackGaps
from channels.slack.command_names import CommandNames
from channels.slack.config import SlackAccount
from channels.slack.cursor import ResumePoint
from channels.slack.ephemeral_replies import PRIVATE_ID, EphemeralReplies
from channels.slack.error_mapping import MISSING_SCOPE, config_refused, is_operators_matter, to_channel_error
from channels.slack.files import FILE_ID, fetch_file, send_files
from channels.slack.identity import BotIdentity, identify
from channels.slack.limits import MAX_FILE_BYTES, MRKDWN_LIMITS, SLACK_LIMITS
from channels.slack.manifest import reachable
from channels.slack.names import NameDirectory
from channels.slack.payloads import to_message, without_buttons
from channels.slack.raw import ts_of
from channels.slack.receiving import Receiver, bolt_app
from channels.slack.render import MARKDOWN, SlackRenderer
from channels.slack.reply_route import RESPONSE_URL
from channels.slack.sent_lookup import find_sent, message_at
from channels.slack.sockets import SocketMode
from channels.slack.streams import Streams, to_status
from channels.slack.translate import CHANNEL
from channels.slack.webhook import Webhook
from channels.slack.wire import SlackWire

STATUS = "is thinking…"

REACTIONS: Mapping[Reaction, str] = {
    Reaction.WORKING: "writing_hand",
    Reaction.QUEUED: "eyes",
    Reaction.STEERED: "ok_hand",
    Reaction.REFUSED: "shrug",
}
"""Names of Slack's standard emoji for our reactions."""

STATUSES_REMEMBERED = 1_000

T = TypeVar("T")


class SlackChannel:
    """One Slack app: receives by Socket Mode or HTTP, sends, edits, deletes, reacts, shows a status, moves files."""

    name = CHANNEL
    max_media_bytes = MAX_FILE_BYTES

    def __init__(
        self,
        config: SlackAccount,
        *,
        sleep: Sleep = asyncio.sleep,
        clock: Clock = steady_now,
        now_s: Callable[[], float] = steady_s,
    ) -> None:
        self.account = config.name
        self.limits = SLACK_LIMITS if config.text_format == MARKDOWN else MRKDWN_LIMITS
        self.renderer: Renderer = SlackRenderer(config.text_format)
        self._config = config
        self._wire = SlackWire(config)
        self._sleep = sleep
        self._clock = clock
        self._resume_point = ResumePoint(None)
        self._bot: BotIdentity | None = None
        self._sink: Sink | None = None
        self._reactions = OneReaction(REACTIONS, self._add_reaction, self._remove_reaction)
        self._streams = Streams(self._wire, now_s, wanted=config.live == "stream" and config.text_format == MARKDOWN)
        self._ephemeral = EphemeralReplies(self._wire)
        self._busy: BoundedDict[tuple[str, str], None] = BoundedDict(STATUSES_REMEMBERED)  # messages with a status
        self._no_status = False
        self._unix_s = now_s
        secret = config.signing_secret
        self._webhook = Webhook(config.name, secret.get_secret_value(), now_s=now_s) if secret is not None else None
        self._sockets: SocketMode | None = None

    def __repr__(self) -> str:
        return f"SlackChannel({self.account!r})"

    def name_commands(self, shown: Sequence[CommandSpec], commands: Sequence[CommandSpec]) -> None:
        own = {spec.name for spec in reachable(shown)}
        talk = next(spec.name for spec in shown if spec.talks)
        self.renderer = SlackRenderer(self._config.text_format, CommandNames(talk, own, commands))

    # ------------------------------------------------------------ receiving

    async def connections(self) -> Sequence[ChannelConnection]:
        """Return this channel: it has one connection."""
        return (self,)

    async def run(self, sink: Sink) -> None:
        """Receive until cancelled.

        Raises:
            ConfigRefused: Slack refuses a token, a scope is missing, or Socket Mode is off.
        """
        self._sink = sink
        bot = self._bot = await identify(self._config, self._wire, sink, self._sleep)
        self._resume_point = ResumePoint(await sink.cursor(), await sink.chats(), self._unix_s)
        receiver = Receiver(bot, sink, self._resume_point, NameDirectory(self._wire, bot), self._clock, self._sleep)
        gaps = SlackGaps(self._wire, receiver, self._sleep, self._config.backfill_s)
        app = bolt_app(self._wire.client, receiver, gaps)
        if self._config.mode == "socket":
            self._sockets = SocketMode(self._config, self._wire, app, receiver, gaps, sleep=self._sleep)
            try:
                await self._sockets.run()
            finally:
                self._sockets = None
        elif self._webhook is not None:
            await self._webhook.run(app, receiver, gaps, sleep=self._sleep)

    def count_connections(self) -> Connections | None:
        """Return the open Socket Mode connections; None if this process does not receive."""
        if self._sockets is None:
            return None
        wanted = self._config.sockets
        return Connections("sockets", self._sockets.open_count, wanted)

    def http_routes(self) -> Sequence[HttpRoute]:
        """Return the webhook route in HTTP mode; none in Socket Mode."""
        if self._config.mode != "http" or self._webhook is None:
            return ()
        return (HttpRoute("POST", f"/webhooks/slack/{self.account}/events", self._webhook.handle),)

    async def aclose(self) -> None:
        """Close the connections after `run` has ended."""
        await self._wire.aclose()

    # ------------------------------------------------------------ sending

    async def send(self, part: OutboundPart) -> Receipt:
        """Send one message: to the chat, or privately to the person who asked; a placeholder may be a stream.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`. A cancelled send may have happened.
        """
        if self._is_private(part):
            return await self._ephemeral.send(part, self._clock())
        if part.media:
            return await self._or_channel_error(send_files(self._wire, part))
        ts = await self._or_channel_error(self._streams.begin(part)) if part.unfinished else None
        if ts is None:
            ts = await self._post(part)
        if part.address.thread is not None:
            self._resume_point.join(part.address.chat, part.address.thread)
        return Receipt(ts)

    async def _post(self, part: OutboundPart) -> str:
        answer = await self._or_channel_error(self._wire.post("chat.postMessage", to_message(part)))
        ts = ts_of(answer.get("ts"))
        if ts is None:
            raise Unknown("chat.postMessage was answered without a ts")
        return ts

    def _is_private(self, part: OutboundPart) -> bool:
        """Return True if only the person may see it. A command in our direct messages is answered there, where answers
        can be edited.
        """
        route = part.route
        return route is not None and route.kind == RESPONSE_URL and not self._resume_point.has_direct(part.address.chat)

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        """Replace our message; succeed if it already says this.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`; TARGET_GONE if there is no such message to edit.
        """
        if not _is_ts(platform_id):
            raise Permanent("private answers and files cannot be edited", PermanentKind.TARGET_GONE)
        place = part.address.chat, platform_id
        if part.is_status and self._streams.is_open(*place):  # appended text could not be removed
            self._busy[place] = None
            await self._try_status(part.address, to_status(part.rendered.text))
            return Receipt(platform_id)
        await self._or_channel_error(self._streams.change(part, platform_id))
        if place in self._busy:
            del self._busy[place]
            await self._try_status(part.address, "")
        return Receipt(platform_id)

    async def find_sent(self, part: OutboundPart) -> Receipt | None:
        """Return the receipt of an earlier attempt, found by the key in its metadata; a stream by having no key.

        Raises:
            Retryable: Slack does not answer now.
            Unknown: only one person could see it, so no history has it.
        """
        ours = self._bot.user if self._bot is not None else ""
        if self._is_private(part):
            return await self._ephemeral.find(part, ours, self._clock())
        try:
            return await self._or_channel_error(find_sent(self._wire, part, ours, self._clock()))
        except Permanent:
            return None  # a chat we cannot read is one we cannot write to
        except ChannelError as failure:
            raise Retryable(f"it is unknown if it was sent: {failure}") from None

    async def delete(self, address: Address, message_id: str) -> None:
        """Delete our message."""
        if _is_ts(message_id):
            await self._or_channel_error(self._wire.post("chat.delete", {"channel": address.chat, "ts": message_id}))

    # ------------------------------------------------------------ status, reactions, buttons, files

    async def show_typing(self, address: Address) -> None:
        """Show a status in a thread; Slack has none elsewhere, and removes it when we answer."""
        await self._show_status(address, STATUS)

    async def _try_status(self, address: Address, words: str) -> None:
        """Show a status, "" for none; ignore a failure."""
        with suppress(ChannelError):
            await self._show_status(address, words)

    async def _show_status(self, address: Address, words: str) -> None:
        if address.thread is None or self._no_status:
            return
        body: JsonObject = {"channel_id": address.chat, "thread_ts": address.thread, "status": words}
        if words:
            body["loading_messages"] = [words]  # shown unchanged, instead of Slack's default
        try:
            await self._wire.post("assistant.threads.setStatus", body)
        except ApiRefusal as refusal:
            self._no_status = refusal.code in {MISSING_SCOPE, "unknown_method", "not_allowed_token_type"}
            raise to_channel_error(refusal) from None

    async def react(self, address: Address, message_id: str, reaction: Reaction | None) -> None:
        """Replace our reaction, or clear it."""
        if _is_ts(message_id):
            await self._or_channel_error(self._reactions.replace(address.chat, message_id, reaction))

    async def _add_reaction(self, chat: str, ts: str, name: str) -> None:
        with ignore_refusal("already_reacted"):
            await self._wire.form("reactions.add", channel=chat, timestamp=ts, name=name)

    async def _remove_reaction(self, chat: str, ts: str, name: str) -> None:
        with ignore_refusal("no_reaction"):
            await self._wire.form("reactions.remove", channel=chat, timestamp=ts, name=name)

    async def close_buttons(self, address: Address, message_id: str) -> None:
        """Remove the buttons of our message by writing its other blocks again."""
        if not _is_ts(message_id):
            return
        message = await self._or_channel_error(message_at(self._wire, address, message_id))
        body: JsonObject = {"channel": address.chat, "ts": message_id}
        await self._or_channel_error(self._wire.post("chat.update", body | without_buttons(message)))

    async def fetch(self, attachment: Attachment, max_bytes: int) -> bytes:
        """Return the content of an attachment.

        Raises:
            Permanent: it is larger than `max_bytes`, gone, or not on Slack's file host.
            Retryable: Slack does not deliver it now.
        """
        return await self._or_channel_error(fetch_file(self._wire, attachment, max_bytes))

    async def _or_channel_error(self, call: Awaitable[T]) -> T:
        """Await a call; raise a refusal as one of the three kinds of error, and report a bad token to health."""
        try:
            return await call
        except ApiRefusal as refusal:
            if self._sink is not None and is_operators_matter(refusal):
                self._sink.report(ChannelState.DEGRADED, str(config_refused(self.account, refusal)))
            raise to_channel_error(refusal) from None


@contextmanager
def ignore_refusal(code: str) -> Iterator[None]:
    """Treat a refusal with this code as success."""
    try:
        yield
    except ApiRefusal as refusal:
        if refusal.code != code:
            raise


def _is_ts(message_id: str) -> bool:
    """Return True for a message's id, False for our own id of a private answer or a file."""
    return not message_id.startswith((PRIVATE_ID, FILE_ID))
