"""`tenk demo`: sets the stage, has the story played and printed, counts, and cleans up however it ends."""

import asyncio
import signal
import sys
from io import TextIOWrapper

from gateway.demo.screen import DemoScreen
from gateway.demo.stage import Stage, StoryBroken
from gateway.demo.story import Story
from gateway.demo.tally import Tally, platform_table, table, tally

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
