"""A schema for final answers: an answer that does not fit is asked for once more, then reported."""

import json

import pytest
from pydantic import ValidationError

from agent.answer_gate import misfit
from agent.config import AgentConfig
from agent.fallbacks import ResponseDiscarded
from agent.loop import run_turn
from agent.models.scripted import Says, ScriptedModel
from agent.transcript import EndReason, Usage
from tests.fakes.agents import an_agent
from tests.fakes.turn_port import FakeTurnPort, a_turn

SCHEMA = {
    "type": "object",
    "required": ["minutes"],
    "properties": {
        "minutes": {"type": "integer", "minimum": 1},
        "skills": {"type": "array", "maxItems": 1, "items": {"type": "string", "enum": ["guitar"]}},
    },
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ('{"minutes": 5}', ""),
        ('```json\n{"minutes": 5, "skills": ["guitar"]}\n```', ""),
        ("Five minutes.", "it is not JSON alone"),
        ("[]", "answer is not of type object"),
        ("{}", "answer.minutes is missing"),
        ('{"minutes": true}', "answer.minutes is not of type integer"),
        ('{"minutes": 0}', "answer.minutes is below minimum 1"),
        ('{"minutes": 1, "x": 1}', "answer.x is not allowed"),
        ('{"minutes": 1, "skills": ["piano"]}', 'answer.skills[0] is not one of ["guitar"]'),
        ('{"minutes": 1, "skills": ["guitar", "guitar"]}', "answer.skills is above maxItems 1"),
    ],
)
def test_the_first_misfit_is_said(answer: str, problem: str) -> None:
    assert problem == misfit(answer, SCHEMA)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, ""),
        ({"next": {"next": None}}, ""),
        ({"next": {"next": 5}}, "answer fits none of anyOf"),
        ({"next": None, "kind": "other"}, "answer fits none of anyOf"),
        ({"next": None, "kind": "list", "more": 1}, ""),
        ({"next": None, "more": "1"}, "answer fits none of anyOf"),
    ],
)
def test_a_schema_may_name_its_own_parts_and_alternatives(value: object, problem: str) -> None:
    part = {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "kind": {"const": "list"}},
        "additionalProperties": {"type": ["integer", "null"]},
    }
    schema = {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/part"}], "$defs": {"part": part}}
    assert problem == misfit(json.dumps(value), schema)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (["word 999"] * 1000, {"items": {"enum": [f"word {n}" for n in range(1000)]}}),
        (5, {"$ref": "#"}),
        ([0] * 30_000, {"items": {"type": "integer"}}),
    ],
)
def test_what_takes_too_long_to_check_is_not_checked_to_its_end(value: object, schema: dict[str, object]) -> None:
    assert "it is too much to check" == misfit(json.dumps(value), schema)


async def answered(*said: str | Says) -> tuple[EndReason, FakeTurnPort, ScriptedModel]:
    port, model = FakeTurnPort(), ScriptedModel([*said])
    reason = await run_turn(a_turn(port), port.ports, an_agent(model, gate=json.dumps(SCHEMA)))
    return reason, port, model


async def test_an_answer_that_does_not_fit_is_asked_for_once_more_and_paid_for() -> None:
    first = Says("Five.", usage=Usage(40, 5))
    reason, port, model = await answered(first, '{"minutes": 5}')
    assert (EndReason.COMPLETED, '{"minutes": 5}') == (reason, port.answer)
    assert "it is not JSON alone" in model.requests[1].items[-1].text
    assert '"minutes"' in model.requests[1].items[-1].text
    assert [45] == [e.input_tokens + e.output_tokens for e in port.events if isinstance(e, ResponseDiscarded)]


async def test_a_second_answer_that_does_not_fit_is_given_and_said_to_be_so() -> None:
    reason, port, model = await answered("Five.", "Still five.", "never")
    assert (EndReason.COMPLETED, 2) == (reason, len(model.requests))
    assert port.answer.startswith("Still five.") and "this one does not have it" in port.answer


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ('{"oneOf": []}', "does not check oneOf"),
        ("[]", "is an object"),
        ("{", "not JSON"),
        ('{"type": "date"}', "'date'"),
        ('{"type": ["object", "date"]}', "'date'"),
        ('{"type": 5}', "type is a word or a list of words here"),
        ('{"anyOf": [{"pattern": "a"}]}', "does not check pattern"),
        ('{"properties": [1]}', "properties is an object here"),
        ('{"properties": {"a": {"enum": 5}}}', "enum is a list here"),
        ('{"required": [["a"]]}', "required is a list of names"),
        ('{"minLength": null}', "minLength is a number here"),
    ],
)
def test_a_schema_that_cannot_be_checked_is_refused_at_the_start(schema: str, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        AgentConfig(gate=schema)
