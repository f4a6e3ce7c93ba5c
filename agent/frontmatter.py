"""Frontmatter: a YAML mapping between two lines of `---` at the start of a Markdown file; pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

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
        _check_shape(text)
        loader = yaml.CSafeLoader(text)
        node = loader.get_single_node()
        mapping = loader.construct_document(node) if isinstance(node, yaml.MappingNode) else None
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = "" if line is None else f" in line {line + 2}"
        why = f"its frontmatter is no YAML{where}: {getattr(error, 'problem', None) or error}"
        raise BadFrontmatter(why, 1 if line is None else line + 2) from None
    except BadFrontmatter:
        raise
    except ValueError as error:  # a date or number that does not exist
        raise BadFrontmatter(f"its frontmatter has an impossible value: {str(error)[:200]}") from None
    if not isinstance(node, yaml.MappingNode) or not isinstance(mapping, dict):
        raise BadFrontmatter("its frontmatter is no mapping of keys to values")
    lines: dict[str, int] = {}
    for key, _ in node.value:
        name = str(key.value).replace("-", "_")
        lines.setdefault(name, key.start_mark.line + 2)
    return {str(key).replace("-", "_"): value for key, value in mapping.items()}, lines


def _check_shape(text: str) -> None:
    """Refuse aliases, which can make a short text huge, tags, which fail in many ways, and deep nesting."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise BadFrontmatter("its frontmatter has an anchor or alias, which is not allowed")
        if getattr(event, "tag", None) is not None:
            raise BadFrontmatter("its frontmatter has a tag (!), which is not allowed")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise BadFrontmatter(f"its frontmatter is nested more than {MAX_DEPTH} deep")
