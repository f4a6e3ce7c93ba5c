"""What the story comes to, counted from the chats as people saw them: lost, doubled, how soon. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import quantiles

from gateway.demo.chat import Chat, Said

AT_ONCE = ("/log", "/stats")
"""Commands that no model is asked for."""

LEAST_CHARS = 25
"""Lines shorter than this may well stand twice in one answer."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The figures of one run."""

    written: int  # messages of people
    answered: int
    lost: tuple[str, ...]  # what was not answered
    doubled: tuple[str, ...]  # what was said twice, or unasked
    sign_s: tuple[float, ...]  # until the first sign, message by message
    command_s: tuple[float, ...]  # until one of AT_ONCE was answered
    memory_mb: float | None
    lasted_s: float

    @property
    def flawless(self) -> bool:
        """Whether everything was answered, and nothing twice."""
        return not self.lost and not self.doubled and self.answered == self.written


def tally(chats: Sequence[Chat], memory_mb: float | None, lasted_s: float, down: Sequence[Said]) -> Tally:
    """Count; `down` is what was written while no gateway ran, whose answer had to wait for it."""
    said = [one for chat in chats for one in chat.said]
    timed = [one for one in said if one not in down]
    return Tally(
        written=len(said),
        answered=sum(bool(one.answer) for one in said),
        lost=tuple(one.text for one in said if not one.answer),
        doubled=tuple(text for chat in chats for text in _doubled(chat)),
        sign_s=tuple(one.sign_after_s for one in timed if one.sign_after_s is not None),
        command_s=tuple(
            one.answer_after_s for one in timed if one.text.startswith(AT_ONCE) and one.answer_after_s is not None
        ),
        memory_mb=memory_mb,
        lasted_s=lasted_s,
    )


def _doubled(chat: Chat) -> Iterator[str]:
    """What stands twice: whole messages, lines within one answer, and whatever answers nobody."""
    yield from (seen.text for seen in chat.stray())
    texts = Counter(seen.text for seen in chat.seen.values())
    yield from (text for text, times in texts.items() if times > 1)
    for ids in {tuple(one.answer) for one in chat.said if one.answer}:
        lines = Counter(line for id_ in ids for line in chat.seen[id_].text.splitlines() if len(line) >= LEAST_CHARS)
        yield from (line for line, times in lines.items() if times > 1)


def table(figures: Tally) -> list[tuple[str, str]]:
    """The figures as rows of a name and a value."""
    rows = [
        ("messages from people", str(figures.written)),
        ("answered", str(figures.answered)),
        ("lost", str(len(figures.lost))),
        ("doubled", str(len(figures.doubled))),
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
    return f"p50 {_spelled(cuts[9])}, p95 {_spelled(cuts[18])}"


def _spelled(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
