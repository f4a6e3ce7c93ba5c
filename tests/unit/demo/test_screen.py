"""The demo's output: plain without a terminal, no text lost by wrapping."""

from io import StringIO

from gateway.demo.chat import Entry, Kind
from gateway.demo.main import DemoScreen

STORY = (
    Entry(Kind.SCENE, "1. A scene that is not drawn"),
    Entry(Kind.NOTE, "Nothing happens."),
    Entry(Kind.SCENE, "2. Another"),
    Entry(Kind.SCENE, "3. She asks"),
    Entry(Kind.SAID, "How am I <doing>?", 1.0, "Ana", "Ana on Telegram"),
    Entry(Kind.REACTION, "How am I <doing>?", 2.0, "TenK", "Ana on Telegram", new="👌"),
    Entry(Kind.GROWING, "You did 45 …", 2.5, "TenK", "Ana on Telegram", new="You did 45"),
    Entry(Kind.COMMAND, "kill -9 1", 2.6),
    Entry(Kind.ANSWER, "You did 45 min & more.", 3.0, "TenK", "Ana on Telegram"),
)


def test_a_screen_without_a_terminal_prints_plain_lines() -> None:
    out = StringIO()
    screen = DemoScreen(out)
    for entry in STORY:
        screen.show(entry)
    printed = out.getvalue()
    assert "\x1b" not in printed
    assert "s Ana     How am I <doing>?\n" in printed
    assert "s TenK    (reacts 👌 to “How am I <doing>?”)\n" in printed
    assert "s TenK    (writing, 3 words) You did 45\n" in printed


def test_a_long_answer_is_printed_without_its_middle() -> None:
    out = StringIO()
    DemoScreen(out).show(Entry(Kind.ANSWER, "\n".join(f"line {n}" for n in range(60)), 1.0, "TenK", "Ana on Telegram"))
    assert "line 0\n" in out.getvalue()
    assert "[42 lines more]" in out.getvalue()
    assert "line 59\n" in out.getvalue()
