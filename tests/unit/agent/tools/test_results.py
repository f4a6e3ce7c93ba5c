"""Results: always a JSON object, always bounded (F49)."""

import json
import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from agent.tools.results import RAW_CHARS, failure_result, fit_result, success_result


@dataclass
class Point:
    x: int
    when: datetime


class Colour(Enum):
    RED = "red"


class Model(BaseModel):
    day: date


def read(content):
    content.encode()
    assert "\x00" not in content
    result = json.loads(content, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert {"success", "data", "error"} == set(result)
    return result


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (None, None),
        ({"a": [1, 2.5, True, None]}, {"a": [1, 2.5, True, None]}),
        (math.nan, "nan"),
        ([-math.inf], ["-inf"]),
        (b"\x00\xff", "(2 bytes of binary data)"),
        ({1: (1, 2), None: {3}}, {"1": [1, 2], "None": [3]}),
        (Point(1, datetime(2026, 1, 2, tzinfo=UTC)), {"x": 1, "when": "2026-01-02T00:00:00+00:00"}),
        (Model(day=date(2026, 1, 2)), {"day": "2026-01-02"}),
        (Colour.RED, "red"),
        (timedelta(hours=1), "1:00:00"),
        (Decimal("1.50"), "1.50"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ("a\x00b\ud800", "ab\ufffd"),
        (10**40, 10**40),
    ],
)
def test_f49_data_becomes_json(data, told):
    assert {"success": True, "data": told, "error": None} == read(success_result(data))


def test_f49_what_is_no_json_is_said_so():
    result = read(success_result({"socket": object()}))
    assert "ran" in result["error"]
    assert result["success"] is False


def test_f49_fifty_megabytes_become_a_preview():
    content = success_result("x" * 50_000_000)
    assert len(content) <= RAW_CHARS
    assert "Too long" in read(content)["data"]["note"]


def test_endless_nesting_ends():
    endless = []
    endless.append(endless)
    assert "too deep" in success_result(endless)


@given(st.text(max_size=3000), st.integers(600, 3000))
def test_a_preview_fits_its_budget(text, budget):
    content = success_result(text)
    shown = fit_result(content, budget)
    assert len(shown) <= budget
    read(shown)
    assert shown == content or len(content) > budget


def test_an_error_is_a_result():
    assert {"success": False, "data": None, "error": "no"} == read(failure_result("no"))
    assert 4000 == len(read(failure_result("x" * 9999))["error"])
