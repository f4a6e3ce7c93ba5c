"""Plain sentences for invalid values, in place of pydantic's."""

import json
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

LIST = 'a list is written in brackets: ["one", "two"]'
TABLE = "this is a table of its own, with keys"
NUMBER = "a number is wanted"
WHOLE = "a whole number is wanted"
TEXT = "a text is wanted, in quotes"

_WANTED: Mapping[str, str] = {
    "assertion_error": "this cannot be used here",
    "bool_parsing": "true or false is wanted",
    "bool_type": "true or false is wanted",
    "decimal_max_digits": "a number with at most {max_digits} digits is wanted",
    "decimal_max_places": "a number with at most {decimal_places} digits behind the point is wanted",
    "decimal_parsing": NUMBER,
    "decimal_type": NUMBER,
    "decimal_whole_digits": "a number with at most {whole_digits} digits before the point is wanted",
    "dict_type": TABLE,
    "enum": "it has to be one of: {expected}",
    "extra_forbidden": "there is no such key",
    "finite_number": "a finite number is wanted",
    "float_parsing": NUMBER,
    "float_type": NUMBER,
    "frozen_set_type": LIST,
    "greater_than": "it has to be more than {gt}",
    "greater_than_equal": "it has to be {ge} or more",
    "int_from_float": WHOLE,
    "int_parsing": WHOLE,
    "int_parsing_size": "this whole number is too large",
    "int_type": WHOLE,
    "iteration_error": LIST,
    "json_invalid": "this is not JSON: {error}",
    "less_than": "it has to be less than {lt}",
    "less_than_equal": "it has to be {le} or less",
    "list_type": LIST,
    "literal_error": "it has to be one of: {expected}",
    "mapping_type": TABLE,
    "missing": "is missing",
    "model_attributes_type": TABLE,
    "model_type": TABLE,
    "multiple_of": "it has to be a multiple of {multiple_of}",
    "none_required": "nothing may stand here",
    "path_type": TEXT,
    "set_type": LIST,
    "string_pattern_mismatch": "it does not fit the pattern {pattern}",
    "string_too_long": "it has to have at most {max_length} characters",
    "string_too_short": "it has to have at least {min_length} characters",
    "string_type": TEXT,
    "string_unicode": "a text in UTF-8 is wanted",
    "too_long": "it has to have at most {max_length} entries",
    "too_short": "it has to have at least {min_length} entries",
    "tuple_type": LIST,
    "union_tag_invalid": "{discriminator} has to be one of: {expected_tags}",
    "union_tag_not_found": "{discriminator} is missing",
}
"""By pydantic's error type; `{...}` is a field of pydantic's context."""

UNKNOWN = "this is not a value that can stand here"


def words_of_problem(problem: Mapping[str, Any]) -> str:
    """Return the sentence for one entry of `ValidationError.errors()`."""
    context = problem.get("ctx", {})
    if problem["type"] == "value_error":  # raised by our own validators
        return str(context["error"])
    words = _WANTED.get(problem["type"], UNKNOWN)
    return words.format_map({key: _plain(value) for key, value in context.items()})


def hint_at(name: str, known: Iterable[str]) -> str:
    """Return what to append to an error about an unknown name: the nearest known one, or all."""
    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    return f'; did you mean "{near[0]}"?' if near else f"; there are: {', '.join(names) or 'none'}"


def check_url(text: str) -> str:
    """Return the text if it is an http or https URL.

    Raises:
        ValueError: it is not; the message says what to write.
    """
    try:
        parts = urlsplit(text)
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and not any(map(str.isspace, text))
    except ValueError:
        is_url = False
    if not is_url:
        rest = re.sub(r"^\w*:?//|^https?:", "", text.strip())
        raise ValueError(f"write the whole URL, with http:// or https:// in front, such as http://{rest or 'HOST'}")
    return text


def as_written(value: object) -> str:
    """Format a value as TOML and JSON write it."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _plain(value: object) -> str:
    """Format pydantic's list of choices as a person would write them: `'a', 'b' or True` as `a, b, true`."""
    words = str(value)
    return words.replace("'", "").replace(" or ", ", ").replace("True", "true").replace("False", "false")
