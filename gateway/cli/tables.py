"""Lists for operators, printed as a table or as JSON.

Any cell may hold a stranger's text, so control characters are escaped.
"""

import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from channels.console.text import width_of
from gateway.safety.redaction import UNSAFE_CHARACTERS, escape_controls

GAP = "  "
LEAST_COLUMNS = 12  # a column is never cut below this width

Row = Mapping[str, Any]
Columns = Mapping[str, str | Callable[[Row], object]]
"""Header -> the row's key, or a function from the row to the cell."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")


def print_rows(rows: Sequence[Row], columns: Columns, nothing: str, *, as_json: bool) -> None:
    """Print the rows as JSON or as a table of these columns; print `nothing` if there are none.

    Only a terminal's width cuts cells; output to a pipe or a file is complete.
    """
    if as_json:
        click.echo(json_text(rows))
    elif not rows:
        click.echo(nothing)
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        click.echo("\n".join(table_lines(rows, columns, width)))


def json_text(value: object, indent: int | None = None) -> str:
    """Format a value as JSON. Escape control characters, and non-ASCII letters if the output is not UTF-8."""
    is_plain = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
    text = json.dumps(value, ensure_ascii=is_plain, indent=indent)
    return "\n".join(
        UNSAFE_CHARACTERS.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in text.split("\n")
    )  # a line break in a value is escaped already


def table_lines(rows: Sequence[Row], columns: Columns, width: int | None = None) -> list[str]:
    """Return a header line and one line per row, numbers aligned right, cut to `width` columns if given."""
    values = [[source(row) if callable(source) else row.get(source) for row in rows] for source in columns.values()]
    fits = [_fit_right if all(isinstance(value, int | float) for value in column) else _fit_left for column in values]
    cells = [[header.upper(), *map(_cell, column)] for header, column in zip(columns, values, strict=True)]
    widths = [max(map(width_of, column)) for column in cells]
    if width is not None:
        _narrow(widths, width)
    fitted = [[fit(cell, most) for cell in column] for fit, most, column in zip(fits, widths, cells, strict=True)]
    return [GAP.join(line).rstrip() for line in zip(*fitted, strict=True)]


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, str):  # as most are
        return escape_controls(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value)) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int | float) else escape_controls(str(value))


def _narrow(widths: list[int], width: int) -> None:
    """Take from the widest column, one at a time, until the line fits or no column gives any more."""
    while sum(widths) + len(GAP) * (len(widths) - 1) > width and max(widths) > LEAST_COLUMNS:
        widths[widths.index(max(widths))] -= 1


def _fit_left(cell: str, width: int) -> str:
    if cell.isascii() and len(cell) <= width:  # as most do
        return cell.ljust(width)
    cell = _shorten(cell, width)
    return cell + " " * (width - width_of(cell))


def _fit_right(cell: str, width: int) -> str:
    cell = _shorten(cell, width)
    return " " * (width - width_of(cell)) + cell


def _shorten(cell: str, width: int) -> str:
    if width_of(cell) <= width:
        return cell
    while width_of(cell) >= width:
        cell = cell[:-1]
    return f"{cell}…"
