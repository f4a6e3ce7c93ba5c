"""`tenk demo`: sets the stage, has the story played and printed, counts, and cleans up however it ends."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import TextIO

from gateway.demo.stage import Stage, StoryBroken
from gateway.demo.story import Story
from gateway.demo.tally import Tally, platform_table, table, tally
from gateway.demo.transcript import Entry, Kind, StyledSpan, lines_of, one_line

MAX_WIDTH = 110
INDENT = 15
LONG_LINES = 26
"""An answer of more lines is printed without its middle: a person would scroll."""

SHOWN_AT_ENDS = 9

_COLOURS = {
    "scene": "1;36", "note": "33", "command": "1", "dim": "2", "person": "1;32", "bot": "1;34",
    "bold": "1", "italic": "3", "code": "36",
}  # fmt: skip


class DemoScreen:
    """Where a story is told. Append-only: nothing that was printed moves."""

    def __init__(self, out: TextIO) -> None:
        """Colours only on a terminal, and never where NO_COLOR is set (no-color.org)."""
        self._out = out
        self._colours = out.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        columns = shutil.get_terminal_size((100, 24)).columns if out.isatty() else 100
        self._width = max(40, min(columns, MAX_WIDTH))
        self._chat = ""
        self.entries: list[Entry] = []
        self._printers: dict[Kind, Callable[[Entry], None]] = {
            Kind.SCENE: self._scene,
            Kind.NOTE: lambda entry: self._block("  > ", entry.text, "note"),
            Kind.COMMAND: lambda entry: self._block("  $ ", entry.text, "command"),
            Kind.OUTPUT: lambda entry: self._block("    ", entry.text, ""),
            Kind.SAID: lambda entry: self._message(entry, "person"),
            Kind.ANSWER: lambda entry: self._message(entry, "bot"),
            Kind.GROWING: self._growing,
            Kind.SIGN: self._sign,
        }

    def show(self, entry: Entry) -> None:
        """Print an entry and keep it."""
        self.entries.append(entry)
        if entry.chat and entry.chat != self._chat:
            self._chat = entry.chat
            self.line(f"{'':7}[{entry.chat}]", "dim")
        self._printers[entry.kind](entry)
        self._out.flush()

    def line(self, text: str = "", look: str = "") -> None:
        """Print a line that is no entry."""
        self._out.write(self._paint(text, look) + "\n")
        self._out.flush()

    # ------------------------------------------------------------ kinds of entries

    def _scene(self, entry: Entry) -> None:
        self.line()
        self.line(entry.text, "scene")

    def _block(self, lead: str, text: str, look: str) -> None:
        for number, spans in enumerate(lines_of(text, (), self._width - len(lead))):
            start = lead if number == 0 else " " * len(lead)
            self.line(start + "".join(span.text for span in spans), look)

    def _message(self, entry: Entry, look: str) -> None:
        rows = lines_of(entry.text, entry.entities, self._width - INDENT)
        if len(rows) > LONG_LINES:
            left_out = len(rows) - 2 * SHOWN_AT_ENDS
            rows = [*rows[:SHOWN_AT_ENDS], [StyledSpan(f"[{left_out} lines more]", "dim")], *rows[-SHOWN_AT_ENDS:]]
        for number, spans in enumerate(rows):
            lead = self._lead(entry, look) if number == 0 else " " * INDENT
            self.line((lead + "".join(self._paint(span.text, span.look) for span in spans)).rstrip())

    def _growing(self, entry: Entry) -> None:
        words = len(entry.text.split()) - 1  # the last one says that it goes on
        count = f"(writing, {words} words) " if words else ""
        text = count + one_line(entry.new, self._width - INDENT - len(count))
        self.line(self._lead(entry, "dim") + self._paint(text, "dim"))

    def _sign(self, entry: Entry) -> None:
        if not entry.sign:
            return  # that a reaction is taken away is not worth a line
        text = "(is typing)" if entry.sign == "typing" else f"(reacts {entry.sign} to “{one_line(entry.text, 60)}”)"
        self.line(self._lead(entry, "dim") + self._paint(text, "dim"))

    def _lead(self, entry: Entry, look: str) -> str:
        return self._paint(f"{entry.at_s:5.1f}s ", "dim") + self._paint(f"{entry.who:<7} ", look)

    def _paint(self, text: str, look: str) -> str:
        colour = _COLOURS.get(look)
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colours and colour and text else text


INTERRUPTED = 130


def main(screen: DemoScreen | None = None) -> int:
    """Play the story on a screen, the terminal by default; the exit status is 0 when nothing was lost or doubled."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no “…” shows a question mark
    screen = screen or DemoScreen(sys.stdout)
    try:
        figures = asyncio.run(_play(screen))
    except (KeyboardInterrupt, asyncio.CancelledError):
        screen.line("\nStopped. The gateway is ended and its temporary files are gone.")
        return INTERRUPTED
    if figures is None:
        return 1
    return _judge(figures, screen)


async def _play(screen: DemoScreen) -> Tally | None:
    """The story's figures; None where it broke, which was said."""
    _end_on_signals()
    screen.line("TenK demo: the real gateway, with a simulated Telegram, Slack and Discord on this machine.")
    screen.line("No account, no key, no network.")
    async with Stage() as stage:
        story = Story(stage, screen.show)
        broken: list[str] = []
        try:
            async with asyncio.TaskGroup() as tasks:
                watchers = (stage.watch(), *[chat.watch() for chat in story.chats])
                watching = [tasks.create_task(watcher) for watcher in watchers]
                await story.play()
                for task in watching:
                    task.cancel()
        except* StoryBroken as errors:
            broken += _said_in(errors)
        if not broken:
            return tally(story.chats, story.memory_mb, story.lasted_s, story.while_down)
        screen.line(f"\nThe demo failed: {'; '.join(broken)}.")
        screen.line("The last lines of the gateway's log:")
        screen.line(stage.log_tail() or "(it logged nothing)")
    return None


def _said_in(errors: ExceptionGroup[StoryBroken]) -> list[str]:
    """What each of them says."""
    found: list[str] = []
    for error in errors.exceptions:
        found += _said_in(error) if isinstance(error, ExceptionGroup) else [str(error)]
    return found


def _end_on_signals() -> None:
    """Clean up on SIGTERM and a closed terminal as on Ctrl-C, also where whoever started us ignores that."""
    playing = asyncio.current_task()
    if playing is not None:
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(signum, playing.cancel)


def _judge(figures: Tally, screen: DemoScreen) -> int:
    screen.line()
    screen.line("What it came to", "scene")
    for row in platform_table(figures):
        screen.line(f"  {row[0]:<9}" + "".join(f"{cell:>12}" for cell in row[1:]))
    screen.line()
    rows = table(figures)
    for name, value in rows:
        screen.line(f"  {name:<{max(len(name) for name, _ in rows)}}  {value}")
    for name, platform in figures.platforms.items():
        for text in platform.lost:
            screen.line(f"  Lost on {name}: “{text}” was not answered.")
        for text in platform.doubled:
            screen.line(f"  Said twice on {name}, or unasked: “{text}”")
        for whom in platform.pings:
            screen.line(f"  Pinged on {name}: {whom}")
    return 0 if figures.flawless else 1
