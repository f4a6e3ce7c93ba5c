"""Answers by voice: spoken when their part of the outbox is sent, after the text; kept, so that a retry says the same.

A voice that cannot be made or sent is given up alone: its text has been sent.
"""

import asyncio
import math
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Protocol

import structlog

from agent.budgets import Budget, OverBudget, Spending
from agent.ports import ModelFailure, Principal
from agent.transcript import ModelResponded, Usage
from agent.voice.config import VoiceConfig
from agent.voice.server import AudioServer, VoiceFailure
from channels.base import OWN_VIEWS, Channel, SendsMedia
from channels.errors import Permanent
from channels.markdown.layout import plain_text
from channels.markdown.parse import parse
from channels.messages import AttachmentKind
from gateway.access.policy import AccessSnapshot
from gateway.delivery.message_parts import OutboundMessage, speech_part
from gateway.sessions.budgets import note_spender
from gateway.sessions.commits import CostsBeside
from gateway.store import journal
from gateway.store.causes import AnswerOf
from gateway.store.engine import Connection, Store
from gateway.store.outbox import MediaRef, OutboxPart, OutboxRow, put_file, speech_id

log = structlog.get_logger()

MICROUSD = 1_000_000


class HasBudget(Protocol):
    """A tenant, as far as speech concerns it."""

    @property
    def budgets(self) -> Budget:
        """Return the caps on its costs."""
        ...


class Speech:
    """The voice of a gateway."""

    def __init__(
        self,
        config: VoiceConfig,
        store: Store,
        people: AccessSnapshot,
        tenants: Mapping[str, HasBudget],
        clock: Callable[[], datetime],
    ) -> None:
        """Speak for every tenant; `config` has a server."""
        key = config.speech_key
        self._server = AudioServer(config.speech_url or "", "" if key is None else key.get_secret_value())
        self._config = config
        self._store = store
        self._people = people
        self._tenants = tenants
        self._clock = clock

    async def speak(self, row: OutboxRow, ref: MediaRef) -> bytes:
        """Return the words of a voice as a sound file, and keep it.

        Raises:
            Permanent: it cannot be spoken.
        """
        cause, config = row.part.cause, self._config
        assert isinstance(cause, AnswerOf), "only answers are spoken"
        turn = await self._store.read(partial(journal.turn_of, turn_id=cause.turn_id), lasting=True)
        tenant = self._tenants.get(row.tenant)
        if turn is None or tenant is None:
            raise Permanent("its answer is gone")
        note_spender(turn, self._people.principal(turn.user_id) or Principal(turn.user_id, turn.tenant))
        try:
            async with asyncio.timeout(config.speech_timeout_s):
                content, cost = await self._ask(ref.description, tenant.budgets)
        except (VoiceFailure, OverBudget, ModelFailure) as failure:
            raise Permanent(f"the answer was not spoken: {failure}") from None
        except TimeoutError:
            raise Permanent(f"the answer was not spoken within {config.speech_timeout_s:g} s") from None
        costs = _costs(config.speech_model, cost)

        def keep_speech(connection: Connection) -> None:
            if journal.person_of(connection, turn.id) is not None:  # else it was forgotten while it was spoken
                now = self._clock()
                put_file(connection, turn.tenant, ref.blob, content, now)
                costs.note(connection, turn, now)

        await self._store.commit(keep_speech)
        return content

    async def _ask(self, words: str, budget: Budget) -> tuple[bytes, int | None]:
        """Return the sound and its cost; None: unknown."""
        price = self._config.speech_usd_per_million_chars
        cost = None if price is None else math.ceil(price * Decimal(len(words)))
        hold = await budget.reserve(Spending(1, max(1, cost or 0)))
        spent = Spending(0, cost or 0)
        try:
            return await self._server.speak(words, self._config.speech_model, self._config.speech_voice), cost
        except VoiceFailure:
            spent = Spending()
            raise
        finally:
            hold.settle(spent)

    async def aclose(self) -> None:
        """Close its connections."""
        await self._server.aclose()


def _costs(model: str, cost: int | None) -> CostsBeside:
    return CostsBeside((ModelResponded(0, "", usage=Usage(0, 0, cost_microusd=cost), model=model),))


def may_speak(channel: Channel, principal: Principal) -> bool:
    """Return True if this person's answers are spoken in this chat: they want it, and it is a direct chat."""
    can = isinstance(channel, SendsMedia) and channel.name not in OWN_VIEWS
    return can and principal.wants_voice and not principal.in_group


def spoken_parts(answer: OutboundMessage, turn_id: str, most_chars: int, number: int) -> list[OutboxPart]:
    """Return the answer's voice as its part `number`; none if the answer is empty or too long."""
    words = plain_text(parse(answer.text))
    if not words or len(words) > most_chars:
        return []
    voice = MediaRef(AttachmentKind.VOICE, "answer", "audio/ogg", speech_id(turn_id), words)
    return [speech_part(answer, number, voice)]
