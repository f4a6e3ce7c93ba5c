"""A simulator on its own: serves until ended, says how to talk to it, and lets a terminal be a person.

`tenk sim PLATFORM` and `python -m channels.simulators PLATFORM [PORT]` both come here.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.shared.world import Call
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.telegram.server import TelegramSimulator

PORTS = {"telegram": 8081, "discord": 8082, "slack": 8083}
"""Default port of each platform."""

_TELEGRAM = """\
Simulated Telegram on {base}
  a bot reaches it with   TELEGRAM_API_BASE={base} and any token, say 123456:anything
  a person writes         curl {base}/sim/say -d '{{"chat": 1, "text": "hello"}}'
  a person's name         curl {base}/sim/add_person -d '{{"person": 1, "name": "Ana", "language_code": "es"}}'
  what they see           curl '{base}/sim/shown?chat=1'
  what a bot called       curl '{base}/sim/history?chat=1'
  a fault by script       curl {base}/sim/faults -d '[{{"kind": "cut", "method": "sendMessage", "applied": true}}]'
End with Ctrl-C."""

_DISCORD = """\
Simulated Discord on {base}
  a bot reaches it with   DISCORD_API_BASE={base} and any token, say anything
  a person writes         curl {base}/sim/say -d '{{"chat": 1, "text": "hello"}}'
  a person's name         curl {base}/sim/add_person -d '{{"person": 1, "name": "Ana", "locale": "es-ES"}}'
  a command               curl {base}/sim/command -d '{{"chat": 1, "name": "coach", "text": "hi"}}'
  what they see           curl '{base}/sim/shown?chat=1'
  what a bot called       curl '{base}/sim/history?chat=1'
  a fault by script       curl {base}/sim/faults -d '[{{"kind": "cut", "method": "createMessage", "applied": true}}]'
  the connection          curl {base}/sim/network -d '{{"do": "cut"}}'
End with Ctrl-C."""

_SLACK = """\
Simulated Slack on {base}
  an app reaches it with  SLACK_API_BASE={base} SLACK_BOT_TOKEN=xoxb-any SLACK_APP_TOKEN=xapp-any
  a person writes         curl {base}/sim/say -d '{{"chat": "D1", "text": "hello"}}'
  a person's name         curl {base}/sim/add_person -d '{{"person": "U1", "name": "Ana", "locale": "es-ES"}}'
  a slash command         curl {base}/sim/command -d '{{"chat": "C1", "name": "/log", "text": "45m guitar"}}'
  what they see           curl '{base}/sim/shown?chat=D1'
  what an app called      curl '{base}/sim/history?chat=D1'
  a fault by script       curl {base}/sim/faults -d '[{{"kind": "cut", "method": "chat.postMessage", "applied": true}}]'
End with Ctrl-C."""

PLATFORMS: Mapping[str, tuple[Callable[..., AnySimulator], str]] = {
    "telegram": (TelegramSimulator, _TELEGRAM),
    "discord": (DiscordSimulator, _DISCORD),
    "slack": (SlackSimulator, _SLACK),
}

INVITATION = """\
Type a line and person 1 says it; one that begins with / is a command if the platform knows it.
A button is pressed by its words in brackets: [Yes]"""

_SAID = ("sendMessage", "createMessage", "followUp", "chat.postMessage", "response_url")
_CHANGED = (
    "editMessageText",
    "editMessage",
    "editOriginal",
    "chat.update",
    "chat.appendStream",
    "chat.stopStream",
)


class Terminal:
    """A person at a terminal, and the platform they are on."""

    def __init__(self, simulator: AnySimulator, out: TextIO) -> None:
        """Take the platform, on which the typist is person 1, and where to print."""
        self._simulator = simulator
        self._out = out
        self._offered: tuple[Any, Any, list[tuple[str, str]]] | None = None  # the last message with buttons

    async def type_lines(self, lines: TextIO) -> None:
        """Say each line; the end of the input ends only the typing."""
        while line := await asyncio.to_thread(lines.readline):
            words = line.strip()
            if not self._simulator.has_bot():
                self._print("(no bot has called in yet; it was not sent)")
            elif words.startswith("[") and self._offered is not None:
                self._press(words.strip(" []").casefold())
            elif words:
                self._say(line.rstrip("\n"))

    def _say(self, line: str) -> None:
        chat = self._simulator.direct(1)
        command, _, arguments = line.removeprefix("/").partition(" ")
        if line.startswith("/") and self._simulator.has_command(command, arguments):
            self._simulator.command(chat, command, arguments)
        else:
            self._simulator.say(chat, line)

    def _press(self, label: str) -> None:
        """Press the one of the last buttons whose words begin so."""
        assert self._offered is not None, "checked by the caller"
        chat, message_id, buttons = self._offered
        meant = [value for words, value in buttons if words.casefold().startswith(label)]
        if len(meant) == 1:
            self._simulator.press(chat, message_id, meant[0], person=1)
        else:
            self._print(f"(there are: {_in_brackets(buttons)})")

    async def show_answers(self) -> None:
        """Print what the bot does in the typist's chat, as it happens."""
        seen = 0

        def news() -> list[Call[Any]]:
            if not self._simulator.has_bot():
                return []
            chat = self._simulator.find_chat(self._simulator.direct(1))
            mine = (self._simulator.direct(1), None if chat is None else chat.id)
            return [call for call in self._simulator.history(after=seen) if call.chat_id in mine]

        while True:
            try:
                await self._simulator.until(lambda: bool(news()), timeout_s=3600)
            except TimeoutError:
                continue  # nothing was said for an hour
            for call in news():
                seen = call.seq
                self._print(self._as_line(call))

    def _as_line(self, call: Call[Any]) -> str:
        """Return one call as a person at a terminal wants to read it."""
        if not call.applied or call.status not in (200, 204):
            return f"  ! {call.method} answered {call.status or 'nothing'} {call.description}"
        chat = self._simulator.find_chat(call.chat_id)
        message = None if chat is None else chat.messages.get(call.message_id)
        if call.method not in (*_SAID, *_CHANGED) or message is None:
            return f"  ({call.method})"
        line = f"  {'bot' if call.method in _SAID else 'bot changes'} [{call.message_id}]: {message.text}"
        if not message.buttons:
            return line
        self._offered = (call.chat_id, call.message_id, message.buttons)
        return f"{line}\n    {_in_brackets(message.buttons)}"

    def _print(self, line: str) -> None:
        print(line, file=self._out, flush=True)


def _in_brackets(buttons: list[tuple[str, str]]) -> str:
    return " ".join(f"[{words}]" for words, _ in buttons)


async def serve(platform: str, *, port: int, out: TextIO | None = None, lines: TextIO | None = None) -> None:
    """Serve until cancelled. With `lines` (a terminal) each line is said by person 1 and answers are printed to `out`.

    Raises:
        OSError: the port is taken.
    """
    make, how = PLATFORMS[platform]
    out = out or sys.stdout
    async with make(port=port, any_token=True) as simulator:
        print(how.format(base=simulator.base_url), file=out, flush=True)
        if lines is None:
            await asyncio.Event().wait()
        else:
            print(INVITATION, file=out, flush=True)
            simulator.name_person(1, "Ann")
            terminal = Terminal(simulator, out)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(terminal.show_answers())
                tasks.create_task(terminal.type_lines(lines))


def typed_lines() -> TextIO | None:
    """Return the lines typed at a terminal; None if there is none."""
    return sys.stdin if sys.stdin.isatty() else None
