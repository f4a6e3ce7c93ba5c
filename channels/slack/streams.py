"""Changes of our messages: live answers as Slack's streams if possible, else edits of the whole message.

A stream's shown text is known in memory alone. If it is uncertain (a restart, an unanswered piece, changed text), the
stream is closed and written again as a whole, which may be repeated safely. Decision 0017 has the reasons.
"""

import re
from collections.abc import Callable

from channels.bounded_dict import BoundedDict
from channels.chat.refusals import ApiRefusal
from channels.errors import ChannelError, Permanent, Retryable, Unknown
from channels.foreign import LONGEST_WAIT_S, JsonObject
from channels.messages import GOES_ON, OutboundPart
from channels.slack.error_mapping import STREAMING, to_channel_error
from channels.slack.payloads import actions, content, key_metadata
from channels.slack.raw import ts_of
from channels.slack.render import MARKDOWN
from channels.slack.wire import SlackWire

REMEMBERED = 300  # streams and chats
PAUSE_S = 60.0  # without streams after a refusal without Retry-After

_ENDED = frozenset({"message_not_in_streaming_state", "stopped_by_user"})
"""Codes for a stream that accepts no more: Slack ends each after about five minutes, active or not
(github.com/slackapi/python-slack-sdk/issues/1859 and slackapi/node-slack-sdk/issues/2702, read 2026-11).
"""

_UNSUPPORTED = frozenset(
    {"unknown_method", "feature_not_enabled", "method_deprecated", "deprecated_endpoint", "invalid_stream_arguments"}
)
_UNSUPPORTED_CHATS = frozenset({"channel_type_not_supported", "method_not_supported_for_channel_type"})

Place = tuple[str, str]  # a message: its chat and its ts


class Streams:
    """The open streams of one app, and the edits of its messages."""

    def __init__(self, wire: SlackWire, now_s: Callable[[], float], *, wanted: bool) -> None:
        """Take whether live answers are streamed."""
        self._wire = wire
        self._now_s = now_s
        self._wanted = wanted
        self._shown: BoundedDict[Place, str] = BoundedDict(REMEMBERED)  # text appended to open streams, if certain
        self._refusing: BoundedDict[str, None] = BoundedDict(REMEMBERED)  # chats
        self._paused_until_s = float("-inf")

    async def begin(self, part: OutboundPart) -> str | None:
        """Start a stream as an answer's placeholder; return its ts, or None if an ordinary message is needed.

        Raises:
            Retryable, Unknown: see `SlackWire`; a refusal returns None, since nothing was sent.
        """
        team, _, user = (part.recipient or "").partition(":")
        if part.address.thread is None or not user.startswith(("U", "W")) or not self._may_stream(part.address.chat):
            return None
        body: JsonObject = {
            "channel": part.address.chat,
            "thread_ts": part.address.thread,
            "recipient_team_id": team,
            "recipient_user_id": user,
        }
        try:
            answer = await self._wire.post("chat.startStream", body)
        except ApiRefusal as refusal:
            if isinstance(meaning := to_channel_error(refusal), Unknown):
                raise
            self._note(meaning, refusal.code, part.address.chat)
            return None
        ts = ts_of(answer.get("ts"))
        if ts is None:
            raise Unknown("chat.startStream was answered without a ts")
        self._shown[part.address.chat, ts] = ""
        return ts

    def is_open(self, chat: str, ts: str) -> bool:
        """Return True if this message is known to be an open stream."""
        return (chat, ts) in self._shown

    async def change(self, part: OutboundPart, ts: str) -> None:
        """Replace our message's text; repeating the call changes nothing.

        Raises:
            ApiRefusal, Retryable, Unknown: see `SlackWire`.
        """
        place = part.address.chat, ts
        shown = self._shown.pop(place, None)  # stored again only when certain: a call may be cut at any time
        is_open = shown is not None
        if shown is not None and part.rendered.markup == MARKDOWN:
            try:
                if await self._append(part, place, shown):
                    return
            except ApiRefusal as refusal:
                meaning = to_channel_error(refusal)
                if isinstance(meaning, Retryable):
                    self._shown[place] = shown
                if not isinstance(meaning, Permanent):
                    raise
                is_open = refusal.code not in _ENDED
        await self._rewrite(part, ts, is_open=is_open)

    async def _append(self, part: OutboundPart, place: Place, shown: str) -> bool:
        """Append to a stream, or end it; return False if appending cannot produce the part's text."""
        whole = text_after(part.rendered.text, shown)
        if whole is None:
            return False
        text = stable_prefix(part.rendered.text) if part.unfinished else part.rendered.text
        more = text[len(shown) :]
        if has_link(more):
            return False  # previews cannot be turned off in a stream, and could carry data out
        body: JsonObject = {"channel": place[0], "ts": place[1]}
        if more:
            body["markdown_text"] = more
        if not part.unfinished:
            body["metadata"] = key_metadata(part)
            if part.buttons:
                body["blocks"] = [actions(part.buttons)]
            await self._wire.post("chat.stopStream", body)
            return True
        if more:
            await self._wire.post("chat.appendStream", body)
        self._shown[place] = shown + more
        return True

    async def _rewrite(self, part: OutboundPart, ts: str, *, is_open: bool) -> None:
        body: JsonObject = {"channel": part.address.chat, "ts": ts, **content(part.rendered, part.buttons)}
        if not part.unfinished:
            body["metadata"] = key_metadata(part)
        if is_open:
            await self._close(part.address.chat, ts)
        try:
            await self._wire.post("chat.update", body)
        except ApiRefusal as refusal:
            if refusal.code != STREAMING or is_open:
                raise
        else:
            return
        await self._close(part.address.chat, ts)
        await self._wire.post("chat.update", body)

    async def _close(self, chat: str, ts: str) -> None:
        """End a stream; the next call shows if that succeeded."""
        try:
            await self._wire.post("chat.stopStream", {"channel": chat, "ts": ts})
        except ApiRefusal as refusal:
            if isinstance(to_channel_error(refusal), Retryable):
                raise

    def _may_stream(self, chat: str) -> bool:
        return self._wanted and chat not in self._refusing and self._now_s() >= self._paused_until_s

    def _note(self, meaning: ChannelError, error: str, chat: str) -> None:
        """Note from a refusal when not to try streams."""
        if isinstance(meaning, Retryable):
            self._paused_until_s = self._now_s() + min(meaning.retry_after_s or PAUSE_S, LONGEST_WAIT_S)
        elif error in _UNSUPPORTED:
            self._wanted = False
        elif error in _UNSUPPORTED_CHATS:
            self._refusing[chat] = None


_END = re.compile(r"(?:\n|(?:[!?…:;]|(?<![\d\\])\.)[*_`'\")\]]*[ ])\s*(?=\S)")
"""End of a line or a sentence; the next piece does not begin with a blank, which a stream might lose."""

_CLOSING = re.compile(r"\n[ >]*+`{3,}+\Z")
_FENCE = re.compile(r"(?m)^[ >]*+`{3,}+(\S*+)$")
_ESCAPED = re.compile(r"\\([^\w\s])")
_LINK = re.compile(r"://|\]\(|\bwww\.|\w\.[a-z]{2,}[/?]", re.IGNORECASE)


def stable_prefix(text: str) -> str:
    """Return the beginning of an unfinished rendering that more text will hardly change: whole lines and sentences.

    It leaves out the last line of code, and a possible table, whose columns may still grow.
    """
    text = text.removesuffix(GOES_ON)
    begin, end = _stable_range(text)
    end = len(text[:end].rstrip())  # the blanks at the end are the end of nothing yet
    cut = 0
    for found in _END.finditer(text, 0, end):
        if found.start() < begin:
            cut = found.end()
    return text[:cut]


def text_after(text: str, shown: str) -> str | None:
    """Return the text after the shown part; None if the text does not begin with it."""
    if text.startswith(shown):
        return text[len(shown) :]
    return "" if text == shown.rstrip() else None


def to_status(text: str) -> str:
    """Return a short text without Markdown escapes."""
    return _ESCAPED.sub(r"\1", text)


def has_link(text: str) -> bool:
    """Return True if Slack might fetch a preview for this Markdown."""
    return _LINK.search(text) is not None


def _stable_range(text: str) -> tuple[int, int]:
    """Return the position before which the last stable sentence ends, and the latest start of the next piece."""
    closing = _CLOSING.search(text)
    if closing is not None:
        opening = list(_FENCE.finditer(text, 0, closing.start()))[-1:]
        if opening and opening[0][1]:
            return text.rfind("\n", 0, closing.start()) + 1, closing.start()
        begin = opening[0].start() if opening else 0
        return begin, begin + 1
    block = text.rfind("\n\n") + 2 if "\n\n" in text else 0
    if text.startswith(("\\|", "|"), block):
        return block, block + 1
    last = text.rfind("\n") + 1
    end = len(text) if len(text[last:].split()) > 1 else last  # a first word may yet become a list's marker
    return end, end
