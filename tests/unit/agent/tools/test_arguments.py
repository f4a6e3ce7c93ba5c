"""Malformed arguments of a model (F34, F38)."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from agent.tools.schema import BadArguments, NotJson, parse, read


class Practice(BaseModel):
    skill: str
    minutes: int = Field(default=0, ge=0)
    tags: list[str] = []


def test_good_arguments_are_the_tools_own_model():
    assert Practice(skill="guitar", minutes=45) == read('{"skill": "guitar", "minutes": 45}', Practice)[0]
    assert {} == parse("") == parse(" ") == parse("{}")


@pytest.mark.parametrize(
    "written",
    [
        "{oops",
        '{"skill": "a",}',
        '{"minutes": NaN}',
        '{"minutes": Infinity}',
        '{"minutes": 1e999}',
        '{"skill": "a", "skill": "b"}',
        '{"a": {"b": 1, "b": 2}}',
        '{"minutes": ' + "9" * 5000 + "}",
        '{"tags": ' + "[" * 100_000 + "]" * 100_000 + "}",
        "[" * 100_000,
        '"skill"',
        "[]",
        "null",
        "3",
        "{'skill': 'a'}",
        '{"skill": "\x00"}',
        "x" * 2_000_000,
    ],
)
def test_f34_what_is_no_json_object_is_malformed(written):
    with pytest.raises(NotJson) as caught:
        read(written, Practice)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("{}", "skill: Field required"),
        ('{"skill": 1}', "skill"),
        ('{"skill": "a", "minutes": "many"}', "minutes"),
        ('{"skill": "a", "minutes": -1}', "minutes"),
        ('{"skill": "a", "user_id": "bob"}', "Unknown arguments: user_id"),
    ],
)
def test_f38_what_does_not_fit_is_said_by_name(written, words):
    with pytest.raises(BadArguments, match=words) as caught:
        read(written, Practice)
    assert not isinstance(caught.value, NotJson)


def test_f40_text_in_arguments_is_mended():
    assert "a\ufffdb" == read('{"skill": "a\\ud800\\u0000b"}', Practice)[0].skill


@given(st.text(max_size=200))
def test_no_text_breaks_it(written):
    with contextlib.suppress(NotJson):
        assert isinstance(parse(written), dict)
