"""Case files: YAML files, one a case. Every mistake is told with its file, line and key."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import BaseModel, JsonValue, ValidationError

from agent.evals.case import CalledTool, Case, CaseRules, Fixture, Message
from agent.plain_errors import hint_at, words_of_problem
from agent.plain_yaml import BadYaml, read_yaml
from agent.skills.folders import BadFile, file_names, read_text
from agent.wellformed import clean, well_formed

MAX_CASE_BYTES = 1_000_000
MAX_CASES = 1_000
"""Files of one folder; more are an error."""

MAX_DEPTH = 40
"""Levels of lists and mappings in a case: results of tools are deep."""

SUFFIXES = (".yaml", ".yml")

Path_ = tuple[str | int, ...]
"""The keys and positions that lead to a value."""


class BadCase(ValueError):
    """A file holds no case; the message has a line for each reason, with file and line number."""


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A case and its place in its file."""

    case: Case
    path: Path
    lines: Mapping[Path_, int]  # by the keys that lead there

    def place(self, *keys: str | int) -> str:
        """Return `file:line` of a value, or of the closest one around it."""
        return f"{well_formed(str(self.path))}:{_line_of(keys, self.lines)}"


@dataclass(frozen=True, slots=True)
class FoundCases:
    """The cases of one folder, and what is wrong with its files."""

    cases: tuple[CaseFile, ...] = ()  # in the order of their files' names
    flaws: tuple[str, ...] = ()  # a line each: file, line number, reason


def read_cases(folder: Path) -> FoundCases:
    """Return the cases of the YAML files in this folder. It blocks."""
    try:
        files = file_names(folder, SUFFIXES, MAX_CASES)
    except OSError as error:
        return FoundCases(flaws=(f"{well_formed(str(folder))}: it cannot be read: {error.strerror}",))
    if not files:
        return FoundCases(flaws=(f"{well_formed(str(folder))}: it has no file that ends in {' or '.join(SUFFIXES)}",))
    if len(files) > MAX_CASES:
        return FoundCases(flaws=(f"{well_formed(str(folder))}: it has more than {MAX_CASES:,} cases",))
    cases: dict[str, CaseFile] = {}
    flaws: list[str] = []
    for name in files:
        path = folder / name
        try:
            found = parse_case(read_text(path, folder, MAX_CASE_BYTES), path)
        except BadCase as bad:
            flaws.append(str(bad))
        except BadFile as bad:
            flaws.append(f"{well_formed(str(path))}:1: {bad}")
        else:
            if (other := cases.setdefault(found.case.name, found)) is not found:
                flaws.append(
                    f"{found.place('name')}: name: {other.place('name')} has the name {other.case.name!r}, too"
                )
    return FoundCases(tuple(cases.values()), tuple(flaws))


def parse_case(text: str, path: Path) -> CaseFile:
    """Return the case that this text describes.

    Raises:
        BadCase: it describes none.
    """
    shown = well_formed(str(path))
    try:
        values, node = read_yaml(well_formed(text.removeprefix("\ufeff")), MAX_DEPTH)
    except BadYaml as bad:
        raise BadCase(f"{shown}:{bad.line}: it {bad}") from None
    if not isinstance(values, dict) or node is None:
        raise BadCase(f"{shown}:1: it is no mapping of keys to values")
    lines: dict[Path_, int] = {}
    if twice := [f"{shown}:{line}: {key}: this key is there twice" for key, line in _note_lines(node, (), lines)]:
        raise BadCase("\n".join(twice))
    try:
        return CaseFile(Case.model_validate(values), path, lines)
    except ValidationError as error:
        raise BadCase("\n".join(_explain(error, shown, lines))) from None


class _CaseDumper(yaml.CSafeDumper):
    """A dumper that writes texts of several lines as such."""


def _represent_text(dumper: _CaseDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_CaseDumper.add_representer(str, _represent_text)


def write_case(case: Mapping[str, JsonValue], path: Path) -> str:
    """Return the text of a case file.

    Raises:
        BadCase: it would not be one, or be too large.
    """
    text = yaml.dump(dict(case), Dumper=_CaseDumper, allow_unicode=True, sort_keys=False, width=100)
    if len(text.encode()) > MAX_CASE_BYTES:
        raise BadCase(f"{well_formed(str(path))}: the case would have more than {MAX_CASE_BYTES:,} bytes")
    parse_case(text, path)
    return text


def _note_lines(node: yaml.Node, keys: Path_, lines: dict[Path_, int]) -> Iterator[tuple[str, int]]:
    """Note the line of each value; yield the keys that stand in a mapping twice."""
    lines.setdefault(keys, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            line, inner = key.start_mark.line + 1, (*keys, str(key.value))
            if inner in lines:
                yield clean(str(key.value))[:80], line
            lines[inner] = line
            yield from _note_lines(value, inner, lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _note_lines(value, (*keys, index), lines)


def _line_of(keys: Sequence[str | int], lines: Mapping[Path_, int]) -> int:
    return next((lines[found] for end in range(len(keys), 0, -1) if (found := tuple(keys[:end])) in lines), 1)


PARTS: Mapping[str, type[BaseModel]] = {
    "messages": Message,
    "fixtures": Fixture,
    "rules": CaseRules,
    "calls": CalledTool,
    "does_not_call": CalledTool,
}
"""The models of a case's parts by their key."""


def _explain(error: ValidationError, shown: str, lines: Mapping[Path_, int]) -> Iterator[str]:
    """Yield a line for each mistake, with the nearest right key."""
    for problem in error.errors():
        keys = problem["loc"]
        written = ".".join(clean(str(key))[:80] for key in keys)
        place = f"{shown}:{_line_of(keys, lines)}: {written}" if keys else f"{shown}:1"
        if problem["type"] == "extra_forbidden":
            yield f"{place}: there is no such key{hint_at(str(keys[-1]), _model_at(keys[:-1]).model_fields)}"
        elif problem["type"] in {"string_type", "model_type", "dict_type"} and isinstance(problem["input"], bool):
            yield f"{place}: YAML reads yes, no, on and off as true and false: write it in quotes"
        elif problem["type"].startswith("datetime"):
            yield f"{place}: {str(problem['input'])[:80]!r} is no time; write one such as 2026-03-02 18:30"
        else:
            yield f"{place}: {words_of_problem(problem)}"


def _model_at(keys: Sequence[str | int]) -> type[BaseModel]:
    """Return the model that is at the end of these keys."""
    return next((PARTS[key] for key in reversed(keys) if isinstance(key, str) and key in PARTS), Case)
