"""`tenk trace`, `tenk inbox` and `tenk outbox`: the fate of messages, and the handling of failed ones."""

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
    "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="Maximum number, newest first."
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
    "number": lambda row: str(row["id"]),
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
    """Return the newest outbox parts in these states as table rows."""
    return [as_row(part) for part in get(config_path, "outbox", state=",".join(states), limit=limit)["parts"]]


def as_row(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part with channel and account joined: telegram:main."""
    account = f"{part['channel']}:{part['account']}"
    return {name: account if name == "account" else value for name, value in part.items() if name != "channel"}


def cause_shown(cause: str) -> str:
    """Return the short form of a part's cause. `dead:` marks the apology for an undeliverable part."""
    what, colon, id_ = cause.rpartition(":")
    return cause if id_.isdecimal() else f"{what}{colon or 'turn '}{short(id_.partition('.')[0])}"


@click.command("trace")
@click.argument("person")
@click.option(
    "--at",
    help='Day or time in the person\'s zone: "yesterday", "yesterday 10:00", "10am", "2026-11-22 10:00", "3 h ago".',
)
@click.option(
    "--count",
    type=click.IntRange(1, 20),
    default=3,
    show_default=True,
    help="Number of messages, newest first, if --at is not given.",
)
@json_option
@config_option
def trace(person: str, at: str | None, count: int, as_json: bool, config_path: Path | None) -> None:
    """Show step by step what happened to messages of PERSON (a name, a sender such as telegram:42, or an id)."""
    found = get(config_path, "trace", who=person, at=at, count=count)
    click.echo(json_text(found) if as_json else "\n".join(trace_lines(found)))


def trace_lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield the person, then each message: its outcome in sentences, and each hop with its delay."""
    who = found["person"]
    yield f"{known_as(who)}, {who['role']}. Times are {who['timezone']}."
    if not found["messages"]:
        yield "They have sent no message, or it was deleted since."
    elif found["since"]:
        span = f"{minute(found['since'])} to {minute(found['until'])}"
        if not found["near"]:
            yield f"{span}: no message of theirs. The nearest:"
        elif found["more"]:
            yield f"{span}, the last {len(found['messages'])} messages:"
        else:
            yield f"{span}:"
    for message in found["messages"]:
        at = second(message["at"])
        turn = f", turn {short(message['turn'])}" if message["turn"] else ""
        where = f"{message['account']} {printable(message['chat'])}"
        yield f"\n{at}  {message['kind']} in {where}, row {message['row']}{turn}"
        yield from (f"  {printable(sentence)}" for sentence in message["verdict"])
        yield from hop_lines(message["hops"])


@click.command("inbox")
@click.option("--outcome", help="Only messages with this outcome: open, answered, refused, failed ...")
@limit_option
@json_option
@config_option
def inbox(outcome: str | None, limit: int, as_json: bool, config_path: Path | None) -> None:
    """List incoming messages and their outcomes, newest first, without their text."""
    rows = get(config_path, "inbox", outcome=outcome, limit=limit)["rows"]
    print_rows(rows, IN_COLUMNS, "No such messages.", as_json=as_json)


@click.group("outbox")
def outbox() -> None:
    """List outgoing messages; resend or discard those that failed."""


@outbox.command("list")
@click.option(
    "--state",
    "states",
    multiple=True,
    help="Only this state: ready, sending, sent, unknown, dead or discarded. Repeatable. The table shows `parked` for "
    "one that is ready, but waits until its chat takes messages.",
)
@click.option("--all", "every", is_flag=True, help="Include delivered and discarded messages.")
@limit_option
@json_option
@config_option
def list_(states: tuple[str, ...], every: bool, limit: int, as_json: bool, config_path: Path | None) -> None:
    """List undelivered messages, newest first. The state `unknown` means that it may have arrived."""
    wanted = states or (STATES if every else UNDER_WAY_OR_FAILED)
    rows = outbox_rows(config_path, wanted, limit)
    print_rows(rows, OUT_COLUMNS, "No message is waiting or failed.", as_json=as_json)


@outbox.command("show")
@click.argument("number", type=click.IntRange(1))
@click.option("--text", is_flag=True, help="Show its text, too.")
@json_option
@config_option
def show(number: int, text: bool, as_json: bool, config_path: Path | None) -> None:
    """Show the outgoing message NUMBER: its destination, attempts, errors and what you can do."""
    found = get(config_path, "outbox", str(number), "text") if text else get(config_path, "outbox", str(number))
    line = as_row(found["line"] if text else found)
    if as_json:
        click.echo(json_text(found | {"line": line} if text else line))
        return
    for words in part_lines(line, found["plain"] if text else None):
        click.echo(words)


def part_lines(part: dict[str, Any], plain: str | None) -> list[str]:
    """Return the lines that show a part: one per field with a value, then the possible commands."""
    shown = {name.replace("_", " "): value for name, value in part.items() if value not in (None, "", False)}
    shown["part"] = part["part"] + 1
    lines = [f"{name}: {printable(str(value))}" for name, value in shown.items()]
    if plain is not None:
        lines += ["", *(printable(line) for line in plain.split("\n"))]
    if part["state"] in ("dead", "unknown"):
        tenk = of_process()
        again, gone = (tenk.command("outbox", verb, str(part["id"])) for verb in ("retry", "discard"))
        doubt = " (it may have arrived: check the chat first)" if part["state"] == "unknown" else ""
        lines += ["", f"To resend it{doubt}: {again}", f"To discard it: {gone}"]
    return lines


@outbox.command("retry")
@click.argument("numbers", nargs=-1, type=click.IntRange(1))
@click.option("--dead", is_flag=True, help="Resend all dead messages (at most 1000). Name unknown ones by NUMBER.")
@click.option("--yes", is_flag=True, help="Resend unknown messages without asking.")
@config_option
def retry(numbers: tuple[int, ...], dead: bool, yes: bool, config_path: Path | None) -> None:
    """Resend the messages NUMBERS in order. An `unknown` one may have arrived, and then arrives twice."""
    if bool(numbers) == dead:
        raise click.UsageError("give the NUMBERS that `tenk outbox list` shows, or --dead")
    if dead:
        rows = outbox_rows(config_path, ("dead",), 1000)
        numbers = tuple(row["id"] for row in rows)
        if not numbers:
            click.echo("No message is dead.")
    for number in sorted(set(numbers)):
        part = as_row(get(config_path, "outbox", str(number)))
        if part["state"] == "unknown" and not yes:
            click.confirm(f"{_name(part)} may have arrived and would then arrive twice. Resend it?", abort=True)
        post(config_path, "outbox", str(number), "retry")
        click.echo(f"{_name(part)} will be sent again.")


@outbox.command("discard")
@click.argument("numbers", nargs=-1, required=True, type=click.IntRange(1))
@config_option
def discard(numbers: tuple[int, ...], config_path: Path | None) -> None:
    """Discard the messages NUMBERS for good. Their recipients get no notice."""
    for number in numbers:
        part = as_row(get(config_path, "outbox", str(number)))
        post(config_path, "outbox", str(number), "discard")
        click.echo(f"{_name(part)} is discarded.")


def _name(part: Row) -> str:
    return f"Message {part['id']} for {printable(part['name'] or part['chat'])} on {part['account']}"
