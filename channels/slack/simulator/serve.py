"""The simulator on its own: serves until ended, says how to talk to it, and lets a terminal be person U1.

`tenk sim slack` and `python -m channels.slack.simulator` both come here.
"""

import asyncio
import sys
from typing import TextIO

from channels.slack.simulator.server import LOOPBACK, SlackSimulator
from channels.slack.simulator.state import Arrived

DEFAULT_PORT = 8083
TYPIST = "D1"  # the direct message whose person the terminal is

_HOW = """\
Simulated Slack on {base}
  an app reaches it with  SLACK_API_BASE={base} SLACK_BOT_TOKEN=xoxb-any SLACK_APP_TOKEN=xapp-any
  somebody writes         curl {base}/sim/say -d '{{"chat": "D1", "text": "hello"}}'
  a slash command         curl {base}/sim/command -d '{{"chat": "C1", "text": "/log 45m guitar"}}'
  what they see           curl '{base}/sim/shown?chat=D1'
  what an app called      curl '{base}/sim/history?chat=D1'
  a fault by script       curl {base}/sim/faults -d '[{{"kind": "cut", "method": "chat.postMessage", "applied": true}}]'
End with Ctrl-C."""


async def serve(
    *,
    host: str = LOOPBACK,
    port: int = DEFAULT_PORT,
    per_chat_per_s: float | None = None,
    out: TextIO | None = None,
    lines: TextIO | None = None,
) -> None:
    """Serve until cancelled. With `lines` (a terminal) each line is said by person U1 and answers are printed.

    Raises:
        OSError: the port is taken.
    """
    out = out or sys.stdout
    async with SlackSimulator(host=host, port=port, any_token=True, per_chat_per_s=per_chat_per_s) as simulator:
        print(_HOW.format(base=simulator.base_url), file=out, flush=True)
        if lines is None:
            await asyncio.Event().wait()
        else:
            print("Type a line and person U1 says it; one that begins with / is a slash command.", file=out, flush=True)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_show_answers(simulator, out))
                tasks.create_task(_type(simulator, lines, out))


async def _type(simulator: SlackSimulator, lines: TextIO, out: TextIO) -> None:
    """Say each line; the end of the input ends only the typing."""
    while line := await asyncio.to_thread(lines.readline):
        text = line.rstrip("\n")
        if simulator.world.app is None:
            print("(no app has called in yet; it was not sent)", file=out, flush=True)
        elif text.startswith("/"):
            command, _, arguments = text.partition(" ")
            simulator.command(TYPIST, command, arguments)
        elif text.strip():
            simulator.say(TYPIST, text)


async def _show_answers(simulator: SlackSimulator, out: TextIO) -> None:
    """Print what the app does in the typist's chat, as it happens."""
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
            print(_as_line(simulator, call), file=out, flush=True)


def _as_line(simulator: SlackSimulator, call: Arrived) -> str:
    """One call, as somebody at a terminal wants to read it."""
    if not call.applied or call.status != 200:
        return f"  ! {call.method} answered {call.status or 'nothing'} {call.description}"
    message = simulator.world.chat(TYPIST).messages.get(call.message_id or "")
    if message is not None and call.method in ("chat.postMessage", "response_url"):
        return f"  bot [{message.ts}]: {message.text}"
    if message is not None and call.method == "chat.update":
        return f"  bot changes [{message.ts}]: {message.text}"
    return f"  ({call.method})"
