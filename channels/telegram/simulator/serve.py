"""The simulator on its own: serves until ended, says how to talk to it, and lets a terminal be person 1.

`tenk sim telegram` and `python -m channels.telegram.simulator` both come here.
"""

import asyncio
import sys
from typing import TextIO

from channels.telegram.simulator.server import LOOPBACK, TelegramSimulator
from channels.telegram.simulator.state import Arrived

DEFAULT_PORT = 8081
TYPIST = 1  # the person whose lines the terminal types

_HOW = """\
Simulated Telegram on {base}
  a bot reaches it with   TELEGRAM_API_BASE={base} and any token, say 123456:anything
  somebody writes         curl {base}/sim/say -d '{{"chat": 1, "text": "hello"}}'
  what they see           curl '{base}/sim/shown?chat=1'
  what a bot called       curl '{base}/sim/history?chat=1'
  a fault by script       curl {base}/sim/faults -d '[{{"kind": "cut", "method": "sendMessage", "applied": true}}]'
End with Ctrl-C."""


async def serve(
    *,
    host: str = LOOPBACK,
    port: int = DEFAULT_PORT,
    per_chat_per_s: float | None = None,
    out: TextIO | None = None,
    lines: TextIO | None = None,
) -> None:
    """Serve until cancelled. With `lines` (a terminal) each line is said by person 1 and answers are printed.

    Raises:
        OSError: the port is taken.
    """
    out = out or sys.stdout
    async with TelegramSimulator(host=host, port=port, any_token=True, per_chat_per_s=per_chat_per_s) as simulator:
        print(_HOW.format(base=simulator.base_url), file=out, flush=True)
        if lines is None:
            await asyncio.Event().wait()
        else:
            print("Type a line and person 1 says it.", file=out, flush=True)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_show_answers(simulator, out))
                tasks.create_task(_type(simulator, lines, out))


async def _type(simulator: TelegramSimulator, lines: TextIO, out: TextIO) -> None:
    """Say each line; the end of the input ends only the typing."""
    while line := await asyncio.to_thread(lines.readline):
        if not simulator.world.bots:
            print("(no bot has called in yet; it was not sent)", file=out, flush=True)
        elif line.strip():
            simulator.say(TYPIST, line.rstrip("\n"))


async def _show_answers(simulator: TelegramSimulator, out: TextIO) -> None:
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
    if call.status != 200:
        return f"  ! {call.method} answered {call.status or 'nothing'} {call.description}"
    if call.method == "sendMessage":
        return f"  bot [{call.message_id}]: {call.text}"
    if call.method == "editMessageText":
        return f"  bot changes [{call.message_id}]: {call.text}"
    return f"  ({call.method})"
