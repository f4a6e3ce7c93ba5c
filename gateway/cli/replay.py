"""`tenk replay`: runs a recorded turn again without effects, and shows what differs."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from gateway.cli.client import post_within, printable
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, json_text, table_lines
from gateway.cli.usage import cost_text
from gateway.errors import GatewayError
from gateway.safety.names import minute, short

MAX_PROMPT_BYTES = 200_000
REPLAY_S = 300
LONGEST_S = 3600
MORE_S = 15.0
"""Seconds for what surrounds a replay."""

COLORS = {"-": "red", "+": "green"}

COLUMNS: Columns = {
    "run": "run",
    "model": "model",
    "steps": "steps",
    "tokens in": "input_tokens",
    "out": "output_tokens",
    "cost": lambda row: cost_text([{**row, "unpriced": int(row["cost_microusd"] is None)}]),
    "model s": lambda row: f"{row['model_s']:.1f}",
    "end": "reason",
}


@click.command("replay")
@click.argument("turn")
@click.option("--at", help='With a person as TURN: the day or time in their zone, such as "yesterday 10:00".')
@click.option("--model", metavar="NAME", help="Ask this configured model. Default: the one that answered.")
@click.option(
    "--prompt",
    "prompt_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Put this text in place of who the agent is and how it speaks.",
)
@click.option("--agent", metavar="NAME", help="Run this agent of yours. Default: the one that answered.")
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(1, LONGEST_S),
    default=REPLAY_S,
    show_default=True,
    help="Seconds for all of it.",
)
@json_option
@config_option
def command(
    turn: str,
    at: str | None,
    model: str | None,
    prompt_path: Path | None,
    agent: str | None,
    wait_s: float,
    as_json: bool,
    config_path: Path | None,
) -> None:
    """Run TURN again on its recorded tool results, and show the difference.

    TURN is a turn's id or the end of one, as `tenk trace` and `tenk sessions show` print it, or a person, whose last
    turn is meant. No tool runs, the conversation stays as it is, and its people are not told.
    """
    prompt = None if prompt_path is None else read_prompt(prompt_path)
    wish = {"at": at, "model": model, "prompt": prompt, "agent": agent, "wait_s": wait_s}
    found = post_within(wait_s + MORE_S, config_path, "all-turns", turn, "replay", **wish)
    if as_json:
        click.echo(json_text(found))
        return
    for line in replay_lines(found):
        click.echo(click.style(line, fg=COLORS.get(line.strip()[:1])) if line.startswith("  ") else line)


def read_prompt(path: Path) -> str:
    """Return the text of a prompt file.

    Raises:
        GatewayError: it cannot be read, is empty, too large or not UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_PROMPT_BYTES + 1)
    except OSError as error:
        raise GatewayError(f"the prompt {path} cannot be read ({error.strerror}): name a text file") from None
    if len(content) > MAX_PROMPT_BYTES:
        raise GatewayError(f"the prompt {path} has more than {MAX_PROMPT_BYTES:,} bytes: shorten it")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise GatewayError(f"the prompt {path} is not UTF-8 (byte {error.start + 1}): save it as UTF-8") from None
    if not text.strip():
        raise GatewayError(f"the prompt {path} is empty: write who the agent is, and how it answers")
    return text


def replay_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the turn, what the record does not keep, the figures of both runs, then each step with its difference."""
    turn = found["turn"]
    at = minute(datetime.fromisoformat(turn["started_at"]).isoformat())
    yield f"Turn {short(turn['turn'])} of {printable(turn['person'])} with {printable(found['agent'])}, {at} UTC"
    for note in found["notes"]:
        yield f"! {printable(note)}"
    yield ""
    yield from table_lines([_row_of("recorded", found), _row_of("replayed", found)], COLUMNS)
    for number, pair in enumerate(found["steps"], 1):
        yield from _part_lines(f"Step {number}", pair["lines"])
    yield from _part_lines("Answer", found["answer"])


def _row_of(run: str, found: Mapping[str, Any]) -> dict[str, Any]:
    steps = sum(pair[run] is not None for pair in found["steps"])
    return {**found[run], "run": run, "model": ", ".join(found[run]["models"]), "steps": steps}


def _part_lines(title: str, lines: Sequence[str]) -> Iterator[str]:
    is_same = all(line.startswith(" ") for line in lines)
    yield ""
    yield f"{title}{', the same in both' if is_same else ''}:"
    yield from (f"  {printable(line)}" for line in lines)
