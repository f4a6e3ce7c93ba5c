"""Tables for operators: columns below headers; a name cannot control the terminal."""

import contextlib
import io
import json

import pytest

from gateway.cli import sessions
from gateway.cli.tables import print_rows, table_lines
from gateway.safety.names import minute, short

ROWS = [
    {"id": "018f-0000aaaa", "name": "Ana", "count": 1_200, "at": "2026-11-22T10:00:00+00:00"},
    {"id": "018f-0000bbbb", "name": "山田", "count": 7, "at": None},
]
COLUMNS = {"id": lambda row: short(row["id"]), "name": "name", "count": "count", "at": lambda row: minute(row["at"])}


def test_columns_stand_below_their_headers() -> None:
    assert [
        "ID        NAME  COUNT  AT",
        "0000aaaa  Ana   1,200  2026-11-22 10:00",
        "0000bbbb  山田      7  -",
    ] == table_lines(ROWS, COLUMNS)


def test_a_name_moves_no_cursor() -> None:
    """Cover A67."""
    assert r"a\x1b[2J\x0ab\u202e" == table_lines([{"name": "a\x1b[2J\nb\u202e"}], {"name": "name"})[1]


def test_a_narrow_terminal_cuts_the_widest_column() -> None:
    rows = [{"id": "1", "words": "one two three four five six seven"}]
    assert ["ID  WORDS", "1   one two three…"] == table_lines(rows, {"id": "id", "words": "words"}, 18)
    assert "1   one two thr…" == table_lines(rows, {"id": "id", "words": "words"}, 5)[1]


def test_programs_read_the_rows_whole(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(ROWS, {"name": "name"}, "Nobody.", as_json=True)
    print_rows([], {"name": "name"}, "Nobody.", as_json=True)
    print_rows([], {"name": "name"}, "Nobody.", as_json=False)
    rows, none, sentence = capsys.readouterr().out.splitlines()
    assert (ROWS, [], "Nobody.") == (json.loads(rows), json.loads(none), sentence)


def test_json_is_whole_wherever_it_is_printed() -> None:
    latin = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    with contextlib.redirect_stdout(latin):
        print_rows([{"name": "Zoë 🎸\x1b"}], {"name": "name"}, "", as_json=True)
    latin.flush()
    assert [{"name": "Zoë 🎸\x1b"}] == json.loads(latin.buffer.getvalue())  # type: ignore[attr-defined]  # a BytesIO
    latin.close()


def test_a_task_of_a_sub_agent_is_named_in_place_of_its_chat() -> None:
    row = {"key": "agent:coach:telegram:main:direct:42"}
    where = sessions.COLUMNS["where"]
    assert callable(where)
    assert "telegram:main direct" == where(row)
    assert "task plan-a-week" == where({"key": f"{row['key']}:subagent:plan-a-week"})
