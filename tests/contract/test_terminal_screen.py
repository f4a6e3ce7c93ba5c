"""A person's terminal by its keys: prompt_toolkit on a pipe and a string, against the real channel on its socket."""

import asyncio
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.base import PipeInput
from prompt_toolkit.output.vt100 import Vt100_Output

from channels.base import CommandSpec, Reaction
from channels.console.adapter import ConsoleChannel
from channels.markdown.parse import parse
from channels.messages import (
    Address,
    Button,
    ButtonPressed,
    ButtonStyle,
    CommandInvoked,
    InboundMessage,
    OutboundPart,
    Rendered,
)
from channels.turn_steps import TasksListed, ToolAnswered, ToolCalled, TurnClosed
from gateway.terminal.conversation import converse
from gateway.terminal.input_history import MOST_LINES, InputHistory
from gateway.terminal.screen import KEYS_AFTER_S, Screen
from gateway.terminal.sessions import Sessions
from tests.fakes.http import Loaded, served_privately
from tests.fakes.sink import RecordingSink
from tests.fakes.terminal_screen import TerminalScreen
from tests.fakes.views import nothing_unread

HOME = Address("console", "main", "local")
CONSENT = (
    Button("Allow once", "run:1", ButtonStyle.PRIMARY),
    Button("Always", "run_always:1"),
    Button("Deny", "run_not:1", ButtonStyle.DANGER),
)


@dataclass(slots=True)
class Desk:
    """A person at a terminal, and the gateway's side of it."""

    channel: ConsoleChannel
    sink: RecordingSink
    keys: PipeInput
    drawn: TerminalScreen
    sitting: "asyncio.Task[object]"

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(5):
            while not condition():
                await asyncio.sleep(0.01)

    async def sees(self, text: str) -> None:
        await self.until(lambda: text in self.drawn.shown)

    async def hears(self, kind: type) -> object:
        """Return the newest event once it is of this kind."""
        await self.until(lambda: self.sink.events and isinstance(self.sink.events[-1], kind))
        return self.sink.events[-1]

    async def says(self, markdown: str, key: str, buttons: tuple[Button, ...] = ()) -> None:
        rendered = self.channel.renderer.render(parse(markdown))
        await self.channel.send(OutboundPart(address=HOME, rendered=rendered, idem_key=key, buttons=buttons))


@asynccontextmanager
async def desk(home: Path) -> AsyncIterator[Desk]:
    channel, sink, path = ConsoleChannel(nothing_unread), RecordingSink(), home / "c.sock"
    await channel.set_commands({"en": [CommandSpec("stats", "How it goes"), CommandSpec("plan", "Plans")]})
    async with served_privately(Loaded([channel]), path), asyncio.TaskGroup() as tasks:
        receiving = tasks.create_task(channel.run(sink))
        http = aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path)))
        with create_pipe_input() as keys:
            drawn = TerminalScreen(keys.send_text)
            output = Vt100_Output(drawn, lambda: Size(rows=24, columns=80), term="xterm")
            async with http, http.ws_connect("http://localhost/console") as peer:
                screen = Screen(home / "chat_history", Sessions(path), source=keys, output=output)
                sitting = tasks.create_task(converse(screen, peer, "en"))
                at = Desk(channel, sink, keys, drawn, sitting)
                await at.sees("connected")
                yield at
                keys.send_text("\x15\x04")  # Ctrl-U, Ctrl-D
                await sitting
        receiving.cancel()
    await channel.aclose()


async def test_a_question_is_answered_by_a_key_and_a_line_is_not(tmp_path: Path):
    async with desk(tmp_path) as at:
        await at.says("May I **pay**?", "q-1", CONSENT)
        await at.sees("[y] Allow once")
        await asyncio.sleep(KEYS_AFTER_S)
        at.keys.send_text("xn")
        pressed = await at.hears(ButtonPressed)
        assert ("b-q-1", "run_not:1") == (pressed.message_id, pressed.data)
        await at.says("May I pay more?", "q-2", CONSENT)
        await at.sees("more?")
        at.keys.send_text("yes")  # at once: it was meant as text
        await at.sees("> yes")
        assert pressed is at.sink.events[-1]
        await at.channel.close_buttons(HOME, "b-q-2")
        at.keys.send_text("\r")
        assert "yes" == (await at.hears(InboundMessage)).text
        await at.says("Which?", "q-3", (Button("One", "say:1"), Button("Two", "say:2")))
        await at.sees("[2] Two")
        at.keys.send_text("2\r")
        assert "say:2" == (await at.hears(ButtonPressed)).data


async def test_escape_writes_instead_of_an_answer_then_stops_the_turn(tmp_path: Path):
    async with desk(tmp_path) as at:
        at.channel.follow_step(HOME, "t", ToolCalled("t/0/0", "shell", '{"command": "make"}'))
        await at.says("May I?", "q-1", CONSENT)
        await at.sees("waits for you")
        await asyncio.sleep(KEYS_AFTER_S)
        at.keys.send_text("\x1b")
        await at.sees("Clear the line")
        at.keys.send_text("no, \x1b\rwait\r")  # Alt-Return is a line end
        assert "no, \nwait" == (await at.hears(InboundMessage)).text
        at.keys.send_text("\x1b")
        assert "stop" == (await at.hears(CommandInvoked)).name


async def test_interrupt_stops_the_turn_and_twice_leaves(tmp_path: Path):
    async with desk(tmp_path) as at:
        at.channel.follow_step(HOME, "t", ToolCalled("t/0/0", "shell", "{}"))
        await at.sees("working")
        at.keys.send_text("\x03")
        assert "stop" == (await at.hears(CommandInvoked)).name
        await at.sees("Ctrl-C again leaves")
        at.keys.send_text("\x03")
        await at.until(at.sitting.done)


async def test_steps_tasks_and_queue_are_shown(tmp_path: Path):
    async with desk(tmp_path) as at:
        at.channel.follow_step(HOME, "t", ToolCalled("t/0/0", "shell", '{"command": "make"}'))
        at.channel.follow_step(HOME, "t", TasksListed("- ☑ read\n- ☐ write"))
        await at.sees("☐ write")
        await at.channel.react(HOME, "mine", Reaction.QUEUED)
        await at.sees("1 waiting")
        result = '{"data": {"exit_code": 1, "output": "' + "line\\n" * 12 + 'last", "errors": ""}}'
        at.channel.follow_step(HOME, "t", ToolAnswered("t/0/0", "shell", "done", result, 0.1))
        await at.sees("✓ shell  make · exit 1")
        at.keys.send_text("\x0f")
        await at.sees("last")
        at.channel.follow_step(HOME, "t", TurnClosed("completed"))
        await at.says("# Done\n\n\\[it\\]", "a-1")
        await at.sees("Done\n════")


async def test_commands_are_completed_and_lines_are_remembered(tmp_path: Path):
    async with desk(tmp_path) as at:
        at.keys.send_text("/s")
        await at.sees("How it goes")
        at.keys.send_text("\t\r")
        assert "/stats" == (await at.hears(InboundMessage)).text
    history = tmp_path / "chat_history"
    assert (0o600, ["/stats"]) == (
        stat.S_IMODE(history.stat().st_mode),
        list(InputHistory(history).load_history_strings()),
    )


async def test_a_code_that_was_filled_in_is_shown_as_it_is(tmp_path: Path):
    async with desk(tmp_path) as at:
        markup = at.channel.renderer.render(parse("Code: **••••**")).markup
        await at.channel.send(OutboundPart(address=HOME, rendered=Rendered("Code: ABCD", markup), idem_key="c-1"))
        await at.sees("Code: ABCD")


def test_history_is_bounded_and_a_broken_line_is_left_out(tmp_path: Path):
    path = tmp_path / "chat_history"
    path.write_text("not JSON\n7\n" + '"a"\n' * (2 * MOST_LINES))
    assert MOST_LINES == len(list(InputHistory(path).load_history_strings())) == len(path.read_text().splitlines())
    path.write_text('not JSON\n7\n"b"\n')
    assert ["b"] == list(InputHistory(path).load_history_strings())
    InputHistory(path).store_string("x" * 5_000)
    InputHistory(tmp_path / "none" / "there").store_string("a")
    assert ["b"] == list(InputHistory(path).load_history_strings())
