"""Frontmatter: a YAML mapping between two lines of `---` at the start of a Markdown file; pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from agent.plain_yaml import BadYaml, read_yaml
from agent.wellformed import well_formed

MAX_FRONTMATTER_CHARS = 8_000
MAX_DEPTH = 6
"""Levels of lists and mappings in frontmatter."""

_HEAD = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


class BadFrontmatter(ValueError):
    """A file has no usable frontmatter; the message says why."""

    def __init__(self, why: str, line: int = 1) -> None:
        """Take the reason, and the line of the file that it is about."""
        super().__init__(why)
        self.line = line


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The values of a file's frontmatter, and the text behind it. `-` in a key counts as `_`."""

    values: Mapping[str, object]
    lines: Mapping[str, int]  # line of each key in the file
    body: str


def read_frontmatter(text: str) -> Frontmatter:
    """Parse a file's text; the size and depth of the frontmatter are bounded before a value is made of it.

    Raises:
        BadFrontmatter: there is none, or it is no mapping.
    """
    text = well_formed(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    found = _HEAD.match(text)
    if found is None:
        raise BadFrontmatter("it does not begin with frontmatter between two lines of ---")
    values, lines = _read_mapping(found[1])
    return Frontmatter(values, lines, text[found.end() :].strip())


def _read_mapping(text: str) -> tuple[dict[str, object], dict[str, int]]:
    if len(text) > MAX_FRONTMATTER_CHARS:
        raise BadFrontmatter(f"its frontmatter has more than {MAX_FRONTMATTER_CHARS:,} characters")
    try:
        mapping, node = read_yaml(text, MAX_DEPTH, first_line=2)
    except BadYaml as bad:
        raise BadFrontmatter(f"its frontmatter {bad}", bad.line) from None
    if not isinstance(node, yaml.MappingNode) or not isinstance(mapping, dict):
        raise BadFrontmatter("its frontmatter is no mapping of keys to values")
    lines: dict[str, int] = {}
    for key, _ in node.value:
        name = str(key.value).replace("-", "_")
        lines.setdefault(name, key.start_mark.line + 2)
    return {str(key).replace("-", "_"): value for key, value in mapping.items()}, lines
