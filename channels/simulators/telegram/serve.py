"""The simulator on its own: serves until ended, says how to talk to it, and lets a terminal be person 1.

`tenk sim telegram` and `python -m channels.simulators.telegram` both come here.
"""

from functools import partial
from typing import TextIO

from channels.simulators.shared.serving import Terminal, line_of, serve_alone
from channels.simulators.telegram.server import TelegramSimulator

DEFAULT_PORT = 8081
TYPIST = 1  # the person whose lines the terminal types
_SAID = frozenset({"sendMessage"})
_CHANGED = frozenset({"editMessageText"})

_HOW = """\
Simulated Telegram on {base}
  a bot reaches it with   TELEGRAM_API_BASE={base} and any token, say 123456:anything
  somebody writes         curl {base}/sim/say -d '{{"chat": 1, "text": "hello"}}'
  what they see           curl '{base}/sim/shown?chat=1'
  what a bot called       curl '{base}/sim/history?chat=1'
  a fault by script       curl {base}/sim/faults -d '[{{"kind": "cut", "method": "sendMessage", "applied": true}}]'
End with Ctrl-C."""


async def serve(*, port: int = DEFAULT_PORT, out: TextIO | None = None, lines: TextIO | None = None) -> None:
    """Serve until cancelled. With `lines` (a terminal) each line is said by person 1 and answers are printed.

    Raises:
        OSError: the port is taken.
    """
    simulator = TelegramSimulator(port=port, any_token=True)
    terminal = Terminal(
        how=_HOW,
        invitation="Type a line and person 1 says it.",
        chat=TYPIST,
        who="bot",
        present=lambda: bool(simulator.world.bots),
        say=partial(simulator.say, TYPIST),
        as_line=partial(line_of, said=_SAID, changed=_CHANGED),
    )
    await serve_alone(simulator, terminal, out, lines)
