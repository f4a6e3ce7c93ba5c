"""Lines of a conversation: tool calls by tool, choices with their keys, the status line, and what is shown once."""

import json

import pytest

from channels.console.client import ShownMessage
from channels.markdown.parse import parse
from channels.messages import Button, ButtonStyle
from channels.turn_steps import TasksListed, ToolAnswered, ToolCalled, TurnClosed
from gateway.terminal.sessions import PastMessage
from gateway.terminal.styled_lines import text_of_lines
from gateway.terminal.tool_lines import SHOWN_ROWS, result_lines
from gateway.terminal.transcript import Transcript, choice_lines, key_choices, past_lines, status_text

CONSENT = (
    Button("Allow once", "1", ButtonStyle.PRIMARY),
    Button("Always", "2"),
    Button("Deny", "3", ButtonStyle.DANGER),
)


def message(text: str, id_: str = "b-1", *, live: bool = False, is_answer: bool = True) -> ShownMessage:
    return ShownMessage(id_, text, parse(text), live, is_answer)


def shown(name: str, arguments: object, data: object, columns: int = 60) -> str:
    called = ToolCalled("t/0/0", name, json.dumps(arguments))
    answered = ToolAnswered("t/0/0", name, "done", json.dumps({"success": True, "data": data}), 0.1)
    return text_of_lines(result_lines(called, answered, columns)[0])


LISTING = {"exit_code": 2, "output": "a\n  b", "errors": "no"}
EDIT = {"path": "a.py", "old": "x\ny", "new": "x\nz"}
FOUND = {"results": [{"title": "E", "url": "https://e.org"}]}
NEWS = {"action": "create", "name": "news", "cron": "0 8 * * *"}
STEPS = {"steps": [{"text": "a", "state": "done"}, {"text": "b"}]}


@pytest.mark.parametrize(
    ("name", "arguments", "data", "expected"),
    [
        ("shell", {"command": "ls"}, LISTING, "✓ shell  ls · exit 2\n  a\n    b\n  no"),
        ("edit_file", EDIT, {}, "✓ edit_file  a.py\n  @@ -1,2 +1,2 @@\n   x\n  -y\n  +z"),
        ("write_file", {"path": "a", "content": "x\ny"}, {}, "✓ write_file  a · 2 lines\n  +x\n  +y"),
        ("read_file", {"path": "a"}, {"text": "x\ny"}, "✓ read_file  a\n  text:\n  x\n  y"),
        ("web_fetch", {"url": "https://e.org"}, {"title": "E"}, "✓ web_fetch  https://e.org\n  title: E"),
        ("web_search", {"query": "e"}, FOUND, "✓ web_search  e\n  E  https://e.org"),
        ("schedule", NEWS, {}, "✓ schedule  create news · cron: 0 8 * * *"),
        ("memory", {"action": "forget", "name": "cat"}, {}, "✓ memory  forget cat"),
        ("todo", STEPS, {"left": 1}, "✓ todo  1 of 2 steps done"),
        ("pay", {"to": "acme", "eur": 3, "why": None}, {"id": [1]}, "✓ pay  to: acme, eur: 3\n  id: [1]"),
        ("pay", {}, "one\ntwo", "✓ pay\n  one\n  two"),
        ("pay", {}, ["a", 2], "✓ pay\n  a\n  2"),
        ("pay", {}, 7, "✓ pay\n  7"),
        ("shell", {"script": "another tool"}, {"code": 0}, "✓ shell  script: another tool\n  code: 0"),
    ],
)
def test_each_tool_is_shown_by_its_renderer(name: str, arguments: object, data: object, expected: str):
    assert expected == shown(name, arguments, data)


def test_a_call_that_failed_says_why_and_one_that_did_not_run_has_no_arguments():
    failed = ToolAnswered("t/0/0", "pay", "denied", json.dumps({"error": "the rules forbid it"}), None)
    assert "✗ pay  denied\n  the rules forbid it" == text_of_lines(result_lines(None, failed, 60)[0])
    cut = ToolAnswered("t/0/0", "pay", "done", '{"success": true, "data": "a lo…', None)
    assert "✓ pay" == text_of_lines(result_lines(None, cut, 60)[0])


def test_control_characters_of_a_tool_are_not_written():
    said = shown("shell", {"command": "a\x1b]0;t\x07"}, {"exit_code": 0, "output": "\x1b[2J\x9b31m\rx", "errors": ""})
    assert not set("\x1b\x07\x9b\r") & set(said)


def test_the_rest_of_a_long_result_waits_for_a_key():
    transcript = Transcript()
    rows = "\n".join(f"row {number}" for number in range(20))
    transcript.add_step(ToolCalled("t/0/0", "pay", "{}"), 60)
    answered = ToolAnswered("t/0/0", "pay", "done", json.dumps({"data": rows}), 0.1)
    written = text_of_lines(transcript.add_step(answered, 60)).split("\n")
    assert ["  row 5", "  … 14 more lines: Ctrl-O"] == written[-2:] and SHOWN_ROWS + 3 == len(written)
    assert ["  row 6", "  row 19"] == text_of_lines(transcript.left_out).split("\n")[::13]


def test_a_message_is_written_once_when_it_is_complete():
    transcript = Transcript()
    assert [] == transcript.add_message(message("Half", live=True), 60)
    assert "Half" == text_of_lines(transcript.live_lines(60, 10))
    assert "\nWhole" == text_of_lines(transcript.add_message(message("Whole"), 60))
    assert [] == transcript.add_message(message("Whole"), 60) == transcript.live_lines(60, 10)


def test_what_runs_is_shown_until_the_turn_ends():
    transcript = Transcript()
    transcript.add_message(message("…", live=True, is_answer=False), 60)
    assert "…" == text_of_lines(transcript.live_lines(60, 10))
    transcript.add_step(ToolCalled("t/0/0", "shell", '{"command": "make"}'), 60)
    transcript.add_step(TasksListed("- ☑ one\n- ☐ two"), 60)
    assert "• shell  make\n☑ one\n☐ two" == text_of_lines(transcript.live_lines(60, 10))
    transcript.add_message(message("1\n\n2\n\n3", live=True), 60)
    assert "3\n• shell  make\n☑ one\n☐ two" == text_of_lines(transcript.live_lines(60, 4))
    transcript.add_step(TurnClosed("completed"), 60)
    assert [] == transcript.live_lines(60, 10)


def test_a_question_has_letters_and_other_choices_have_numbers():
    assert ["y", "a", "n"] == [key for key, _, _ in key_choices(CONSENT)]
    assert ["1", "2"] == [key for key, _, _ in key_choices(CONSENT[:2])]
    assert [("3", "skills")] == [choice[:2] for choice in key_choices((Button("3. skills", "1"),))]
    assert "[y] Allow once  [a] Always\n[n] Deny" == text_of_lines(choice_lines(CONSENT, 30)).replace("\u00a0", " ")
    assert [] == choice_lines((), 30)


def test_a_narrow_status_line_leaves_out_its_end():
    parts = ["coach", "", "2 waiting", "$0.0123", "openai:gpt"]
    assert "coach · 2 waiting · $0.0123 · openai:gpt" == status_text(parts, 60)
    assert "coach · 2 waiting" == status_text(parts, 20)
    assert "coac…" == status_text(["coach\x1bs", "x"], 5).replace("\ufffd", "")


def test_the_last_messages_of_a_conversation_are_marked():
    past = [PastMessage("hello *you*", is_own=True), PastMessage("Hi **there**", is_own=False)]
    said = text_of_lines(past_lines(past, 40))
    assert "> hello *you*\n\nHi there" in said and [] == past_lines([], 40)
