"""A third-party channel: letters are files in one directory, answers files in another. This is a whole channel.

A letter is `in/NUMBER-PERSON.txt`; it is removed once it is in the inbox, so that a refused one comes again. An answer
is `out/PERSON/KEY.txt`: writing it again changes nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from channels.base import ChannelConnection, ChannelState, Limits, NotPersisted, Sink, TextUnit
from channels.chat.account import PlatformAccount
from channels.errors import Permanent, PermanentKind, Retryable, Unknown
from channels.markdown.tree import clean
from channels.messages import Address, ChatKind, InboundMessage, OutboundPart, Receipt, Sender
from channels.viewers.plain_renderer import PlainRenderer

Pause = Callable[[float], Awaitable[None]]


class LetterboxAccount(PlatformAccount):
    """The account `[channels.letterbox.main]` in the gateway's configuration."""

    directory: Path


class LetterboxChannel:
    """A channel that reads letters and writes answers."""

    name = "letterbox"
    account_model = LetterboxAccount
    limits = Limits(max_text=10_000, unit=TextUnit.CHARS, idempotent_sends=True)

    def __init__(self, config: LetterboxAccount, *, pause: Pause = asyncio.sleep) -> None:
        self.account = config.name
        self.renderer = PlainRenderer()
        self._in = config.directory / "in"
        self._out = config.directory / "out"
        self._pause = pause

    async def connections(self) -> Sequence[ChannelConnection]:
        """Return this channel: it has one connection."""
        return (self,)

    async def run(self, sink: Sink) -> None:
        """Look for letters, in the order of their numbers."""
        sink.report(ChannelState.READY)
        while True:
            letters = sorted(self._in.glob("*.txt"))
            if letters:
                await self._hand_in(letters, sink)
            await self._pause(0.02)

    async def _hand_in(self, letters: Sequence[Path], sink: Sink) -> None:
        try:
            await sink.receive([self._read(letter) for letter in letters])
        except NotPersisted:
            sink.report(ChannelState.DEGRADED, "the store takes no letters; they stay in the box")
        else:
            sink.report(ChannelState.READY)
            for letter in letters:
                letter.unlink(missing_ok=True)

    def _read(self, letter: Path) -> InboundMessage:
        number, _, person = letter.stem.partition("-")
        return InboundMessage(
            event_id=f"letter:{number}",
            address=Address(self.name, self.account, person),
            sender=Sender(person, person),
            received_at=datetime.fromtimestamp(letter.stat().st_mtime, UTC),
            message_id=number,
            kind=ChatKind.DIRECT,
            text=clean(letter.read_text(encoding="utf-8", errors="replace")).strip(),
            mentions_bot=True,
        )

    async def send(self, part: OutboundPart) -> Receipt:
        """Write one answer.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`.
        """
        home = self._out / part.address.chat
        if not self._out.is_dir():
            raise Retryable("the directory of answers is away", retry_after_s=1.0)
        if not home.is_dir():
            raise Permanent("this person has moved away", PermanentKind.BLOCKED)
        answer = home / f"{part.idem_key}.txt"
        try:
            answer.write_text(part.rendered.text, encoding="utf-8")
        except OSError as error:
            raise Unknown(f"the answer may be half written: {error.strerror}") from error
        return Receipt(answer.stem)

    async def aclose(self) -> None:
        pass
