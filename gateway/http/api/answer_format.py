"""The answer format that an OpenAI client requests: described to the model, and checked before the answer is sent."""

import json

from agent.answer_gate import misfit, without_fence
from gateway.http.api.openai_format import ResponseFormat, refuse_unsupported
from gateway.http.api.problems import ApiRefusal

FORMATS = frozenset({"text", "json_object", "json_schema"})


def wish_of(wanted: ResponseFormat | None) -> str:
    """Return the instruction about the answer's format for the model; "" for text.

    Raises:
        ApiRefusal: the format is not supported.
    """
    if wanted is None or wanted.type == "text":
        return ""
    if wanted.type not in FORMATS:
        raise refuse_unsupported(
            "response_format", f"the format {wanted.type!r} is not supported", "Ask for text, or for a JSON object."
        )
    wish = "\n\n(Answer with one JSON object and nothing else."
    if wanted.json_schema is not None and wanted.json_schema.schema_:
        wish += f" It has to fit this JSON schema: {json.dumps(wanted.json_schema.schema_, ensure_ascii=False)}"
    return f"{wish})"


def in_form(wanted: ResponseFormat | None, answer: str) -> str:
    """Return the answer in the requested format.

    Raises:
        ApiRefusal: the model did not write it in this format.
    """
    if not wish_of(wanted):
        return answer
    assert wanted is not None, "a format was requested"
    text, schema = without_fence(answer), {} if wanted.json_schema is None else wanted.json_schema.schema_
    if not text.startswith("{") or misfit(text, schema):
        raise _not_so()
    return text


def _not_so() -> ApiRefusal:
    return refuse_unsupported(
        "response_format", "the model did not write its answer in this format", "Ask for text, or ask another model."
    )
