"""The translation between an editor's protocol and the gateway's API, and the patience with a gateway that is away."""

import json

import pytest
from acp import embedded_text_resource, resource_block, resource_link_block, text_block
from acp.schema import ToolCallProgress, ToolCallStart

from gateway.cli.acp_client import NotReached, Patience
from gateway.cli.acp_updates import AnswerText, ShownCalls, kind_of, past_updates, to_message
from gateway.errors import GatewayError


def test_a_prompt_is_one_message_with_its_files_quoted() -> None:
    prompt = [
        text_block("Look at"),
        resource_link_block("notes.md", "file:///notes.md"),
        resource_block(embedded_text_resource("file:///a.py", "x = 1")),
    ]
    expected = "Look at\n\n[notes.md](file:///notes.md)\n\nfile:///a.py:\n```\nx = 1\n```"
    assert expected == to_message(prompt)


def test_an_answer_that_begins_anew_is_told_once_and_another_text_as_a_new_paragraph() -> None:
    text, told = AnswerText(), []

    def tell() -> None:
        if (news := text.news()) is not None:
            told.append(news.content.text)

    for stream in (["Hel", "lo"], ["Hel", "lo", " you"]):  # the second one after a lost connection
        text.begin_stream()
        for piece in stream:
            text.take("delta", piece)
            tell()
    text.take("replace", "No.")
    tell()
    assert ["Hel", "lo", " you", "\n\nNo."] == told


def test_a_call_is_shown_once_with_its_plan_and_its_result() -> None:
    calls = ShownCalls()
    steps = json.dumps({"steps": [{"text": "Read", "state": "done"}, {"text": "Write"}]})
    start, plan = calls.start({"call": "1", "name": "todo", "arguments": steps})
    assert isinstance(start, ToolCallStart) and "todo" == start.title
    assert [("Read", "completed"), ("Write", "pending")] == [(each.content, each.status) for each in plan.entries]
    done = {"call": "1", "name": "todo", "outcome": "done", "result": '{"success": true, "data": {"left": 1}}'}
    ended = calls.end(done)
    assert isinstance(ended, ToolCallProgress) and "completed" == ended.status
    assert '{\n "left": 1\n}' == ended.content[0].content.text
    denied = calls.end({"call": "2", "name": "shell", "outcome": "denied", "result": '{"success": false, "er'})
    assert isinstance(denied, ToolCallStart) and ("failed", "execute") == (denied.status, denied.kind)
    assert '{"success": false, "er' == denied.content[0].content.text
    assert "other" == kind_of("undo_last_log")
    (asked,) = calls.start({"call": "3", "name": "web_fetch", "arguments": json.dumps({"url": "x" * 200})})
    assert (120, "…") == (len(asked.title), asked.title[-1])


def test_a_conversation_is_shown_without_the_words_for_questions() -> None:
    newest_first = [
        {"message": "1", "answer": "Done.", "for_question": True},
        {"message": "do it", "answer": "Done.", "for_question": False},
        {"message": None, "answer": "", "for_question": False},
    ]
    assert ["do it", "Done."] == [update.content.text for update in past_updates(newest_first)]


def test_a_gateway_that_is_away_is_asked_for_ten_minutes() -> None:
    patience, now_s = Patience(), 0.0
    for wait_s in (2, 4, 8, 16, 32, 64, 120, 120, 120, 114):
        assert wait_s == patience.next_wait_s(now_s, NotReached("it is away"))
        now_s += wait_s
    with pytest.raises(GatewayError, match="10 minutes"):
        patience.next_wait_s(now_s, NotReached("it is away"))
    patience.note_answer()
    assert 2 == patience.next_wait_s(now_s, NotReached("again"))
