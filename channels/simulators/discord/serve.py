"""The simulator on its own: serves until ended, says how to talk to it, and lets a terminal be person 1.

`tenk sim discord` and `python -m channels.simulators.discord` both come here.
"""

from functools import partial
from typing import TextIO

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.serving import Terminal, line_of, serve_alone

DEFAULT_PORT = 8082
TYPIST = 1  # the person whose lines the terminal types
_SAID = frozenset({"createMessage", "followUp"})
_CHANGED = frozenset({"editMessage", "editOriginal"})

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


async def serve(*, port: int = DEFAULT_PORT, out: TextIO | None = None, lines: TextIO | None = None) -> None:
    """Serve until cancelled. With `lines` (a terminal) each line is said by person 1 and answers are printed.

    Raises:
        OSError: the port is taken.
    """
    simulator = DiscordSimulator(port=port, any_token=True)
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
