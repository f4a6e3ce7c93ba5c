"""The form that an OpenAI client wants its answer in: asked of the model in words, and checked before it is sent."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from gateway.http.api.openai_format import ResponseFormat, refuse_unsupported
from gateway.http.api.problems import ApiRefusal

FORMATS = frozenset({"text", "json_object", "json_schema"})

MOST_STEPS = 20_000
"""More of an answer and its schema is not compared: the client writes the schema, and everybody else would wait."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "null": (type(None),),
    "integer": (int,), "number": (int, float),
}  # fmt: skip


def wish_of(wanted: ResponseFormat | None) -> str:
    """Return what is said to the model about the form of its answer; "" for text.

    Raises:
        ApiRefusal: there is no such form here.
    """
    if wanted is None or wanted.type == "text":
        return ""
    if wanted.type not in FORMATS:
        raise refuse_unsupported(
            "response_format", f"there is no answer in the form {wanted.type!r}", "Ask for text, or for a JSON object."
        )
    wish = "\n\n(Answer with one JSON object and nothing else."
    if wanted.json_schema is not None and wanted.json_schema.schema_:
        wish += f" It has to fit this JSON schema: {json.dumps(wanted.json_schema.schema_, ensure_ascii=False)}"
    return f"{wish})"


def in_form(wanted: ResponseFormat | None, answer: str) -> str:
    """Return the answer in the form that was asked for.

    Raises:
        ApiRefusal: the model did not write it so.
    """
    if not wish_of(wanted):
        return answer
    assert wanted is not None, "it has a wish"
    text = answer.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    schema = {} if wanted.json_schema is None else wanted.json_schema.schema_
    try:
        value = orjson.loads(text)
        if isinstance(value, dict) and fits(value, schema, schema, iter(range(MOST_STEPS))):
            return text
    except (ValueError, RecursionError):  # no JSON, or too much to compare
        pass
    raise _not_so()


def fits(value: object, schema: Any, root: Any, steps: Iterator[int]) -> bool:
    """Return whether the value fits the schema, by the keywords that OpenAI's strict schemas have.

    A keyword of another form than it has there is not looked at, as one that is not known.

    Raises:
        ValueError: no step is left.
    """
    if next(steps, None) is None:
        raise ValueError("too much to compare")
    if not isinstance(schema, dict):
        return schema is not False
    if isinstance(name := schema.get("$ref"), str):
        return fits(value, _find(root, name), root, steps)
    options, named = schema.get("anyOf"), schema.get("enum")
    if isinstance(options, list) and not any(fits(value, option, root, steps) for option in options):
        return False
    if (isinstance(named, list) and value not in named) or ("const" in schema and value != schema["const"]):
        return False
    if not _is_of(value, schema.get("type")):
        return False
    if isinstance(value, dict):
        return _fields_fit(value, schema, root, steps)
    return not isinstance(value, list) or all(fits(each, schema.get("items", True), root, steps) for each in value)


def _is_of(value: object, kinds: Any) -> bool:
    names = [kinds] if isinstance(kinds, str) else kinds
    if not isinstance(names, list):
        return True
    found = [_TYPES.get(str(name), ()) for name in names]
    return any(isinstance(value, kind) and (bool in kind or not isinstance(value, bool)) for kind in found)


def _fields_fit(value: Mapping[str, object], schema: Mapping[str, Any], root: Any, steps: Iterator[int]) -> bool:
    known, required = schema.get("properties"), schema.get("required")
    if isinstance(required, list) and any(isinstance(name, str) and name not in value for name in required):
        return False
    others = schema.get("additionalProperties", True)
    of_field = known.get if isinstance(known, dict) else {}.get
    return all(fits(each, of_field(name, others), root, steps) for name, each in value.items())


def _find(root: Any, name: str) -> Any:
    """Return the part of a schema that `#/...` names; anything fits one that is not there."""
    for key in name.removeprefix("#").strip("/").split("/"):
        root = root.get(key, True) if key and isinstance(root, dict) else root
    return root


def _not_so() -> ApiRefusal:
    return refuse_unsupported(
        "response_format", "the model did not write its answer in this form", "Ask for text, or ask another model."
    )
