"""The simulator on its own: serves until ended, says how to talk to it, and lets a terminal be person 1.

`tenk sim discord` and `python -m channels.discord.simulator` both come here.
"""

import asyncio
import sys
from typing import TextIO

from channels.discord.simulator.server import LOOPBACK, DiscordSimulator
from channels.discord.simulator.state import Arrived

DEFAULT_PORT = 8082
TYPIST = 1  # the person whose lines the terminal types

_HOW = """\
Simulated Discord on {base}
  a bot reaches it with   DISCORD_API_BASE={base} and any token
  somebody writes         curl {base}/sim/say -d '{{"chat": 1, "text": "hello"}}'
  uses a command          curl {base}/sim/command -d '{{"chat": 1, "name": "coach", "options": {{"text": "hi"}}}}'
  what they see           curl '{base}/sim/shown?chat=1'
  what a bot called       curl '{base}/sim/history?chat=1'
  a fault by script       curl {base}/sim/faults -d '[{{"kind": "cut", "method": "createMessage", "applied": true}}]'
  the connection          curl {base}/sim/network -d '{{"do": "cut"}}'
End with Ctrl-C."""


async def serve(
    *,
    host: str = LOOPBACK,
    port: int = DEFAULT_PORT,
    bucket: tuple[int, float] | None = None,
    out: TextIO | None = None,
    lines: TextIO | None = None,
) -> None:
    """Serve until cancelled. With `lines` (a terminal) each line is said by person 1 and answers are printed.

    Raises:
        OSError: the port is taken.
    """
    out = out or sys.stdout
    async with DiscordSimulator(host=host, port=port, any_token=True, bucket=bucket) as simulator:
        print(_HOW.format(base=simulator.base_url), file=out, flush=True)
        if lines is None:
            await asyncio.Event().wait()
        else:
            print("Type a line and person 1 says it.", file=out, flush=True)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_show_answers(simulator, out))
                tasks.create_task(_type(simulator, lines, out))


async def _type(simulator: DiscordSimulator, lines: TextIO, out: TextIO) -> None:
    """Say each line; the end of the input ends only the typing."""
    while line := await asyncio.to_thread(lines.readline):
        if not simulator.world.bots:
            print("(no bot has called in yet; it was not sent)", file=out, flush=True)
        elif line.strip():
            simulator.say(TYPIST, line.rstrip("\n"))


async def _show_answers(simulator: DiscordSimulator, out: TextIO) -> None:
    """Print what the bot does in the typist's chat, as it happens."""
    seen = 0

    def news() -> list[Arrived]:
        return simulator.history(TYPIST, after=seen)

    while True:
        try:
            await simulator.until(lambda: bool(news()), timeout_s=3600)
        except TimeoutError:
            continue  # nobody spoke for an hour
        for call in news():
            seen = call.seq
            print(_as_line(call), file=out, flush=True)


def _as_line(call: Arrived) -> str:
    """One call, as somebody at a terminal wants to read it."""
    if call.status not in (200, 204):
        return f"  ! {call.method} answered {call.status or 'nothing'} {call.description}"
    if call.method in ("createMessage", "followUp"):
        return f"  bot [{call.message_id}]: {call.text}"
    if call.method in ("editMessage", "editOriginal"):
        return f"  bot changes [{call.message_id}]: {call.text}"
    return f"  ({call.method})"
