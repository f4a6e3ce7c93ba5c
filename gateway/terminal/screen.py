"""A person's terminal: finished lines scroll away, what changes stays above the input line, the status below it."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Self

from prompt_toolkit import PromptSession, print_formatted_text
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style

from channels.console.client import ConsoleClient, ShownMessage
from channels.messages import Button
from channels.turn_steps import TurnClosed, TurnStep
from gateway.terminal.faces import Lines
from gateway.terminal.input_history import InputHistory
from gateway.terminal.sessions import SessionFacts, Sessions
from gateway.terminal.styled_lines import DIM, Line, to_piece, wrap
from gateway.terminal.transcript import (
    Transcript,
    choice_lines,
    is_question,
    key_choices,
    past_lines,
    said_lines,
    status_text,
)

STYLE = Style.from_dict(
    {
        "bottom-toolbar": "noreverse fg:ansibrightblack",
        "dim": "fg:ansibrightblack",
        "good": "fg:ansigreen",
        "bad": "fg:ansired",
        "added": "fg:ansigreen",
        "removed": "fg:ansired",
        "code": "fg:ansicyan",
        "quote": "fg:ansibrightblack",
        "link": "underline",
        "you": "fg:ansigreen bold",
        "ask": "fg:ansiyellow bold",
    }
)
"""Colours of the terminal's own palette; without colours (NO_COLOR), weight and underlines are left."""

MIN_COLUMNS = 10  # a narrower terminal breaks lines by itself
LEAVE_WITHIN_S = 2.0  # between two Ctrl-C that leave
KEYS_AFTER_S = 0.5  # until keys answer a new question: what is typed just then was meant as text
KEY_WAIT_S = 0.2  # after Esc, until no key follows that belongs to it


class Screen:
    """The face of `tenk chat` for a person."""

    is_watched = True

    def __init__(
        self, history: Path, sessions: Sessions, *, source: Input | None = None, output: Output | None = None
    ) -> None:
        """Keep typed lines in the file `history`; `source` and `output` are for tests."""
        self.lines: Lines = asyncio.Queue()  # bounded by what a person types
        self._sessions = sessions
        self._client: ConsoleClient | None = None
        self._transcript = Transcript()
        self._facts: SessionFacts | None = None
        self._stale = asyncio.Event()  # the facts have changed
        self._question = ""  # the message that asks, once it was shown
        self._asked_s = 0.0
        self._typed_instead = ""  # the question under which the person writes a message
        self._interrupted_s = float("-inf")
        self._held = AsyncExitStack()
        begins_command = Condition(lambda: self._session.default_buffer.text.startswith("/"))
        self._session = PromptSession[str](
            message=self._above_the_line,
            style=STYLE,
            history=InputHistory(history),
            completer=_CommandCompleter(self),
            complete_while_typing=begins_command,
            bottom_toolbar=self._status,
            key_bindings=self._make_keys(),
            multiline=True,
            prompt_continuation=[(DIM, "… ")],
            erase_when_done=True,
            reserve_space_for_menu=4,
            refresh_interval=1.0,  # the end of "working" is not told
            input=source,
            output=output,
        )
        self._app = self._session.app
        self._app.timeoutlen = self._app.ttimeoutlen = KEY_WAIT_S

    # ---------------------------------------------------------------- its life

    async def open(self, client: ConsoleClient) -> Self:
        """Start to ask for lines, and print all other output above the prompt."""
        self._client, self._facts = client, await self._sessions.look()
        self._held.enter_context(patch_stdout())
        tasks = await self._held.enter_async_context(asyncio.TaskGroup())
        for running in (tasks.create_task(each()) for each in (self._read, self._keep_facts)):
            self._held.callback(running.cancel)
        return self

    async def close(self) -> None:
        await self._held.aclose()

    async def _read(self) -> None:
        with suppress(EOFError, KeyboardInterrupt):
            await self._session.prompt_async()
        self.lines.put_nowait(None)

    async def _keep_facts(self) -> None:
        while True:
            await self._stale.wait()
            self._stale.clear()
            before, self._facts = self._facts, await self._sessions.look() or self._facts
            if before and self._facts and self._facts.id in before.others:
                past = await self._sessions.last_messages(self._facts)
                self.print_lines(past_lines(past, self._columns))
            self._app.invalidate()

    # ---------------------------------------------------------------- what is shown

    @property
    def _columns(self) -> int:
        return max(MIN_COLUMNS, self._app.output.get_size().columns - 1)

    def print_lines(self, lines: Sequence[Line]) -> None:
        """Write lines above the input line; the terminal stays in raw mode, so that no key is lost meanwhile."""
        if not lines:
            return
        is_drawn, renderer = self._app.is_running, self._app.renderer
        if is_drawn:
            renderer.erase()
        print_formatted_text(_join(lines), style=STYLE, output=self._app.output)
        if is_drawn:
            renderer.reset()
            renderer.request_absolute_cursor_position()
            self._app.invalidate()

    def show(self, message: ShownMessage) -> None:
        self.print_lines(self._transcript.add_message(message, self._columns))
        if not message.is_live:
            self._stale.set()
        self.show_state()

    def show_step(self, step: TurnStep) -> None:
        self.print_lines(self._transcript.add_step(step, self._columns))
        if isinstance(step, TurnClosed):
            self._stale.set()
        self.show_state()

    def show_state(self) -> None:
        message, buttons = self._offered
        if is_question(buttons) and message != self._question:
            self._question, self._asked_s = message, asyncio.get_running_loop().time()
        self._app.invalidate()

    def notice(self, text: str) -> None:
        self._transcript.forget_running()
        self._stale.set()
        self.print_lines([[], *wrap([to_piece(text, DIM)], self._columns)])

    def _above_the_line(self) -> FormattedText:
        """Return what changes, the choices of a question, and the prompt."""
        size = self._app.output.get_size()
        lines = self._transcript.live_lines(self._columns, size.rows // 2)
        choices = choice_lines(self._offered[1], self._columns)
        if choices and is_question(self._offered[1]):
            hint = "Keys answer; Esc: write instead." if self._asks() else "Clear the line to answer by a key."
            choices += wrap([to_piece(hint, DIM)], self._columns)
        shown = [*([[]] if lines or choices else []), *lines, *choices]
        return FormattedText([*_join(shown), ("", "\n"), ("class:ask", "? ") if self._asks() else ("class:you", "> ")])

    def _status(self) -> FormattedText:
        client, facts = self._client, self._facts
        if client is None:
            return FormattedText()
        now_s = asyncio.get_running_loop().time()
        waiting = client.queued + (0 if client.is_connected else len(client.untaken))
        is_leaving = now_s - self._interrupted_s < LEAVE_WITHIN_S
        state = "waits for you" if client.waits_for_person else "working, Esc stops" if client.is_busy(now_s) else ""
        cost = "" if facts is None or facts.cost_usd is None else f"${facts.cost_usd:.4f}"
        parts = [
            "Ctrl-C again leaves" if is_leaving else "",
            "" if client.is_connected else "no connection",
            facts.agent if facts else "",
            state,
            f"{waiting} waiting" if waiting else "",
            cost,
            facts.model if facts else "",
            "connected" if client.is_connected else "",
        ]
        return FormattedText([("", status_text(parts, self._columns))])

    # ---------------------------------------------------------------- keys

    @property
    def commands(self) -> Sequence[tuple[str, str]]:
        """Return the agent's commands with their summaries."""
        return () if self._client is None else self._client.commands

    @property
    def _offered(self) -> tuple[str, tuple[Button, ...]]:
        return ("", ()) if self._client is None else self._client.offered

    def _asks(self) -> bool:
        """Return True if keys answer a question instead of writing text."""
        message, buttons = self._offered
        is_open = is_question(buttons) and self._typed_instead != message
        return is_open and not self._session.default_buffer.text

    def _make_keys(self) -> KeyBindings:
        keys, asks = KeyBindings(), Condition(self._asks)
        keys.add("enter", filter=~asks)(self._accept)
        keys.add("escape", "enter", filter=~asks)(lambda event: event.current_buffer.insert_text("\n"))
        keys.add("escape")(self._escape)
        keys.add("c-c")(self._interrupt)
        keys.add(Keys.SIGINT)(lambda event: event.app.exit(exception=KeyboardInterrupt))
        keys.add("c-o")(self._show_left_out)
        keys.add(Keys.Any, filter=asks)(self._answer)
        keys.add("enter", filter=asks)(lambda _event: None)
        return keys

    def _accept(self, event: KeyPressEvent) -> None:
        """Send the line."""
        buffer = event.current_buffer
        text = buffer.text
        buffer.append_to_history()
        buffer.reset()
        if text.strip():
            self.print_lines(said_lines(text.strip(), self._columns))
            self.lines.put_nowait(text)

    def _answer(self, event: KeyPressEvent) -> None:
        """Press the button of this key; a key that comes too soon after the question was meant as text."""
        message, buttons = self._offered
        if asyncio.get_running_loop().time() - self._asked_s < KEYS_AFTER_S:
            event.current_buffer.insert_text(event.data)
            return
        for key, label, button in key_choices(buttons):
            if event.data.lower() == key and self._client is not None:
                self.print_lines([[], [("class:ask", "→ "), to_piece(label)]])
                self._client.press(message, button)
                return

    def _escape(self, event: KeyPressEvent) -> None:
        """Write a message instead of an answer, or stop the running turn."""
        if self._asks():
            self._typed_instead = self._offered[0]
        elif event.current_buffer.complete_state is not None:
            event.current_buffer.cancel_completion()
        else:
            self._stop()

    def _interrupt(self, event: KeyPressEvent) -> None:
        """Stop the running turn; leave if it comes twice."""
        now_s = asyncio.get_running_loop().time()
        if now_s - self._interrupted_s < LEAVE_WITHIN_S:
            event.app.exit(exception=EOFError)
            return
        self._interrupted_s = now_s
        if not self._stop():
            event.current_buffer.reset()

    def _stop(self) -> bool:
        """Stop the running turn; return False if none runs."""
        if self._client is None or not self._client.is_busy(asyncio.get_running_loop().time()):
            return False
        self._client.stop()
        return True

    def _show_left_out(self, _event: KeyPressEvent) -> None:
        """Print the rest of the last result that was cut."""
        lines, self._transcript.left_out = self._transcript.left_out, []
        self.print_lines(lines)


class _CommandCompleter(Completer):
    """Names of the agent's commands, while a line begins with one."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def get_completions(self, document: Document, _complete_event: CompleteEvent) -> list[Completion]:
        """Return the commands that begin as the line does."""
        begun = document.text_before_cursor
        if not begun.startswith("/") or any(map(str.isspace, begun)):
            return []
        return [
            Completion(f"/{name}", -len(begun), display_meta=to_piece(summary)[1])
            for name, summary in self._screen.commands
            if name.startswith(begun[1:])
        ]


def _join(lines: Sequence[Line]) -> FormattedText:
    """Return lines as formatted text."""
    joined: Line = []
    for number, line in enumerate(lines):
        joined += [("", "\n")] * (number > 0) + list(line)
    return FormattedText(joined)
