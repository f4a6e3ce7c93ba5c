"""`tenk demo`: play the story on a stage, print it, count what was lost or doubled, and clean up however it ends."""

import asyncio
import os
import shutil
import signal
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from statistics import quantiles
from typing import TextIO

from gateway.demo.chat import BOT, GROWS, Chat, Entry, Kind
from gateway.demo.stage import Stage, StoryBroken
from gateway.demo.story import Story

MAX_WIDTH = 110
INDENT = 15
LONG_LINES, SHOWN_AT_ENDS = 26, 9  # a longer message is printed without its middle
LEAST_CHARS = 25  # shorter lines may well stand twice in one answer
INTERRUPTED = 130
HEAD = ("", "messages", "not for it", "answered", "lost", "doubled", "pings")

_LEADS = {Kind.NOTE: "  > ", Kind.COMMAND: "  $ ", Kind.OUTPUT: "    "}
_COLOURS = {Kind.SCENE: "1;36", Kind.NOTE: "33", Kind.COMMAND: "1", Kind.GROWING: "2", Kind.REACTION: "2"}


class DemoScreen:
    """Prints entries as they come; nothing that was printed moves."""

    def __init__(self, out: TextIO) -> None:
        """Use colours on a terminal only, and never if NO_COLOR is set (no-color.org)."""
        self._out = out
        self._colours = out.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._width = max(40, min(shutil.get_terminal_size((100, 24)).columns if out.isatty() else 100, MAX_WIDTH))
        self._chat = ""
        self._begun_s = time.monotonic()
        self.entries: list[Entry] = []

    @property
    def lasted_s(self) -> float:
        """Return the seconds since the screen was made."""
        return time.monotonic() - self._begun_s

    def show(self, entry: Entry) -> None:
        """Print an entry and keep it."""
        self.entries.append(entry)
        if entry.chat and entry.chat != self._chat:
            self._chat = entry.chat
            self.line(f"{'':7}[{entry.chat}]")
        if entry.kind is Kind.SCENE:
            self.line(f"\n{entry.text}", _COLOURS[Kind.SCENE])
        elif entry.kind in _LEADS:
            self._block(_LEADS[entry.kind], entry.text, _COLOURS.get(entry.kind, ""))
        elif entry.kind is not Kind.REACTION or entry.new:
            lead = f"{entry.at_s - self._begun_s:5.1f}s {entry.who:<7} "
            self._block(lead, self._words_of(entry), _COLOURS.get(entry.kind, ""))

    def line(self, text: str = "", colour: str = "") -> None:
        """Print one line."""
        self._out.write(f"\x1b[{colour}m{text}\x1b[0m\n" if self._colours and colour else f"{text}\n")
        self._out.flush()

    def _words_of(self, entry: Entry) -> str:
        if entry.kind is Kind.REACTION:
            return f"(reacts {entry.new} to “{one_line(entry.text, 60)}”)"
        if entry.kind is Kind.GROWING:
            count = f"(writing, {len(entry.text.split()) - 1} words) " if entry.new != GROWS else ""
            return count + one_line(entry.new, self._width - INDENT - len(count))
        return entry.text

    def _block(self, lead: str, text: str, colour: str) -> None:
        width = self._width - len(lead)
        rows = [row for line in text.split("\n") for row in textwrap.wrap(line, width, break_long_words=False) or [""]]
        if len(rows) > LONG_LINES:
            left_out = f"[{len(rows) - 2 * SHOWN_AT_ENDS} lines more]"
            rows = [*rows[:SHOWN_AT_ENDS], left_out, *rows[-SHOWN_AT_ENDS:]]
        for number, row in enumerate(rows):
            self.line(((lead if number == 0 else " " * len(lead)) + row).rstrip(), colour)


def one_line(text: str, most: int) -> str:
    """Return the text on one line; the end of it if it is longer than `most` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else "... " + flat[-(most - 4) :].partition(" ")[2]


def main(screen: DemoScreen | None = None) -> int:
    """Play the story on a screen, the terminal by default. Return 0 if nothing was lost or doubled."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without “…” shows a question mark
    screen = screen or DemoScreen(sys.stdout)
    try:
        return asyncio.run(_play(screen))
    except (KeyboardInterrupt, asyncio.CancelledError):
        screen.line("\nStopped. The gateway is ended and its temporary files are gone.")
        return INTERRUPTED


async def _play(screen: DemoScreen) -> int:
    playing = asyncio.current_task()
    assert playing is not None, "this runs in a task"
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # clean up also if our parent ignores SIGINT
        asyncio.get_running_loop().add_signal_handler(signum, playing.cancel)
    screen.line("TenK demo: the real gateway, with a simulated Telegram, Slack and Discord on this machine.")
    screen.line("No account, no key, no network.")
    async with Stage() as stage:
        story = Story(stage, screen.show)
        try:
            async with asyncio.TaskGroup() as tasks:
                watching = [tasks.create_task(watched.watch()) for watched in (stage, *story.chats)]
                await story.play()
                for task in watching:
                    task.cancel()
        except* StoryBroken as errors:
            screen.line(f"\nThe demo failed: {'; '.join(map(str, _leaves(errors)))}.")
            screen.line(f"The last lines of the gateway's log:\n{stage.log_tail() or '(it logged nothing)'}")
        else:
            return _judge(story, screen)
    return 1


def _leaves(errors: BaseExceptionGroup[StoryBroken]) -> Iterator[StoryBroken]:
    for error in errors.exceptions:
        yield from _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]


# ---------------------------------------------------------------- what it came to


def _judge(story: Story, screen: DemoScreen) -> int:
    """Print the figures and what went wrong. Return the exit status."""
    screen.line("\nWhat it came to", _COLOURS[Kind.SCENE])
    screen.line("  " + f"{HEAD[0]:<9}" + "".join(f"{cell:>12}" for cell in HEAD[1:]))
    faults: list[str] = []
    for platform in dict.fromkeys(chat.platform for chat in story.chats):
        chats = [chat for chat in story.chats if chat.platform == platform]
        numbers, wrong = tally(chats)
        screen.line(f"  {platform:<9}" + "".join(f"{number:>12}" for number in numbers))
        faults += [f"  {fault} on {platform}" for fault in wrong]
    screen.line()
    screen.line(f"  /log and /stats answered  {_spread(story)}")
    if story.memory_mb is not None:
        screen.line(f"  memory of the gateway     {story.memory_mb:.0f} MB")
    screen.line(f"  the whole story           {screen.lasted_s:.0f} s")
    for fault in faults:
        screen.line(fault)
    return 1 if faults else 0


def tally(chats: Sequence[Chat]) -> tuple[tuple[int, ...], list[str]]:
    """Return the numbers under `HEAD` for the chats of one platform, and each thing that went wrong in words."""
    said = [line for chat in chats for line in chat.said]
    lost = [line.text for line in said if line.meant and not line.answer]
    doubled = [text for chat in chats for text in _find_repeats(chat)]
    pings = [ping for chat in chats for seen in chat.seen.values() if seen.by_bot for ping in seen.pings]
    ignored, answered = sum(not line.meant for line in said), sum(bool(line.answer) for line in said)
    wrong = [
        *(f"Lost: “{text}” was not answered" for text in lost),
        *(f"Said twice by {BOT}, or unasked: “{text}”" for text in doubled),
        *(f"Pinged: {whom}" for whom in pings),
        *(f"Answered, but not meant for {BOT}: “{line.text}”" for line in said if line.answer and not line.meant),
    ]
    return (len(said), ignored, answered, len(lost), len(doubled), len(pings)), wrong


def _find_repeats(chat: Chat) -> Iterator[str]:
    """Yield what stands twice: whole messages, lines within one answer, and messages that answer nothing."""
    yield from (seen.text for seen in chat.stray())
    yield from _repeats(seen.text for seen in chat.seen.values() if seen.by_bot)
    for ids in {tuple(line.answer) for line in chat.said if line.answer}:
        yield from _repeats(row for id_ in ids for row in chat.seen[id_].text.splitlines() if len(row) >= LEAST_CHARS)


def _repeats(texts: Iterator[str]) -> list[str]:
    return [text for text, times in Counter(texts).items() if times > 1]


def _spread(story: Story) -> str:
    timed = [line for chat in story.chats for line in chat.said if line not in story.while_down]
    seconds = [
        line.answer_after_s for line in timed if line.text.startswith(("/log", "/stats")) and line.answer_after_s
    ]
    cuts = quantiles(seconds, n=20, method="inclusive")
    return f"p50 {cuts[9] * 1000:.0f} ms, p95 {cuts[18] * 1000:.0f} ms"
