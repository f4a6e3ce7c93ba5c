"""`tenk logs` over the file that `tenk run` writes."""

import io
import json
from pathlib import Path

import structlog

from gateway import telemetry
from gateway.ops.log_file import LogFile, older_of
from gateway.safety.redaction import Redactor
from tests.unit.cli.test_cli import tenk

TURN = "01a22419-33a6-75fe-8f6e-89cd9771c9a3"


def test_the_newest_lines_are_shown_also_of_one_turn_and_without_secrets(tmp_path: Path) -> None:
    home = tmp_path / "var"
    home.mkdir(mode=0o700)
    telemetry.configure(Redactor(["hunter2-secret"]), as_json=False, stream=io.StringIO())
    telemetry.keep_lines(LogFile(home / "gateway.log").write)
    log = structlog.get_logger()
    log.info("turn_started", turn_id=TURN, user_id="u1")
    log.warning("send_failed", why="hunter2-secret\x1b[2J")
    try:
        raise ValueError("odd")
    except ValueError:
        log.exception("task_failed")
    telemetry.keep_lines(lambda _line: None)
    with (home / "gateway.log").open("a") as torn:
        torn.write('{"event": "half\n')
    newest = tenk("logs", "--limit", "2", home=tmp_path).stdout
    assert ("send_failed" in newest, "turn_started" in newest, "\n    ValueError: odd" in newest) == (True, False, True)
    assert ("hunter2" in newest, "\x1b" in newest) == (False, False)
    of_turn = tenk("logs", "--turn", TURN[-8:], "--json", home=tmp_path).stdout
    assert ["turn_started"] == [json.loads(line)["event"] for line in of_turn.splitlines()]
    assert "No line of the log fits.\n" == tenk("logs", "--turn", "abcdef", home=tmp_path).stdout
    assert 1 == tenk("logs", "--person", "kim", home=tmp_path).returncode
    assert 2 == tenk("logs", "--turn", "a3", home=tmp_path).returncode


def test_a_log_that_is_not_there_names_where_else_it_may_be(tmp_path: Path) -> None:
    refused = tenk("logs", home=tmp_path)
    assert (1, True) == (refused.returncode, "journalctl -u tenk" in refused.stderr)


def test_the_file_is_bounded_and_keeps_the_one_before_it(tmp_path: Path) -> None:
    path = tmp_path / "home" / "gateway.log"
    log = LogFile(path, max_bytes=20)
    log.write("lost: there is no home yet")
    path.parent.mkdir()
    for number in range(5):
        log.write(f"line {number}")
    assert ("line 2\nline 3\n", "line 4\n") == (older_of(path).read_text(), path.read_text())
    LogFile(path, max_bytes=20).write("line 5 of a second run")
    assert "line 4\n" == older_of(path).read_text()
