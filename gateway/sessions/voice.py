"""Voice messages: fetched and transcribed within bounds; each transcript is kept before anything is done with it.

A transcript is kept as a file that came with its message, with its cost, so that a restart neither pays for it again
nor reads other words.
"""

import asyncio
import math
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial

import structlog

from agent.budgets import Budget, OverBudget, Spending
from agent.catalogue import escape
from agent.errors import Refused
from agent.ports import ModelFailure
from agent.transcript import ModelResponded, Usage, UserItem
from agent.voice.config import VoiceConfig
from agent.voice.server import Heard, VoiceFailure, VoiceFault
from agent.voice.sounds import SoundKind, sound_kind
from agent.voice.transcribers import Transcriber
from agent.wellformed import cut_text, well_formed
from channels.base import Channel, FetchesMedia, ShowsTyping
from channels.errors import ChannelError, Permanent, PermanentKind
from channels.messages import Attachment, AttachmentKind, ChatKind, InboundEvent, InboundMessage
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.sessions.commits import CostsBeside
from gateway.sessions.inbox_rules import message_id_of, own_route_id
from gateway.store.causes import HEARD, Notice
from gateway.store.engine import Connection, Store
from gateway.store.inbox import InboxRow
from gateway.store.journal import TurnRow
from gateway.store.outbox import OutboxPart, came_with, file_id, file_of, put_file

log = structlog.get_logger()

MAX_VOICES = 3
"""With one message."""

MAX_TRANSCRIPT_CHARS = 10_000
SHOWN_CHARS = 3_000
"""A longer transcript is cut in the chat, so that it is one message."""

MICROUSD = 1_000_000


@dataclass(frozen=True, slots=True)
class Unheard:
    """The reason why a voice message has no transcript."""

    told: Refused  # for its person
    detail: str  # for operators and the model
    told_owner: Refused | None = None  # for its person if that is an owner; None: as `told`


NOT_SET_UP = Unheard(
    Refused("voice.not_set_up"), "voice messages are not set up here", Refused("voice.not_set_up_owner")
)
NO_SOUND = Unheard(Refused("voice.no_sound"), "it is no sound file")
SILENT = Unheard(Refused("voice.silent"), "nothing is said in it")
GONE = Unheard(Refused("voice.failed"), "it could not be fetched")
TOO_MANY = Unheard(Refused("voice.too_many", count=MAX_VOICES), "one message had too many")
OVER_BUDGET = Unheard(Refused("voice.over_budget"), "a cap on costs is reached")


def is_voice(attachment: Attachment) -> bool:
    return attachment.kind is AttachmentKind.VOICE


def has_voice(event: InboundEvent) -> bool:
    """Return True if a voice message, or another sound, came with an event."""
    return isinstance(event, InboundMessage) and any(map(is_voice, event.attachments))


class VoiceMessages:
    """The voice messages of one tenant's people."""

    def __init__(
        self,
        config: VoiceConfig,
        transcriber: Transcriber | None,
        store: Store,
        budget: Budget,
        clock: Callable[[], datetime],
    ) -> None:
        """Without a transcriber, none is fetched."""
        self._config = config
        self._transcriber = transcriber
        self._store = store
        self._budget = budget
        self._clock = clock

    async def hear(self, channel: Channel, event: InboundMessage, turn: TurnRow) -> Sequence[str | Unheard]:
        """Return the transcripts of an event's voice messages, in order, each with its cost counted to the turn."""
        voices = [attachment for attachment in event.attachments if is_voice(attachment)]
        if (transcriber := self._transcriber) is None:
            return [NOT_SET_UP] * len(voices)
        heard: list[str | Unheard] = []
        for place, voice in enumerate(voices):
            is_heard = place < MAX_VOICES
            said = await self._hear(transcriber, channel, event, voice, turn) if is_heard else TOO_MANY
            if isinstance(said, Unheard):
                log.warning("voice_unheard", sender=event.sender_key, event_id=event.event_id, why=said.detail)
            heard.append(said)
        return heard

    async def _hear(
        self, transcriber: Transcriber, channel: Channel, event: InboundMessage, voice: Attachment, turn: TurnRow
    ) -> str | Unheard:
        if (why := self._why_not(voice)) is not None:
            return why
        came = came_with(event.address.channel, event.address.account, event.event_id)
        id_ = file_id(f"heard:{came}:{voice.handle}")
        if (kept := await self._store.read(partial(file_of, id_=id_), lasting=True)) is not None:
            return kept.decode() or SILENT
        try:
            async with asyncio.timeout(self._config.transcription_timeout_s):
                if isinstance(channel, ShowsTyping):
                    with suppress(ChannelError):
                        await channel.show_typing(event.address)
                sound = await self._fetch(channel, voice)
                if isinstance(sound, Unheard):
                    return sound
                heard, usage = await self._transcribe(transcriber, *sound, voice.duration_s)
        except TimeoutError:
            return _to_unheard(f"no transcript within {self._config.transcription_timeout_s:g} s")
        except VoiceFailure as failure:
            return self._too_long() if failure.fault is VoiceFault.TOO_LARGE else _to_unheard(str(failure))
        except OverBudget:
            return OVER_BUDGET
        except ModelFailure as busy:
            return _to_unheard(str(busy))
        text = clean_transcript(heard.text)
        costs = CostsBeside((ModelResponded(0, "", usage=usage, model=transcriber.name),))

        def keep_transcript(connection: Connection) -> None:
            now = self._clock()
            put_file(connection, turn.tenant, id_, text.encode(), now, came)
            costs.note(connection, turn, now)

        await self._store.commit(keep_transcript)
        log.info("voice_heard", chars=len(text), seconds=heard.seconds or voice.duration_s, model=transcriber.name)
        return text or SILENT

    def _why_not(self, voice: Attachment) -> Unheard | None:
        """Return the reason why a voice message is not even fetched."""
        if voice.size_bytes == 0:
            return NO_SOUND
        is_long = voice.duration_s is not None and voice.duration_s > self._config.max_seconds
        return self._too_long() if is_long or (voice.size_bytes or 0) > self._config.max_bytes else None

    def _too_long(self) -> Unheard:
        minutes, megabytes = f"{self._config.max_seconds / 60:g}", f"{self._config.max_bytes / 1_000_000:g}"
        return Unheard(Refused("voice.too_long", minutes=minutes, megabytes=megabytes), "it is too long or too large")

    async def _fetch(self, channel: Channel, voice: Attachment) -> tuple[bytes, SoundKind] | Unheard:
        if not isinstance(channel, FetchesMedia):
            return GONE
        try:
            content = await channel.fetch(voice, self._config.max_bytes)
        except Permanent as refused:
            return self._too_long() if refused.kind is PermanentKind.TOO_LARGE else GONE
        except ChannelError as failure:
            return _to_unheard(str(failure))
        kind = sound_kind(content)
        return NO_SOUND if kind is None else (content, kind)

    async def _transcribe(
        self, transcriber: Transcriber, content: bytes, kind: SoundKind, duration_s: float | None
    ) -> tuple[Heard, Usage]:
        """Ask for the transcript, with its highest cost set aside before and its real cost counted after."""
        most = Spending(1, max(1, self._price(duration_s or self._config.max_seconds) or 0))
        hold = await self._budget.reserve(most)
        spent = most
        try:
            heard = await transcriber.transcribe(content, kind)
            usage = self._usage_of(heard, duration_s)
            spent = Spending((usage.input_tokens or 0) + (usage.output_tokens or 0), usage.cost_microusd or 0)
        except VoiceFailure:
            spent = Spending()
            raise
        finally:
            hold.settle(spent)
        return heard, usage

    def _usage_of(self, heard: Heard, duration_s: float | None) -> Usage:
        """Return what a transcript used; the cost is None if no price is known."""
        used = heard.usage
        cost = used.cost_microusd
        if cost is None:
            cost = self._price(heard.seconds or duration_s or self._config.max_seconds)
        return Usage(used.input_tokens or 0, used.output_tokens or 0, cost_microusd=cost)

    def _price(self, seconds: float) -> int | None:
        per_minute = self._config.transcription_usd_per_minute
        return None if per_minute is None else math.ceil(per_minute * Decimal(seconds) * MICROUSD / 60)


def _to_unheard(detail: str) -> Unheard:
    return Unheard(Refused("voice.failed"), detail, Refused("voice.failed_owner", why=escape(detail)))


def clean_transcript(text: str) -> str:
    """Return a transcript without control characters, and with a bounded length."""
    kept = (each for each in well_formed(text) if each in "\n\t" or unicodedata.category(each) != "Cc")
    return cut_text("".join(kept).strip(), MAX_TRANSCRIPT_CHARS)


def show_transcript(channel: Channel, row: InboxRow, item: UserItem, locale: str | None) -> list[OutboxPart]:
    """Return the message that shows a person what was heard in their voice message; none if nothing was."""
    if not item.spoken:
        return []
    lines = escape(cut_text(item.spoken, SHOWN_CHARS)).splitlines()
    in_group = isinstance(row.event, InboundMessage) and row.event.kind is ChatKind.GROUP
    said = OutboundMessage(
        row.event.address,
        Notice(HEARD, str(row.id)),
        "\n".join(f"> {'🎙 ' if place == 0 else ''}{line}" for place, line in enumerate(lines)),
        reply_to=message_id_of(row) if in_group else None,
        reply_route_of=own_route_id(row),
        locale=locale,
    )
    return to_parts(channel, said)
