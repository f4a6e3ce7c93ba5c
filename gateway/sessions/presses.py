"""A press: what the button stands for, where it is ours and its presser's, and what is seen of that afterwards."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import structlog

from agent.ports import Principal
from channels.base import Channel, HasButtons
from channels.errors import ChannelError
from channels.messages import ButtonPressed
from gateway.access.buttons import Meant, SealedButtons, Void
from gateway.commands.base import Reply
from gateway.commands.decisions import GONE, Decision

log = structlog.get_logger()

CLOSE_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Presses:
    """Opens what comes back with a press and finds what it does."""

    seals: SealedButtons
    decisions: Mapping[str, Decision]  # by the word that a button carries

    async def decide(self, pressed: ButtonPressed, principal: Principal, now: datetime) -> tuple[Reply, bool]:
        """What is done and said about it, and whether the buttons go: not where they may be somebody else's."""
        account = f"{pressed.address.channel}:{pressed.address.account}"
        meant = self.seals.open(pressed.data, principal.user_id, account, now)
        decide = self.decisions.get(meant.word) if isinstance(meant, Meant) else None
        if decide is None or not isinstance(meant, Meant):
            log.warning("button_void", event_id=pressed.event_id, user_id=principal.user_id, why=str(meant))
            return GONE, meant is not Void.FORGED
        return await decide(meant.subject, principal), True


async def take_away_buttons(channel: Channel, pressed: ButtonPressed) -> None:
    """They see that it was taken; where that fails, a second press finds nothing to do."""
    if not isinstance(channel, HasButtons):
        return
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await channel.close_buttons(pressed.address, pressed.message_id)
    except (ChannelError, TimeoutError) as failure:
        log.debug("buttons_stay", event_id=pressed.event_id, error=str(failure))
