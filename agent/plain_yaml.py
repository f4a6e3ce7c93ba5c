"""YAML as plain data: mappings, lists and values, without anchors, tags or deep nesting; pure."""

import yaml

_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class _PlainLoader(yaml.CSafeLoader):
    """A safe loader to which a date is text, as to JSON."""

    yaml_implicit_resolvers = {  # noqa: RUF012  PyYAML declares it as an instance's
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


class BadYaml(ValueError):
    """The text cannot be used; the message says why."""

    def __init__(self, why: str, line: int = 1) -> None:
        """Take the reason, and the line of the text that it is about."""
        super().__init__(why)
        self.line = line


def read_yaml(text: str, max_depth: int, *, first_line: int = 1) -> tuple[object, yaml.Node | None]:
    """Return the value of a YAML document and its nodes, which know their lines.

    `first_line` is the line of the file in which the text begins, for the error.

    Raises:
        BadYaml: it is no YAML, or more than plain data.
    """
    try:
        _check_shape(text, max_depth, first_line)
        loader = _PlainLoader(text)
        node = loader.get_single_node()
        return (None if node is None else loader.construct_document(node)), node
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = "" if line is None else f" in line {line + first_line}"
        why = f"is no YAML{where}: {getattr(error, 'problem', None) or error}"
        raise BadYaml(why, first_line if line is None else line + first_line) from None
    except BadYaml:
        raise
    except (ValueError, TypeError) as error:  # a number with too many digits
        raise BadYaml(f"has an impossible value: {str(error)[:200]}", first_line) from None


def _check_shape(text: str, max_depth: int, first_line: int) -> None:
    """Refuse aliases, which can make a short text huge, tags, which fail in many ways, and deep nesting."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        line = first_line + (0 if event.start_mark is None else event.start_mark.line)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise BadYaml("has an anchor or alias, which is not allowed", line)
        if getattr(event, "tag", None) is not None:
            raise BadYaml("has a tag (!), which is not allowed", line)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > max_depth:
            raise BadYaml(f"is nested more than {max_depth} deep", line)
