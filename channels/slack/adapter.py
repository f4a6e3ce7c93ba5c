"""`SlackChannel`: one app in one workspace as a channel. Ways in are `sockets` and `webhook`, calls are in `wire`.

No retry, no splitting and no pacing live here; a call is made once and ends in a receipt or one of three errors.
Streams (chat.startStream) are not used: they take no key and no metadata, so a stream that was begun when the process
died could be neither found nor told from a new one, and an answer would be said twice.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

import structlog

from channels.base import ChannelState, HttpRoute, Renderer, Sign, Sink
from channels.errors import ChannelError, ConfigRefused, Permanent, PermanentKind, Retryable, Unknown
from channels.messages import Address, Attachment, OutboundPart, Receipt
from channels.slack.backfill import Backfill
from channels.slack.blocks import client_msg_id, content, sending
from channels.slack.config import SlackAccount
from channels.slack.failures import BAD_TOKEN, MISSING_SCOPE, ApiRefusal, config_refused, refused
from channels.slack.files import fetch_file, send_files
from channels.slack.interactions import RESPONSE_URL
from channels.slack.introduction import introduce
from channels.slack.limits import MAX_FILE_BYTES, MRKDWN_LIMITS, SLACK_LIMITS
from channels.slack.places import Places
from channels.slack.receiving import Clock, Pause, Receiver, bolt_app
from channels.slack.render import MARKDOWN, SlackRenderer
from channels.slack.sent import find_sent
from channels.slack.sockets import SocketMode
from channels.slack.translate import CHANNEL
from channels.slack.webhook import Webhook
from channels.slack.wire import JsonObject, SlackWire

REACTIONS: Mapping[Sign, str] = {
    Sign.WORKING: "writing_hand",
    Sign.QUEUED: "eyes",
    Sign.STEERED: "ok_hand",
    Sign.REFUSED: "shrug",
}
"""Our signs as names of Slack's standard emoji."""

STATUS = "is thinking…"
ROUTED = "route:"  # begins the ids of what went by a response URL: it can be neither edited nor deleted
REACTIONS_REMEMBERED = 1_000
PLACEHOLDER = "…"

_log = structlog.get_logger()


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SlackChannel:
    """One Slack app: receives by Socket Mode or HTTP, sends, edits, deletes, reacts, shows a status, moves files."""

    name = CHANNEL
    max_media_bytes = MAX_FILE_BYTES

    def __init__(
        self,
        config: SlackAccount,
        *,
        pause: Pause = asyncio.sleep,
        clock: Clock = _utc_now,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        """Nothing is connected yet. `pause`, `clock` and `now_s` (Unix time) are for tests."""
        self.account = config.name
        self.limits = SLACK_LIMITS if config.text_format == MARKDOWN else MRKDWN_LIMITS
        self.renderer: Renderer = SlackRenderer(config.text_format)
        self._config = config
        self._wire = SlackWire(config)
        self._pause = pause
        self._clock = clock
        self._places = Places(None)
        self._reacted: dict[tuple[str, str], str] = {}
        self._no_status = False
        secret = config.signing_secret
        self._webhook = Webhook(config.name, secret.get_secret_value(), now_s=now_s) if secret is not None else None

    def __repr__(self) -> str:
        return f"SlackChannel({self.account!r})"

    # ------------------------------------------------------------ receiving

    async def run(self, sink: Sink) -> None:
        """Receive until cancelled.

        Raises:
            ConfigRefused: Slack refuses a token, a scope is missing, or Socket Mode is off.
        """
        sink.report(ChannelState.STARTING)
        us = await introduce(self._config, self._wire, sink, self._pause)
        self._places = Places(await sink.cursor())
        receiver = Receiver(us, sink, self._places, self._clock)
        app = bolt_app(self._wire.client, receiver)
        backfill = Backfill(self._wire, receiver, self._pause)
        if self._config.mode == "socket":
            after_gap = backfill.run
            await SocketMode(
                self._config, self._wire, app, receiver, pause=self._pause, after_gap=after_gap
            ).run()
        elif self._webhook is not None:
            await self._serve(self._webhook, app, backfill, sink)

    async def _serve(self, webhook: Webhook, app: "AsyncApp", backfill: Backfill, sink: Sink) -> None:
        """Be there for what Slack posts, until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                catching_up = tasks.create_task(backfill.run())
                await asyncio.wait([catching_up], timeout=self._config.backfill_s)
                webhook.app = app
                sink.report(ChannelState.READY)
                await asyncio.Event().wait()
        finally:
            webhook.app = None

    def http_routes(self) -> Sequence[HttpRoute]:
        """One path, in HTTP mode; none in Socket Mode."""
        if self._config.mode != "http" or self._webhook is None:
            return ()
        return (HttpRoute("POST", f"/webhooks/slack/{self.account}/events", self._webhook.handle),)

    async def aclose(self) -> None:
        """Close the connections; `run` has ended before."""
        await self._wire.aclose()
