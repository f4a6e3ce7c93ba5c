"""A judge of a conversation: yes, no, or neither."""

import json

import pytest

from agent.errors import FailureKind
from agent.evals.judge import judge
from agent.models.scripted import Says, ScriptedModel
from agent.ports import ModelFailure
from agent.transcript import Usage


async def test_the_judge_reads_the_question_and_the_conversation():
    model = ScriptedModel(
        [Says('```json\n{"reason": "It\\ngreets.", "answer": "yes"}\n```', usage=Usage(1, 1, None, None, 7))]
    )
    judged = await judge(model, "Is it kind?", [("hello", "Hello!")])
    assert (True, "It greets.", 7) == (judged.is_yes, judged.reason, judged.cost_microusd)
    (item,) = model.requests[0].items
    given = json.loads(item.text)
    assert ("Is it kind?", [{"person": "hello", "assistant": "Hello!"}]) == (
        given["question"], json.loads(given["conversation"])
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "is_yes", "reason"),
    [
        (Says('{"answer": "no", "reason": "It is rude."}'), False, "It is rude."),
        (Says("Perhaps."), None, "answered neither yes nor no: 'Perhaps.'"),
        (Says('{"answer": "maybe"}'), None, "answered neither yes nor no"),
        (ModelFailure(FailureKind.AUTH, "the key is wrong"), None, "scripted:test failed"),
    ],
)
async def test_a_judge_that_says_no_or_neither_is_told(answer, is_yes, reason):
    judged = await judge(ScriptedModel([answer]), "Is it kind?", [("hello", "Hello!")])
    assert (is_yes, True) == (judged.is_yes, reason in judged.reason)
