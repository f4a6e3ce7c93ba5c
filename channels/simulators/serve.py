"""A simulator on its own: serves until ended, says how to talk to it, and lets a terminal be a person.

`tenk sim PLATFORM` and `python -m channels.simulators PLATFORM [PORT]` both come here.
"""

import asyncio
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TextIO, TypeVar

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.history import Arrived
from channels.simulators.shared.server import Served
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.telegram.server import TelegramSimulator

Id = TypeVar("Id")  # int or str

Buttons = Sequence[tuple[str, str]]
"""What each says, and what it stands for."""

PORTS = {"telegram": 8081, "discord": 8082, "slack": 8083}
"""Where each platform listens unless told otherwise."""

_TELEGRAM = """\
Simulated Telegram on {base}
  a bot reaches it with   TELEGRAM_API_BASE={base} and any token, say 123456:anything
  somebody writes         curl {base}/sim/say -d '{{"chat": 1, "text": "hello"}}'
  is somebody             curl {base}/sim/person -d '{{"person": 1, "text": "Ana", "locale": "es"}}'
  what they see           curl '{base}/sim/shown?chat=1'
  what a bot called       curl '{base}/sim/history?chat=1'
  a fault by script       curl {base}/sim/faults -d '[{{"kind": "cut", "method": "sendMessage", "applied": true}}]'
End with Ctrl-C."""

_DISCORD = """\
Simulated Discord on {base}
  a bot reaches it with   DISCORD_API_BASE={base} and any token, say anything
  somebody writes         curl {base}/sim/say -d '{{"chat": 1, "text": "hello"}}'
  is somebody             curl {base}/sim/person -d '{{"person": 1, "text": "Ana", "locale": "es-ES"}}'
  uses a command          curl {base}/sim/command -d '{{"chat": 1, "name": "coach", "options": {{"text": "hi"}}}}'
  what they see           curl '{base}/sim/shown?chat=1'
  what a bot called       curl '{base}/sim/history?chat=1'
  a fault by script       curl {base}/sim/faults -d '[{{"kind": "cut", "method": "createMessage", "applied": true}}]'
  the connection          curl {base}/sim/network -d '{{"do": "cut"}}'
End with Ctrl-C."""

_SLACK = """\
Simulated Slack on {base}
  an app reaches it with  SLACK_API_BASE={base} SLACK_BOT_TOKEN=xoxb-any SLACK_APP_TOKEN=xapp-any
  somebody writes         curl {base}/sim/say -d '{{"chat": "D1", "text": "hello"}}'
  is somebody             curl {base}/sim/person -d '{{"person": "U1", "text": "Ana", "locale": "es-ES"}}'
  a slash command         curl {base}/sim/command -d '{{"chat": "C1", "text": "/log 45m guitar"}}'
  what they see           curl '{base}/sim/shown?chat=D1'
  what an app called      curl '{base}/sim/history?chat=D1'
  a fault by script       curl {base}/sim/faults -d '[{{"kind": "cut", "method": "chat.postMessage", "applied": true}}]'
End with Ctrl-C."""

PRESSES = "A button is pressed by its words in brackets: [Yes]"

_SAID = ("sendMessage", "createMessage", "followUp", "chat.postMessage", "response_url")
_CHANGED = (
    "editMessageText", "editMessage", "editOriginal", "chat.update", "chat.appendStream", "chat.stopStream",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Terminal(Generic[Id]):
    """A person at a terminal, and the platform they are on."""

    simulator: Served[Id]
    how: str  # printed first; {base} is where the simulator listens
    invitation: str  # printed when lines can be typed
    chats: Callable[[], Collection[Id]]  # whose answers are printed
    who: str  # what answers there: a bot, an app
    is_present: Callable[[], bool]  # whether it has called in, and can be spoken to
    say: Callable[[str], object]  # says a line
    text_of: Callable[[Arrived[Id]], str | None]  # what a call's message says
    buttons_of: Callable[[Id, Id], Buttons]  # of a chat's message
    press: Callable[[Id, Id, str], object]  # presses the button of a chat's message that stands for this
    offered: "list[tuple[Id, Id, Buttons]]" = field(default_factory=list)  # the last message that has buttons

    async def serve(self, out: TextIO, lines: TextIO | None) -> None:
        """See `serve`."""
        async with self.simulator:
            print(self.how.format(base=self.simulator.base_url), file=out, flush=True)
            if lines is None:
                await asyncio.Event().wait()
            else:
                print(self.invitation, file=out, flush=True)
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._show_answers(out))
                    tasks.create_task(self._type(lines, out))

    async def _type(self, lines: TextIO, out: TextIO) -> None:
        """Say each line; the end of the input ends only the typing."""
        while line := await asyncio.to_thread(lines.readline):
            if not self.is_present():
                print(f"(no {self.who} has called in yet; it was not sent)", file=out, flush=True)
            elif line.strip().startswith("[") and self.offered:
                self._press(line.strip(" []\n").casefold(), out)
            elif line.strip():
                self.say(line.rstrip("\n"))

    def _press(self, label: str, out: TextIO) -> None:
        """Press the one of the last buttons whose words begin so."""
        chat, message_id, buttons = self.offered[-1]
        meant = [value for words, value in buttons if words.casefold().startswith(label)]
        if len(meant) == 1:
            self.press(chat, message_id, meant[0])
        else:
            print(f"(there are: {_in_brackets(buttons)})", file=out, flush=True)

    async def _show_answers(self, out: TextIO) -> None:
        """Print what the bot does in the typist's chat, as it happens."""
        seen = 0

        def news() -> list[Arrived[Id]]:
            mine = self.chats()
            return [call for call in self.simulator.history(after=seen) if call.chat_id in mine]

        while True:
            try:
                await self.simulator.until(lambda: bool(news()), timeout_s=3600)
            except TimeoutError:
                continue  # nobody spoke for an hour
            for call in news():
                seen = call.seq
                print(self._as_line(call), file=out, flush=True)

    def _as_line(self, call: Arrived[Id]) -> str:
        """One call, as somebody at a terminal wants to read it."""
        if not call.applied or call.status not in (200, 204):
            return f"  ! {call.method} answered {call.status or 'nothing'} {call.description}"
        if call.method not in (*_SAID, *_CHANGED) or call.chat_id is None or call.message_id is None:
            return f"  ({call.method})"
        if (text := self.text_of(call)) is None:  # its buttons were taken away
            return f"  ({call.method})"
        line = f"  {'bot' if call.method in _SAID else 'bot changes'} [{call.message_id}]: {text}"
        buttons = self.buttons_of(call.chat_id, call.message_id)
        if buttons:
            self.offered[:] = [(call.chat_id, call.message_id, buttons)]
        return f"{line}\n    {_in_brackets(buttons)}" if buttons else line


def _in_brackets(buttons: Buttons) -> str:
    return " ".join(f"[{words}]" for words, _ in buttons)


async def serve(platform: str, *, port: int, out: TextIO | None = None, lines: TextIO | None = None) -> None:
    """Serve until cancelled. With `lines` (a terminal) each line is said by person 1 and answers are printed to `out`.

    Raises:
        OSError: the port is taken.
    """
    terminals: dict[str, Callable[[int], Terminal[int] | Terminal[str]]] = {
        "telegram": _on_telegram, "discord": _on_discord, "slack": _on_slack,
    }  # fmt: skip
    await terminals[platform](port).serve(out or sys.stdout, lines)


def _on_telegram(port: int) -> Terminal[int]:
    simulator = TelegramSimulator(port=port, any_token=True)

    def buttons_of(chat: int, message_id: int) -> Buttons:
        found = (shown for shown in simulator.messages_in(chat) if shown.message_id == message_id)
        return [label for shown in found for label in shown.buttons]

    return _with_person_1(simulator, _TELEGRAM, lambda: (1,), buttons_of)


def _on_discord(port: int) -> Terminal[int]:
    simulator = DiscordSimulator(port=port, any_token=True)

    def buttons_of(chat: int, message_id: int) -> Buttons:
        found = (shown for shown in simulator.messages_in(chat, 1) if shown.message_id == message_id)
        return [label for shown in found for label in shown.labels]

    def chats() -> Collection[int]:  # and the conversation that the bot began
        return {1, *(channel.id for channel in simulator.world.channels.values() if channel.person_id == 1)}

    return _with_person_1(simulator, _DISCORD, chats, buttons_of)


def _with_person_1(
    simulator: TelegramSimulator | DiscordSimulator,
    how: str,
    chats: Callable[[], Collection[int]],
    buttons_of: Callable[[int, int], Buttons],
) -> Terminal[int]:
    """Where people and their private chats have one number."""
    return Terminal(
        simulator,
        how,
        invitation=f"Type a line and person 1 says it. {PRESSES}",
        chats=chats,
        who="bot",
        is_present=lambda: bool(simulator.world.bots),
        say=partial(simulator.say, 1),
        text_of=lambda call: call.text,
        buttons_of=buttons_of,
        press=partial(simulator.press, person=1),
    )


def _on_slack(port: int) -> Terminal[str]:
    simulator = SlackSimulator(port=port, any_token=True)
    simulator.add_person("U1", "ann", display_name="Ann")

    def say(line: str) -> None:
        command, _, arguments = line.partition(" ")
        if line.startswith("/"):
            simulator.command("D1", command, arguments)
        else:
            simulator.say("D1", line)

    def text_of(call: Arrived[str]) -> str | None:
        message = simulator.world.chat("D1").messages.get(call.message_id or "")
        return call.text if message is None else message.text

    return Terminal(
        simulator,
        _SLACK,
        invitation=f"Type a line and person U1 says it; one that begins with / is a slash command. {PRESSES}",
        chats=lambda: ("D1",),
        who="app",
        is_present=lambda: simulator.world.app is not None,
        say=say,
        text_of=text_of,
        buttons_of=lambda chat, ts: simulator.world.chat(chat).messages[ts].labels,
        press=simulator.press,
    )


def typed_lines() -> TextIO | None:
    """The lines somebody types; None where nobody sits at a terminal."""
    return sys.stdin if sys.stdin.isatty() else None
