"""The conversation as a terminal shows it: lines that are written once, and those that change below them; pure."""

from collections.abc import Sequence

from channels.console.client import ShownMessage, number_choices
from channels.markdown.parse import parse
from channels.messages import Button, ButtonStyle
from channels.turn_steps import TasksListed, ToolAnswered, ToolCalled, TurnClosed, TurnStep
from gateway.terminal.markdown_lines import document_lines
from gateway.terminal.sessions import PastMessage
from gateway.terminal.styled_lines import DIM, Line, shorten, to_piece, wrap
from gateway.terminal.tool_lines import call_line, result_lines

KEYS = {ButtonStyle.PRIMARY: "y", ButtonStyle.DANGER: "n", ButtonStyle.SECONDARY: "a"}
"""Keys of the answers to a question; other buttons are pressed by their numbers."""

NO_BREAK = "\u00a0"
MOST_RUNNING = 4  # calls shown at once while they run


class Transcript:
    """Messages and steps, turned into lines."""

    def __init__(self) -> None:
        self.left_out: list[Line] = []
        """Rest of the last result that was cut."""
        self._growing: ShownMessage | None = None
        self._printed: dict[str, str] = {}  # text by message id
        self._calls: dict[str, ToolCalled] = {}  # running, by id
        self._tasks = ""

    def add_message(self, message: ShownMessage, columns: int) -> list[Line]:
        """Return the lines to write for a message; none while it grows, or if it was written before."""
        if message.is_live:
            self._growing = message
            return []
        if self._growing is not None and self._growing.id == message.id:
            self._growing = None
        if self._printed.get(message.id) == message.text:
            return []
        self._printed[message.id] = message.text
        return [[], *document_lines(message.blocks, columns)]

    def add_step(self, step: TurnStep, columns: int) -> list[Line]:
        """Return the lines to write for a step."""
        match step:
            case ToolCalled():
                self._calls[step.call] = step
            case ToolAnswered():
                lines, left_out = result_lines(self._calls.pop(step.call, None), step, columns)
                self.left_out = left_out or self.left_out
                return [[], *lines]
            case TasksListed(text):
                self._tasks = "\n".join(line.removeprefix("- ") for line in text.splitlines())
            case TurnClosed():
                self._calls.clear()
                self._tasks, self._growing = "", None
        return []

    def live_lines(self, columns: int, rows: int) -> list[Line]:
        """Return the lines that change: the end of the growing answer, running calls, the list of steps."""
        running = list(self._calls.values())[-MOST_RUNNING:]
        below = [call_line(call.name, call.arguments, columns) for call in running]
        below += document_lines(parse(self._tasks), columns)
        above: list[Line] = []
        if self._growing is not None and self._growing.is_answer:
            above = document_lines(self._growing.blocks, columns)
        elif not below and self._growing is not None:
            above = [[to_piece(shorten(self._growing.text.partition("\n")[0], columns), DIM)]]
        return above[-max(1, rows - len(below)) :] + below

    def forget_running(self) -> None:
        """Forget what runs: the connection was lost."""
        self._calls.clear()
        self._tasks, self._growing = "", None


def said_lines(text: str, columns: int) -> list[Line]:
    """Return the lines of a message of the person."""
    return [[], *wrap([to_piece(text, "bold")], columns, [("class:you", "> ")], [("", "  ")])]


def past_lines(past: Sequence[PastMessage], columns: int) -> list[Line]:
    """Return the lines of a conversation's last messages."""
    lines: list[Line] = []
    for message in past:
        said = document_lines(parse(message.text), columns)
        lines += said_lines(message.text, columns) if message.is_own else [[], *said]
    return [[], [(DIM, "── the last messages ──")], *lines, [], [(DIM, "──")]] if past else []


def is_question(buttons: Sequence[Button]) -> bool:
    """Return True if the buttons ask for a decision, which keys answer."""
    styles = [button.style for button in buttons]
    return ButtonStyle.PRIMARY in styles and ButtonStyle.DANGER in styles


def key_choices(buttons: Sequence[Button]) -> list[tuple[str, str, Button]]:
    """Return each button after its key and its label: the first of each style has a letter in a question."""
    choices = number_choices(buttons)
    if not is_question(buttons):
        return choices
    letters = dict(KEYS)
    return [(letters.pop(button.style, number), label, button) for number, label, button in choices]


def choice_lines(buttons: Sequence[Button], columns: int) -> list[Line]:
    """Return the choices of a message with their keys."""
    pieces: Line = []
    for key, label, _ in key_choices(buttons):
        words = label.replace(" ", NO_BREAK)
        pieces += [("class:ask", f"[{key}]{NO_BREAK}"), to_piece(words), ("", "  ")]
    return wrap(pieces, columns) if pieces else []


def status_text(parts: Sequence[str], columns: int) -> str:
    """Return the status line; parts at its end are left out first if it is narrow."""
    kept = [" ".join(to_piece(part)[1].split()) for part in parts if part]
    while len(kept) > 1 and len(" · ".join(kept)) > columns:
        kept.pop()
    return shorten(" · ".join(kept), columns)
