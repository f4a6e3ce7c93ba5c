"""`tenk demo`: sets the stage, has the story played and printed, counts, and cleans up however it ends."""

import asyncio
import signal
import sys
from io import TextIOWrapper
from pathlib import Path

from gateway.demo.chat import watch
from gateway.demo.errors import StoryBroken
from gateway.demo.picture import picture
from gateway.demo.screen import Screen
from gateway.demo.stage import Stage
from gateway.demo.story import Story
from gateway.demo.tally import Tally, table, tally

INTERRUPTED = 130


def main(svg: Path | None = None) -> int:
    """Play the story; the exit status is 0 when nothing was lost or doubled.

    Args:
        svg: where to draw a picture of it; None draws none.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no “…” shows a question mark
    screen = Screen(sys.stdout)
    try:
        figures = asyncio.run(_played(screen))
    except (KeyboardInterrupt, asyncio.CancelledError):
        screen.line("\nStopped. The gateway is ended and its temporary files are gone.")
        return INTERRUPTED
    if figures is None:
        return 1
    if svg is not None:
        svg.write_text(picture(screen.entries), encoding="utf-8")
    return _judged(figures, screen)


async def _played(screen: Screen) -> Tally | None:
    """The story's figures; None where it broke, which was said."""
    _end_on_signals()
    screen.line("TenK demo: the real gateway and a simulated Telegram on this machine. No account, no key, no network.")
    async with Stage() as stage:
        story = Story(stage, screen.show)
        broken: list[str] = []
        try:
            async with asyncio.TaskGroup() as tasks:
                watching = (tasks.create_task(stage.watch()), tasks.create_task(watch(stage.simulator, story.chats)))
                await story.play()
                for task in watching:
                    task.cancel()
        except* StoryBroken as errors:
            broken += [str(error) for error in errors.exceptions]
        if not broken:
            return tally(story.chats, story.memory_mb, story.lasted_s, story.while_down)
        screen.line(f"\nThe demo failed: {'; '.join(broken)}.")
        screen.line("The last lines of the gateway's log:")
        screen.line(stage.log_tail() or "(it logged nothing)")
    return None


def _end_on_signals() -> None:
    """Clean up on SIGTERM and a closed terminal as on Ctrl-C."""
    playing = asyncio.current_task()
    if playing is not None:
        for signum in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(signum, playing.cancel)


def _judged(figures: Tally, screen: Screen) -> int:
    screen.line()
    screen.line("What it came to", "scene")
    rows = table(figures)
    for name, value in rows:
        screen.line(f"  {name:<{max(len(name) for name, _ in rows)}}  {value}")
    for text in figures.lost:
        screen.line(f"  Lost: “{text}” was not answered.")
    for text in figures.doubled:
        screen.line(f"  Said twice, or unasked: “{text}”")
    return 0 if figures.flawless else 1
