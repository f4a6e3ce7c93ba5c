"""A simulator on its own: serves until ended, says how to talk to it, and lets a terminal be a person.

`tenk sim <platform>` and `python -m channels.<platform>.simulator` both come here.
"""

import asyncio
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Generic, Protocol, TextIO, TypeVar

from channels.simulators.shared.history import Arrived
from channels.simulators.shared.server import Served

Id = TypeVar("Id")  # int or str


class Serve(Protocol):
    """A platform's `serve`."""

    async def __call__(self, *, port: int, lines: TextIO | None) -> None:
        """Serve until cancelled; with `lines` each of them is said by somebody."""


@dataclass(frozen=True, slots=True)
class Terminal(Generic[Id]):
    """A person at a terminal."""

    how: str  # printed first; {base} is where the simulator listens
    invitation: str  # printed when lines can be typed
    chat: Id  # whose answers are printed
    who: str  # what answers there: a bot, an app
    present: Callable[[], bool]  # whether it has called in, and can be spoken to
    say: Callable[[str], object]  # says a line
    as_line: Callable[[Arrived[Id]], str]  # a call as it is printed


async def serve_alone(simulator: Served[Id], terminal: Terminal[Id], out: TextIO | None, lines: TextIO | None) -> None:
    """Serve until cancelled. With `lines` (a terminal) each line is said and answers are printed to `out`.

    Raises:
        OSError: the port is taken.
    """
    out = out or sys.stdout
    async with simulator:
        print(terminal.how.format(base=simulator.base_url), file=out, flush=True)
        if lines is None:
            await asyncio.Event().wait()
        else:
            print(terminal.invitation, file=out, flush=True)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_show_answers(simulator, terminal, out))
                tasks.create_task(_type(terminal, lines, out))


async def _type(terminal: Terminal[Id], lines: TextIO, out: TextIO) -> None:
    """Say each line; the end of the input ends only the typing."""
    while line := await asyncio.to_thread(lines.readline):
        if not terminal.present():
            print(f"(no {terminal.who} has called in yet; it was not sent)", file=out, flush=True)
        elif line.strip():
            terminal.say(line.rstrip("\n"))


async def _show_answers(simulator: Served[Id], terminal: Terminal[Id], out: TextIO) -> None:
    """Print what the bot does in the typist's chat, as it happens."""
    seen = 0

    def news() -> list[Arrived[Id]]:
        return simulator.history(terminal.chat, after=seen)

    while True:
        try:
            await simulator.until(lambda: bool(news()), timeout_s=3600)
        except TimeoutError:
            continue  # nobody spoke for an hour
        for call in news():
            seen = call.seq
            print(terminal.as_line(call), file=out, flush=True)


def line_of(call: Arrived[Id], *, said: Collection[str], changed: Collection[str]) -> str:
    """One call, as somebody at a terminal wants to read it; `said` and `changed` are methods that show a text."""
    if call.status not in (200, 204):
        return f"  ! {call.method} answered {call.status or 'nothing'} {call.description}"
    if call.method in said:
        return f"  bot [{call.message_id}]: {call.text}"
    if call.method in changed:
        return f"  bot changes [{call.message_id}]: {call.text}"
    return f"  ({call.method})"


def typed_lines() -> TextIO | None:
    """The lines somebody types; None where nobody sits at a terminal."""
    return sys.stdin if sys.stdin.isatty() else None


def run_alone(serve: Serve, default_port: int) -> int:
    """Serve until Ctrl-C, at the port of the command line; the exit code, 2 when the port cannot be had."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else default_port
    try:
        asyncio.run(serve(port=port, lines=typed_lines()))
    except KeyboardInterrupt:
        return 0
    except OSError as error:
        sys.stderr.write(f"cannot listen on port {port}: {error.strerror}\n")
        return 2
    return 0
