"""A tool's schema is a model, or a JSON Schema of another origin."""

import json

import pytest
from pydantic import BaseModel

from agent.tools.base import Effect
from agent.tools.schema import BadArguments, UnusableSchema, fit, fit_output, names_in, to_json_schema
from tests.fakes.agents import a_tool

PLACE = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Place",
    "type": "object",
    "properties": {
        "town": {"type": "string", "minLength": 2, "title": "Town"},
        "days": {"type": ["integer", "null"]},
        "unit": {"enum": ["C", "F"]},
        "near": {"type": "array", "items": {"type": "object", "properties": {"km": {"type": "number"}}}},
    },
    "required": ["town"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("effect", Effect)
def test_a_json_schema_is_passed_on_unchanged(effect: Effect) -> None:
    assert PLACE == a_tool("forecast", None, PLACE, effect).spec.schema


@pytest.mark.parametrize(
    "given",
    [
        {"town": "Lima"},
        {"town": "Lima", "days": None, "unit": "C", "near": [{"km": 3}, {"km": 2.5, "more": True}]},
        {"town": "Lima", "days": 2.0},
    ],
)
def test_what_fits_a_json_schema_is_given_as_it_is(given: dict[str, object]) -> None:
    assert given == fit(dict(given), PLACE)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "arguments: town is missing"),
        ({"town": 3}, "town: has to be string"),
        ({"town": "Lima", "days": True}, "days: has to be integer or null"),
        ({"town": "Lima", "days": 2.5}, "days: has to be integer or null"),
        ({"town": "Lima", "unit": "K"}, r'unit: has to be one of \["C", "F"\]'),
        ({"town": "Lima", "near": [{"km": 1}, {"km": "far"}]}, r"near\.1\.km: has to be number"),
        ({"town": "Lima", "user": "u1"}, "arguments: unknown: user; known: days, near, town, unit"),
    ],
)
def test_what_does_not_fit_a_json_schema_is_said_by_its_place(given: dict[str, object], words: str) -> None:
    with pytest.raises(BadArguments, match=words):
        fit(given, PLACE)


def test_fields_are_named_where_no_others_are_taken() -> None:
    assert frozenset(PLACE["properties"]) == names_in(PLACE)
    assert names_in({"type": "object", "properties": {"town": {}}}) is None


def test_an_output_is_held_against_a_json_schema() -> None:
    class Found(BaseModel):
        town: str

    found = Found(town="Lima")
    assert found is fit_output(found, PLACE)
    with pytest.raises(ValueError, match="has to be object"):
        fit_output(["Lima"], PLACE)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({}, 'its "type" is None, and has to be "object"'),
        ({"type": "string"}, 'its "type" is \'string\', and has to be "object"'),
        ({"type": "object", "default": {1, 2}}, "it is not JSON: "),
        ({"type": "object", "properties": ["town"]}, 'its "properties" have to be'),
        ({"type": "object", "properties": {"town": "string"}}, 'its "properties" have to be'),
        ({"type": "object", "required": "town"}, 'its "required" has to be a list of names'),
    ],
)
def test_a_schema_that_cannot_be_used_says_why(schema: dict[str, object], words: str) -> None:
    with pytest.raises(UnusableSchema, match=words):
        to_json_schema(schema)


def test_odd_schemas_inside_a_json_schema_hold_nothing_up() -> None:
    odd = {"type": "object", "properties": {"a": True, "b": {"type": "colour"}, "c": {"items": False}}}
    given = json.loads('{"a": 1, "b": 2, "c": [3]}')
    assert given == fit(given, odd)
