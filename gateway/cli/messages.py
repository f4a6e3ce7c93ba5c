"""`tenk trace`, `tenk inbox` and `tenk outbox`: what became of messages, and what to do with what failed."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from gateway.cli.client import get, known_as, post, printable
from gateway.cli.root import config_option
from gateway.cli.sessions import hop_lines
from gateway.cli.tables import Columns, Row, json_option, json_text, print_rows
from gateway.command_line import of_process
from gateway.safety.names import minute, second, short

limit_option = click.option(
    "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many, at most; the newest."
)

IN_COLUMNS: Columns = {
    "id": lambda row: str(row["id"]),
    "at (utc)": lambda row: minute(row["admitted_at"]),
    "account": "account",
    "chat": "chat",
    "from": lambda row: row["name"] or row["sender"],
    "kind": "kind",
    "outcome": "outcome",
    "turn": lambda row: row["turn"] and short(row["turn"]),
    "why": "detail",
}

OUT_COLUMNS: Columns = {
    "id": lambda row: str(row["id"]),
    "at (utc)": lambda row: minute(row["created_at"]),
    "account": "account",
    "chat": "chat",
    "to": "name",
    "answers": lambda row: cause_shown(row["cause"]),
    "part": lambda row: str(row["part"] + 1),
    "state": lambda row: "parked" if row["parked"] else row["state"],
    "tries": "attempts",
    "why": lambda row: row["parked"] or row["error"],
}


STATES = ("ready", "sending", "sent", "unknown", "dead", "discarded")
UNDER_WAY_OR_FAILED = ("ready", "sending", "unknown", "dead")


def outbox_rows(config_path: Path | None, states: Sequence[str], limit: int) -> list[Row]:
    """Return the newest parts in some states as rows of the table."""
    return [as_row(part) for part in get(config_path, "outbox", state=",".join(states), limit=limit)["parts"]]


def as_row(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part with its account spelled with its channel: telegram:main."""
    account = f"{part['channel']}:{part['account']}"
    return {name: account if name == "account" else value for name, value in part.items() if name != "channel"}


def cause_shown(cause: str) -> str:
    """What a part answers, its id as lists show ids; `dead:` is the apology for a part that could not be delivered."""
    what, colon, id_ = cause.rpartition(":")
    return cause if id_.isdecimal() else f"{what}{colon or 'turn '}{short(id_.partition('.')[0])}"


@click.command("trace")
@click.argument("person")
@click.option(
    "--at", help='Near this instant, in their time: "yesterday 10:00", "10am", "2026-11-22 10:00", "3 h ago".'
)
@click.option(
    "--count", type=click.IntRange(1, 20), default=3, show_default=True, help="Without --at: so many, the last."
)
@json_option
@config_option
def trace(person: str, at: str | None, count: int, as_json: bool, config_path: Path | None) -> None:
    """Show what became of the messages of PERSON (a name, a sender such as telegram:42, an id), hop by hop."""
    found = get(config_path, "trace", who=person, at=at, count=count)
    click.echo(json_text(found) if as_json else "\n".join(trace_lines(found)))


def trace_lines(found: dict[str, Any]) -> Iterator[str]:
    """Who it is, then each message: what was decided, how far the answer got, and each hop with its delay."""
    who = found["person"]
    yield f"{known_as(who)}, {who['role']}. Times are {who['timezone']}."
    if not found["messages"]:
        yield "Nothing of theirs has come in, or it is kept no more."
    elif not found["near"]:
        yield "Nothing of theirs came in within 15 minutes of that: it did not arrive here. The nearest:"
    for message in found["messages"]:
        at = second(message["at"])
        yield f"\n{at}  {message['kind']} in {message['account']} {printable(message['chat'])}, row {message['row']}"
        yield from (f"  {printable(sentence)}" for sentence in message["verdict"])
        yield from hop_lines(message["hops"])


@click.command("inbox")
@click.option("--outcome", help="Only these: open, answered, refused, failed ...")
@limit_option
@json_option
@config_option
def inbox(outcome: str | None, limit: int, as_json: bool, config_path: Path | None) -> None:
    """Show what came in, newest first, and what became of it. What people said is not shown."""
    rows = get(config_path, "inbox", outcome=outcome, limit=limit)["rows"]
    print_rows(rows, IN_COLUMNS, "Nothing like that came in.", as_json=as_json)


@click.group("outbox")
def outbox() -> None:
    """Show what goes out, and what could not be delivered; say that again, or give it up."""


@outbox.command("list")
@click.option("--state", "states", multiple=True, help="Only these: ready, sending, sent, unknown, dead, discarded.")
@click.option("--all", "every", is_flag=True, help="Also what was delivered or discarded.")
@limit_option
@json_option
@config_option
def list_(states: tuple[str, ...], every: bool, limit: int, as_json: bool, config_path: Path | None) -> None:
    """Show what is under way or could not be delivered, newest first; `unknown` may have arrived or not."""
    wanted = states or (STATES if every else UNDER_WAY_OR_FAILED)
    rows = outbox_rows(config_path, wanted, limit)
    print_rows(rows, OUT_COLUMNS, "Nothing waits, and nothing failed.", as_json=as_json)


@outbox.command("show")
@click.argument("number", type=click.IntRange(1))
@click.option("--text", is_flag=True, help="Also what it says.")
@json_option
@config_option
def show(number: int, text: bool, as_json: bool, config_path: Path | None) -> None:
    """Show the part NUMBER: where it goes, what was tried, what went wrong, and what can be done."""
    found = get(config_path, "outbox", str(number), "text") if text else get(config_path, "outbox", str(number))
    line = as_row(found["line"] if text else found)
    if as_json:
        click.echo(json_text(found | {"line": line} if text else line))
        return
    for words in part_lines(line, found["plain"] if text else None):
        click.echo(words)


def part_lines(part: dict[str, Any], plain: str | None) -> list[str]:
    """A part for people: a line a field that says something, then what can be done."""
    shown = {name.replace("_", " "): value for name, value in part.items() if value not in (None, "", False)}
    shown["part"] = part["part"] + 1
    lines = [f"{name}: {printable(str(value))}" for name, value in shown.items()]
    if plain is not None:
        lines += ["", *(printable(line) for line in plain.split("\n"))]
    if part["state"] in ("dead", "unknown"):
        tenk = of_process()
        again, gone = (tenk.command("outbox", verb, str(part["id"])) for verb in ("retry", "discard"))
        doubt = " (it may be there already: look into the chat first)" if part["state"] == "unknown" else ""
        lines += ["", f"To say it again{doubt}: {again}", f"To give it up: {gone}"]
    return lines


@outbox.command("retry")
@click.argument("numbers", nargs=-1, type=click.IntRange(1))
@click.option("--dead", is_flag=True, help="All that are dead, at most 1000; the unknown ones have to be named.")
@click.option("--yes", is_flag=True, help="Do not ask about those that may have arrived.")
@config_option
def retry(numbers: tuple[int, ...], dead: bool, yes: bool, config_path: Path | None) -> None:
    """Say the parts NUMBERS again, in their order. One that is `unknown` may be there already: then it is doubled."""
    if bool(numbers) == dead:
        raise click.UsageError("give the NUMBERS that `tenk outbox list` shows, or --dead")
    if dead:
        rows = outbox_rows(config_path, ("dead",), 1000)
        numbers = tuple(row["id"] for row in rows)
        if not numbers:
            click.echo("No part is dead.")
    for number in sorted(set(numbers)):
        part = as_row(get(config_path, "outbox", str(number)))
        if part["state"] == "unknown" and not yes:
            click.confirm(f"{_name(part)} may have arrived: then it stands there twice. Say it again?", abort=True)
        post(config_path, "outbox", str(number), "retry")
        click.echo(f"{_name(part)} is said again.")


@outbox.command("discard")
@click.argument("numbers", nargs=-1, required=True, type=click.IntRange(1))
@config_option
def discard(numbers: tuple[int, ...], config_path: Path | None) -> None:
    """Give up the parts NUMBERS for good; nobody is told."""
    for number in numbers:
        part = as_row(get(config_path, "outbox", str(number)))
        post(config_path, "outbox", str(number), "discard")
        click.echo(f"{_name(part)} is discarded.")


def _name(part: Row) -> str:
    return f"Part {part['id']} for {printable(part['name'] or part['chat'])} on {part['account']}"
