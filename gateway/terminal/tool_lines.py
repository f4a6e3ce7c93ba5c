"""Tool calls as lines of a terminal: a title of one line, then what its result says, by tool; pure."""

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from channels.turn_steps import ToolAnswered, ToolCalled
from gateway.terminal.styled_lines import BAD, DIM, GOOD, Line, shorten, to_piece, wrap

SHOWN_ROWS = 6
"""Rows of a result that are shown at once; a key shows the rest."""

MOST_ROWS = 400  # of one result

ADDED, REMOVED = "class:added", "class:removed"

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolView:
    """A call as it is shown."""

    title: str  # what it does, beside the tool's name; on one line
    rows: Sequence[tuple[str, str]] = ()  # styled lines of its result, of any width


Render = Callable[[Arguments, Any], ToolView]
"""Returns the view of a call from its arguments and the data of its result, None while it runs or if it failed."""


def call_line(name: str, arguments: str, columns: int, mark: str = "•", style: str = DIM) -> Line:
    """Return the line of a call that runs."""
    return _head(name, _view(name, arguments, None).title, columns, mark, style)


def result_lines(called: ToolCalled | None, answered: ToolAnswered, columns: int) -> tuple[list[Line], list[Line]]:
    """Return the lines of a call that has ended, and the lines that were left out for the moment."""
    arguments = "{}" if called is None else called.arguments
    result = _to_object(answered.result)
    view = _view(answered.name, arguments, result.get("data"))
    is_done = answered.outcome == "done"
    title = " · ".join(filter(None, (view.title, "" if is_done else answered.outcome)))
    head = _head(answered.name, title, columns, "✓" if is_done else "✗", GOOD if is_done else BAD)
    rows = [*([(BAD, str(result["error"]))] if result.get("error") else []), *view.rows][:MOST_ROWS]
    body = [line for row in rows for line in wrap([to_piece(row[1], row[0])], columns, [("", "  ")], [("", "  ")])]
    if len(body) <= SHOWN_ROWS + 1:
        return [head, *body], []
    left_out = body[SHOWN_ROWS:]
    return [head, *body[:SHOWN_ROWS], [(DIM, shorten(f"  … {len(left_out)} more lines: Ctrl-O", columns))]], left_out


def _head(name: str, title: str, columns: int, mark: str, style: str) -> Line:
    name = " ".join(to_piece(name)[1].split())
    room = columns - 2 - len(name)
    words = " ".join(to_piece(title)[1].split())
    return [(style, f"{mark} "), ("bold", shorten(name, columns - 2)), ("", shorten(f"  {words}", room))]


def _view(name: str, arguments: str, data: Any) -> ToolView:
    """Return the view by the tool's own renderer; that of every tool if what it gets has another form."""
    given = _to_object(arguments)
    try:
        return RENDERERS.get(name, _any_tool)(given, data)
    except (AttributeError, KeyError, TypeError, ValueError):  # a tool of this name with other arguments
        return _any_tool(given, data)


def _to_object(text: str) -> dict[str, Any]:
    """Return a JSON object; an empty one if the text was cut or is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


# ---------------------------------------------------------------- by tool


def _any_tool(given: Arguments, data: Any) -> ToolView:
    title = ", ".join(f"{name}: {_compact(value)}" for name, value in given.items() if value not in (None, ""))
    return ToolView(title, [(DIM, line) for line in _lines_of(data)])


def _shell(given: Arguments, data: Any) -> ToolView:
    if data is None:
        return ToolView(given["command"])
    code = data["exit_code"]
    output = [("", line) for line in data.get("output", "").splitlines()]
    errors = [(BAD, line) for line in data.get("errors", "").splitlines()]
    return ToolView(f"{given['command']} · exit {code}", [*output, *errors])


def _edit_file(given: Arguments, data: Any) -> ToolView:
    if data is None:
        return ToolView(given["path"])
    changed = difflib.unified_diff(given["old"].splitlines(), given["new"].splitlines(), n=2, lineterm="")
    rows = [(_diff_style(line), line) for line in list(changed)[2:]]
    return ToolView(given["path"], rows)


def _diff_style(line: str) -> str:
    return {"+": ADDED, "-": REMOVED}.get(line[:1], DIM)


def _write_file(given: Arguments, data: Any) -> ToolView:
    lines = given["content"].splitlines()
    rows = [] if data is None else [(ADDED, f"+{line}") for line in lines]
    return ToolView(f"{given['path']} · {len(lines)} lines", rows)


def _read_file(given: Arguments, data: Any) -> ToolView:
    return ToolView(given["path"], [(DIM, line) for line in _lines_of(data)])


def _web_fetch(given: Arguments, data: Any) -> ToolView:
    return ToolView(given["url"], [(DIM, line) for line in _lines_of(data)])


def _search(given: Arguments, data: Any) -> ToolView:
    hits = [] if data is None else data.get("results", ())
    return ToolView(given["query"], [(DIM, f"{hit.get('title', '')}  {hit['url']}".strip()) for hit in hits])


def _named_action(given: Arguments, data: Any) -> ToolView:
    """Return the view of a tool that does one of several things with what has a name."""
    more = {key: value for key, value in given.items() if key not in {"action", "name"}}
    words = _any_tool(more, None).title
    title = f"{given['action']} {given.get('name') or ''}".strip()
    return ToolView(f"{title} · {words}" if words else title, [(DIM, line) for line in _lines_of(data)])


def _todo(given: Arguments, _data: Any) -> ToolView:
    """Return the view of a list that is shown below while the agent works."""
    done = sum(step.get("state") == "done" for step in given["steps"])
    return ToolView(f"{done} of {len(given['steps'])} steps done")


RENDERERS: Mapping[str, Render] = {
    "shell": _shell,
    "shell_without_sandbox": _shell,
    "edit_file": _edit_file,
    "write_file": _write_file,
    "read_file": _read_file,
    "web_fetch": _web_fetch,
    "web_search": _search,
    "social_search": _search,
    "schedule": _named_action,
    "memory": _named_action,
    "todo": _todo,
}


def _lines_of(data: Any) -> list[str]:
    """Return the data of a result as lines: a field a line, a text as it is."""
    if data in (None, {}, []):
        return []
    match data:
        case str():
            return data.splitlines()
        case dict():
            return [line for name, value in data.items() for line in _field_lines(name, value)]
        case list():
            return [_compact(value) for value in data]
    return [_compact(data)]


def _field_lines(name: str, value: Any) -> list[str]:
    if isinstance(value, str) and "\n" in value:
        return [f"{name}:", *value.splitlines()]
    return [f"{name}: {_compact(value)}"]


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
