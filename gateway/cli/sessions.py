"""`tenk sessions`: lists conversations, shows one as a timeline, exports one."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from gateway.cli.client import get, printable
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, json_text, print_rows
from gateway.safety.names import minute, place_of_session, short


def _who(row: Mapping[str, Any]) -> str:
    """Return the person's name, or the short id of a person without a name."""
    return short(row["user"]) if row["person"] in {"", row["user"]} else printable(row["person"])


HOP_NAMES = {
    "turn_started": "begun",
    "model_responded": "model",
    "tool_intended": "tool begun",
    "tool_returned": "tool",
    "tool_result_rewritten": "result cut",
    "response_discarded": "discarded",
    "steps_noted": "notes",
    "called_beside": "model beside",
    "turn_ended": "ended",
}
"""Shorter names for hops of a timeline."""

COLUMNS: Columns = {
    "id": lambda row: short(row["id"]),
    "last used (utc)": lambda row: minute(row["used_at"]),
    "person": _who,
    "agent": "agent",
    "where": lambda row: place_of_session(row["key"]),
    "turns": "turns",
    "mode": "mode",
    "now": lambda row: "*" if row["living"] else "",
}


@click.group("sessions")
def command() -> None:
    """List, show or export conversations."""


@command.command("list")
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Maximum number, newest first."
)
@click.option("--person", metavar="WHO", help="Only conversations in which WHO (a name, a sender or an id) wrote last.")
@json_option
@config_option
def list_(limit: int, person: str | None, as_json: bool, config_path: Path | None) -> None:
    """List the conversations that were used last."""
    rows = get(config_path, "all-sessions", limit=limit, person=person or None)["sessions"]
    print_rows(rows, COLUMNS, "There are no conversations yet.", as_json=as_json)
    if len(rows) == limit and not as_json:
        click.echo(f"Only the newest {limit} are shown. Use --limit to see more.")


@command.command("show")
@click.argument("id_")
@click.option(
    "--turns", type=click.IntRange(1, 500), default=20, show_default=True, help="Number of turns, newest first."
)
@json_option
@config_option
def show(id_: str, turns: int, as_json: bool, config_path: Path | None) -> None:
    """Show a conversation turn by turn: each step with its delay, tools, cost, sent messages and receipts."""
    found = get(config_path, "all-sessions", id_, turns=turns)
    click.echo(json_text(found) if as_json else "\n".join(timeline_lines(found)))


@command.command("export")
@click.argument("id_")
@config_option
def export(id_: str, config_path: Path | None) -> None:
    """Print a whole conversation as JSON: messages, tool calls and results."""
    whole = get(config_path, "all-sessions", id_, "export")
    while whole.pop("more"):
        skip = len(whole["turns"])
        page = get(config_path, "all-sessions", whole["session"]["id"], "export", skip=skip)
        whole = {"session": page["session"], "turns": whole["turns"] + page["turns"], "more": page["more"]}
    click.echo(json_text(whole, indent=1))


def timeline_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that show a conversation: its facts, then each turn with one line per hop."""
    session = found["session"]
    yield f"{session['id']}  begun {minute(session['created_at'])}"
    where, count = place_of_session(session["key"]), session["turns"]
    counted = f"{count} {'turn' if count == 1 else 'turns'}"
    yield f"{_who(session)} with {session['agent']}, {where}, mode {session['mode']}, {counted}"
    for turn in found["turns"]:
        ended = turn["end_reason"] or "under way"
        whose = f"task {turn['task']} of turn {short(turn['parent'])}" if turn["parent"] else _who(turn)
        yield f"\nTurn {short(turn['turn'])}  {turn['kind']}  {whose}  {ended}"
        yield from hop_lines([hop for hop in found["hops"] if hop["turn"] == turn["turn"]])


def hop_lines(hops: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield one line per hop: its time, the delay since the previous one, its name and facts."""
    before = None
    for hop in hops:
        at = datetime.fromisoformat(hop["at"])
        delay = "" if before is None else f"+{(at - before).total_seconds():.3f} s"
        before = at
        name = HOP_NAMES.get(hop["hop"], hop["hop"].replace("_", " "))
        facts = "  ".join(
            _fact(key, value)
            for key, value in hop["facts"].items()
            if value not in (None, "", [], False) and key != "call_key"
        )
        row = f"row {hop['inbox']}  " if hop["inbox"] else ""
        yield f"  {at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03}  {delay:>11}  {name:13} {row}{facts}".rstrip()


def _fact(key: str, value: object) -> str:
    if key == "cost_microusd" and isinstance(value, int):
        return f"${value / 1_000_000:.6f}"
    shown = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{key.removesuffix('_at')}={printable(shown)}"
