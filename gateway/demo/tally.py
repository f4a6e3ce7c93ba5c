"""Counts what the story comes to from the chats as people saw them: lost, doubled, pinged, how soon. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles

from gateway.demo.chat import Chat, Said

AT_ONCE = ("/log", "/stats")
"""Commands that no model is asked for."""

LEAST_CHARS = 25
"""Lines shorter than this may well stand twice in one answer."""


@dataclass(frozen=True, slots=True)
class PlatformTally:
    """The figures of one platform."""

    written: int  # what people wrote, with slash commands and pressed buttons
    not_meant: int  # of these, what was not meant for the bot
    answered: int
    lost: tuple[str, ...]  # what was not answered
    doubled: tuple[str, ...]  # what was said twice, or unasked
    pings: tuple[str, ...]  # whom the bot notified by name

    @property
    def flawless(self) -> bool:
        """Whether everything was answered that should be, nothing twice, and nobody was pinged."""
        clean = not (self.lost or self.doubled or self.pings)
        return clean and self.answered + self.not_meant == self.written


@dataclass(frozen=True, slots=True)
class Tally:
    """The figures of one run."""

    platforms: Mapping[str, PlatformTally]
    sign_s: tuple[float, ...]  # until the first sign, message by message
    command_s: tuple[float, ...]  # until one of AT_ONCE was answered
    memory_mb: float | None
    lasted_s: float

    @property
    def flawless(self) -> bool:
        """Whether all platforms are."""
        return all(figures.flawless for figures in self.platforms.values())


def tally(chats: Sequence[Chat], memory_mb: float | None, lasted_s: float, down: Sequence[Said]) -> Tally:
    """Count; `down` is what was written while no gateway ran, whose answer had to wait for it."""
    names = dict.fromkeys(chat.platform for chat in chats)
    timed = [line for chat in chats for line in chat.said if line.meant and line not in down]
    return Tally(
        platforms={name: _of_platform([chat for chat in chats if chat.platform == name]) for name in names},
        sign_s=tuple(line.sign_after_s for line in timed if line.sign_after_s is not None),
        command_s=tuple(
            line.answer_after_s for line in timed if line.text.startswith(AT_ONCE) and line.answer_after_s is not None
        ),
        memory_mb=memory_mb,
        lasted_s=lasted_s,
    )


def _of_platform(chats: Sequence[Chat]) -> PlatformTally:
    said = [line for chat in chats for line in chat.said]
    return PlatformTally(
        written=len(said),
        not_meant=sum(not line.meant for line in said),
        answered=sum(bool(line.answer) for line in said),
        lost=tuple(line.text for line in said if line.meant and not line.answer),
        doubled=tuple(text for chat in chats for text in _count_doubled(chat)),
        pings=tuple(ping for chat in chats for seen in chat.seen.values() for ping in seen.message.pings),
    )


def _count_doubled(chat: Chat) -> Iterator[str]:
    """What stands twice: whole messages, lines within one answer, and whatever answers nobody."""
    yield from (seen.text for seen in chat.stray())
    texts = Counter(seen.text for seen in chat.seen.values())
    yield from (text for text, times in texts.items() if times > 1)
    for ids in {tuple(line.answer) for line in chat.said if line.answer}:
        lines = Counter(line for id_ in ids for line in chat.seen[id_].text.splitlines() if len(line) >= LEAST_CHARS)
        yield from (line for line, times in lines.items() if times > 1)


def platform_table(figures: Tally) -> list[tuple[str, ...]]:
    """The head, and a row for each platform."""
    head = ("", "messages", "not for it", "answered", "lost", "doubled", "pings")
    return [head, *[(name, *_numbers(platform)) for name, platform in figures.platforms.items()]]


def _numbers(platform: PlatformTally) -> tuple[str, ...]:
    counts = (
        platform.written,
        platform.not_meant,
        platform.answered,
        len(platform.lost),
        len(platform.doubled),
        len(platform.pings),
    )
    return tuple(str(count) for count in counts)


def table(figures: Tally) -> list[tuple[str, str]]:
    """What holds for all platforms together, as rows of a name and a value."""
    rows = [
        ("first sign (typing, reaction, text)", _spread(figures.sign_s)),
        ("/log and /stats answered", _spread(figures.command_s)),
    ]
    if figures.memory_mb is not None:
        rows.append(("memory of the gateway", f"{figures.memory_mb:.0f} MB"))
    rows.append(("the whole story", f"{figures.lasted_s:.0f} s"))
    return rows


def _spread(seconds: Sequence[float]) -> str:
    if len(seconds) < 2:
        return "too few to say"
    cuts = quantiles(seconds, n=20, method="inclusive")
    return f"p50 {_spell(cuts[9])}, p95 {_spell(cuts[18])}"


def _spell(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
