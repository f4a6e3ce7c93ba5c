"""`tenk logs`: shows the log of the gateway, of one turn or of one person."""

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import click

from gateway.cli.client import DEFAULT_HOME, get, home_of
from gateway.cli.root import config_option, load
from gateway.errors import GatewayError
from gateway.ops.log_file import LOG_NAME, older_of
from gateway.safety.private_files import check_home
from gateway.safety.redaction import escape_controls

LOOK_S = 0.5
LEAST_ID_CHARS = 6
HEAD = ("timestamp", "level", "event")


@click.command("logs")
@click.option("-f", "--follow", is_flag=True, help="Go on with new lines, until Ctrl-C.")
@click.option("--turn", metavar="ID", help="Only the turn with this id, or this end of one; `tenk trace` shows ids.")
@click.option("--person", metavar="WHO", help="Only turns of WHO (a name, a sender such as telegram:42, or an id).")
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=100, show_default=True, help="Lines, the newest.")
@click.option("--json", "as_json", is_flag=True, help="Print the lines as they were written, in JSON.")
@config_option
def command(
    follow: bool, turn: str | None, person: str | None, limit: int, as_json: bool, config_path: Path | None
) -> None:
    """Show the newest lines of the log that `tenk run` writes into its home, at most 20 MB.

    The same lines go to standard error, from where systemd (`journalctl -u tenk`) and containers (`docker logs`) keep
    them.
    """
    if turn is not None and len(turn) < LEAST_ID_CHARS:
        raise click.UsageError(f"give at least {LEAST_ID_CHARS} characters of the turn's id")
    home = home_of(config_path, os.environ) or DEFAULT_HOME
    check_home(home)
    path = home / LOG_NAME
    if not path.exists():
        raise GatewayError(
            f"there is no log in {path.absolute()} yet: `tenk run` writes it. An earlier one may be in the journal "
            "(`journalctl -u tenk`) or with the container (`docker logs`)"
        )
    user = None
    if person is not None:
        user = load("gateway.operators.finding:find_listed")(person, get(config_path, "users")["users"])

    def fits(event: Mapping[str, Any]) -> bool:
        is_turn = turn is None or str(event.get("turn_id", "")).endswith(turn.lower())
        return is_turn and (user is None or event.get("user_id") == user)

    _show(path, fits, limit, follow=follow, as_json=as_json)


def _show(path: Path, fits: Callable[[Mapping[str, Any]], bool], limit: int, *, follow: bool, as_json: bool) -> None:
    newest: deque[str] = deque(maxlen=limit)
    older = older_of(path)
    if older.exists():
        with older.open(encoding="utf-8", errors="replace") as lines:
            newest.extend(_texts(lines, fits, as_json=as_json))
    log = path.open(encoding="utf-8", errors="replace")
    try:
        newest.extend(_texts(log, fits, as_json=as_json))
        if newest or not as_json:
            click.echo("\n".join(newest) if newest else "No line of the log fits.")
        while follow:
            time.sleep(LOOK_S)
            for text in _texts(log, fits, as_json=as_json):
                click.echo(text)
            if path.exists() and path.stat().st_ino != os.fstat(log.fileno()).st_ino:  # a new file was begun
                log.close()
                log = path.open(encoding="utf-8", errors="replace")
    finally:
        log.close()


def _texts(lines: TextIO, fits: Callable[[Mapping[str, Any]], bool], *, as_json: bool) -> Iterator[str]:
    """Yield the lines of events that fit, for people or as they are."""
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue  # torn by a full disk
        if isinstance(event, dict) and fits(event):
            yield line.rstrip("\n") if as_json else _for_people(event)


def _for_people(event: Mapping[str, Any]) -> str:
    at, level, what = (str(event.get(name, "")) for name in HEAD)
    more = " ".join(f"{name}={value}" for name, value in event.items() if name not in HEAD and name != "exception")
    trace = str(event.get("exception", "")).splitlines()
    first = f"{at[:19].replace('T', ' ')} {level:8} {what} {more}".rstrip()
    return "\n".join([escape_controls(first), *(f"    {escape_controls(row.removeprefix('    '))}" for row in trace)])
