"""The simulator on its own: serves until ended, says how to talk to it, and lets a terminal be person U1.

`tenk sim slack` and `python -m channels.simulators.slack` both come here.
"""

from functools import partial
from typing import TextIO

from channels.simulators.shared.history import Arrived
from channels.simulators.shared.serving import Terminal, serve_alone
from channels.simulators.slack.server import SlackSimulator

DEFAULT_PORT = 8083
TYPIST = "D1"  # the direct message whose person the terminal is
TYPISTS_NAME = "Ann"

_HOW = """\
Simulated Slack on {base}
  an app reaches it with  SLACK_API_BASE={base} SLACK_BOT_TOKEN=xoxb-any SLACK_APP_TOKEN=xapp-any
  somebody writes         curl {base}/sim/say -d '{{"chat": "D1", "text": "hello"}}'
  a slash command         curl {base}/sim/command -d '{{"chat": "C1", "text": "/log 45m guitar"}}'
  what they see           curl '{base}/sim/shown?chat=D1'
  what an app called      curl '{base}/sim/history?chat=D1'
  a fault by script       curl {base}/sim/faults -d '[{{"kind": "cut", "method": "chat.postMessage", "applied": true}}]'
End with Ctrl-C."""


async def serve(*, port: int = DEFAULT_PORT, out: TextIO | None = None, lines: TextIO | None = None) -> None:
    """Serve until cancelled. With `lines` (a terminal) each line is said by person U1 and answers are printed.

    Raises:
        OSError: the port is taken.
    """
    simulator = SlackSimulator(port=port, any_token=True)
    simulator.add_person("U1", "ann", display_name=TYPISTS_NAME)
    terminal = Terminal(
        how=_HOW,
        invitation="Type a line and person U1 says it; one that begins with / is a slash command.",
        chat=TYPIST,
        who="app",
        present=lambda: simulator.world.app is not None,
        say=partial(_say, simulator),
        as_line=partial(_as_line, simulator),
    )
    await serve_alone(simulator, terminal, out, lines)


def _say(simulator: SlackSimulator, line: str) -> None:
    """Say a line, or use the slash command it is."""
    if line.startswith("/"):
        command, _, arguments = line.partition(" ")
        simulator.command(TYPIST, command, arguments)
    else:
        simulator.say(TYPIST, line)


def _as_line(simulator: SlackSimulator, call: Arrived[str]) -> str:
    """One call, as somebody at a terminal wants to read it."""
    if not call.applied or call.status != 200:
        return f"  ! {call.method} answered {call.status or 'nothing'} {call.description}"
    message = simulator.world.chat(TYPIST).messages.get(call.message_id or "")
    if message is not None and call.method in ("chat.postMessage", "response_url"):
        return f"  bot [{message.ts}]: {message.text}"
    if message is not None and call.method in ("chat.update", "chat.appendStream", "chat.stopStream"):
        return f"  bot changes [{message.ts}]: {message.text}"
    return f"  ({call.method})"
