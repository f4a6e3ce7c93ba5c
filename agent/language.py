"""Finds the language of a person, and escapes their words as literal Markdown; pure, without texts."""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

DEFAULT = "en"
NAMES: Mapping[str, str] = MappingProxyType({"en": "English", "es": "Spanish"})
"""The languages we speak, by their ISO 639-1 code, as a model is told of them."""

_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~])")


@lru_cache(256)
def language_of(locale: str | None) -> str:
    """Return the language for this BCP 47 locale; English where we do not speak theirs."""
    spoken = (locale or "").lower().replace("_", "-").split("-")[0]
    return spoken if spoken in NAMES else DEFAULT


def escape(text: str) -> str:
    """Return a person's own words as literal Markdown."""
    return _MARKDOWN.sub(r"\\\1", text)
