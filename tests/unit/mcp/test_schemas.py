"""Schemas that a model can be told of, and others."""

import pytest

from agent.mcp.schemas import MAX_SCHEMA_CHARS, flaw_in

NODE = {"type": "object", "properties": {"name": {"type": "string"}}}


def test_references_without_a_loop_are_fine() -> None:
    twice = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"$ref": "#/$defs/n"}},
        "$defs": {"n": NODE},
    }
    assert "" == flaw_in(twice, 200)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}},
        {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}}},
        {"$defs": {"x": {"properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/x"}}}}}},
    ],
)
def test_a_loop_is_a_flaw(schema: dict[str, object]) -> None:
    assert "its schema refers to itself" == flaw_in(schema, 200)


def test_a_large_schema_is_a_flaw() -> None:
    assert "20000 are the most" in flaw_in(NODE, MAX_SCHEMA_CHARS + 1)


def test_many_references_to_many_parts_take_no_time() -> None:
    defs = {f"d{n}": {"properties": {f"p{m}": {"$ref": f"#/$defs/d{n + 1}"} for m in range(5)}} for n in range(60)}
    assert "" == flaw_in({"$ref": "#/$defs/d0", "$defs": defs}, 200)


def test_a_property_may_be_called_like_a_reference() -> None:
    assert "" == flaw_in({"type": "object", "properties": {"$ref": {"type": "string"}}}, 200)
