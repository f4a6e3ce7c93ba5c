"""`tenk eval`: runs cases against the agent and checks its answers; makes a case of a conversation."""

import asyncio
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from agent.evals.case_file import BadCase, CaseFile, FoundCases, read_cases, write_case
from agent.plain_errors import hint_at
from agent.ports import ChatModel
from channels.messages import DEFAULT_TENANT
from gateway.agent_models import evaluating_of
from gateway.cli.client import post, printable, tenant_option
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, json_text, print_rows
from gateway.config.settings import Settings
from gateway.errors import GatewayError
from gateway.evals.run import CaseRun, run_case
from gateway.evals.surroundings import settings_of_tenant

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
"""Exit statuses: a case failed; a file or a setting is wrong; Ctrl-C."""

COLUMNS: Columns = {
    "case": "name",
    "result": "result",
    "turns": "turns",
    "steps": "steps",
    "calls": "calls",
    "cost": lambda row: "unknown" if row["cost_usd"] is None else f"${row['cost_usd']:.6f}",
    "seconds": lambda row: f"{row['seconds']:.1f}",
}


@dataclass(slots=True)
class CaseOutcome:
    """A case and its runs so far."""

    found: CaseFile
    runs: list[CaseRun] = field(default_factory=list)
    error: str = ""  # why it cannot run; "": it can

    @property
    def failed(self) -> int:
        """Return how many runs failed."""
        return sum(bool(run.all_flaws) for run in self.runs)

    @property
    def result(self) -> str:
        """Return the result in a word or two."""
        if self.error:
            return "cannot run"
        if not self.failed:
            return "passed"
        return "failed" if len(self.runs) == 1 else f"failed {self.failed} of {len(self.runs)}"


@click.command("eval")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--record", "session", metavar="SESSION", help="Write a case of this conversation to the file PATH.")
@click.option("--only", multiple=True, metavar="NAME", help="Run only the case of this name; may be repeated.")
@click.option("--repeat", type=click.IntRange(1, 100), default=1, show_default=True, help="Run each case so often.")
@click.option("--jobs", type=click.IntRange(1, 16), default=4, show_default=True, help="Run so many at the same time.")
@json_option
@config_option
def command(
    path: Path,
    session: str | None,
    only: tuple[str, ...],
    repeat: int,
    jobs: int,
    as_json: bool,
    config_path: Path | None,
) -> None:
    """Run the cases in the folder PATH against your agent, and print which passed, their cost and time.

    With `--record`, PATH is a new file: it gets a case of a conversation that `tenk sessions list` names.

    Each runs beside your gateway with an empty store. Tools that change the outside never run: fixtures answer for
    them. The exit status is 0 if all passed, 1 if a case failed, 2 if a file or a setting is wrong.
    """
    outcomes: list[CaseOutcome] = []
    try:
        if session is not None:
            click.echo(_record(session, path, config_path))
            return
        settings = settings_of_tenant(prepare(config_path, level="critical"), tenant_option() or DEFAULT_TENANT)
        found = read_cases(path)
        outcomes += [CaseOutcome(each) for each in _choose(found, only)]
        asyncio.run(_run_all(outcomes, settings, repeat, jobs))
    except GatewayError as error:
        _tell(str(error))
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        _report(outcomes, (), as_json=as_json)
        click.echo("Stopped before all cases had run.", err=True)
        sys.exit(INTERRUPTED)
    _report(outcomes, found.flaws, as_json=as_json)
    if found.flaws or any(outcome.error for outcome in outcomes):
        sys.exit(BAD_INPUT)
    if any(outcome.failed for outcome in outcomes):
        sys.exit(FAILED)


def _record(session: str, path: Path, config_path: Path | None) -> str:
    """Write a case of a conversation to a new file; return what to do next.

    Raises:
        GatewayError: there is no such conversation, or the file cannot be written.
    """
    if path.exists():
        raise GatewayError(f"{path} exists; name a new file")
    name = re.sub(r"[^\w .-]|^\W+", "", path.stem)[:80] or "recorded"
    found = post(config_path, "all-sessions", session, "case", name=name)
    try:
        path.write_text(write_case(found["case"], path), encoding="utf-8")
    except BadCase as bad:
        raise GatewayError(str(bad)) from None
    except OSError as error:
        raise GatewayError(f"{path} cannot be written: {error.strerror}") from None
    turns, left_out = found["turns"], found["left_out"]
    return (
        f"Wrote {turns} turn{'' if turns == 1 else 's'} to {path}; {left_out} left out. Read it before you share it: "
        "names that no person of this gateway has are still there. Then write its rules."
    )


def _choose(found: FoundCases, only: Sequence[str]) -> Sequence[CaseFile]:
    """Return the cases of these names; all without names.

    Raises:
        GatewayError: there is no case of a name.
    """
    names = [each.case.name for each in found.cases]
    for name in only:
        if name not in names:
            raise GatewayError("\n".join([*found.flaws, f"there is no case {name!r}{hint_at(name, names)}"]))
    return [each for each in found.cases if not only or each.case.name in only]


async def _run_all(outcomes: Sequence[CaseOutcome], settings: Settings, repeat: int, jobs: int) -> None:
    """Run each case so often, so many at the same time."""
    places = asyncio.Semaphore(jobs)
    judging = evaluating_of(settings) if any(outcome.found.case.judge for outcome in outcomes) else None
    try:
        async with asyncio.TaskGroup() as tasks:
            for outcome in outcomes:
                for _ in range(repeat):
                    tasks.create_task(_run_one(outcome, settings, judging, places))
    finally:
        if judging is not None:
            await judging.aclose()


async def _run_one(
    outcome: CaseOutcome, settings: Settings, judging: ChatModel | None, places: asyncio.Semaphore
) -> None:
    async with places:
        try:
            if not outcome.error:
                outcome.runs.append(await run_case(outcome.found, settings, judging))
        except GatewayError as error:
            outcome.error = str(error)


def _report(outcomes: Sequence[CaseOutcome], flaws: Sequence[str], *, as_json: bool) -> None:
    """Print what came of the cases that ran, and the files that cannot be used."""
    rows = [_to_row(outcome) for outcome in outcomes if outcome.runs or outcome.error]
    if as_json:
        click.echo(json_text({"cases": rows, "errors": list(flaws)}, indent=1))
        return
    if rows:
        print_rows(rows, COLUMNS, "", as_json=False)
    for line in _details(outcomes):
        click.echo(printable(line))
    for flaw in flaws:
        _tell(flaw)


def _tell(error: str) -> None:
    for line in error.splitlines():
        click.echo(f"error: {printable(line)}", err=True)


def _details(outcomes: Sequence[CaseOutcome]) -> Iterator[str]:
    """Yield why cases failed or cannot run, and the calls that no fixture answered."""
    for outcome in outcomes:
        lines = outcome.error.splitlines()
        for number, run in enumerate(outcome.runs, 1):
            prefix = f"run {number}: " if len(outcome.runs) > 1 else ""
            lines += [f"{prefix}{flaw}" for flaw in run.all_flaws]
            unanswered = dict.fromkeys(f"{call.tool} {call.arguments}" for call in run.seen.calls if call.is_unanswered)
            lines += [f"{prefix}not in the fixtures: {call}" for call in unanswered]
        if lines:
            yield ""
            yield f"{outcome.found.case.name}:"
            yield from (f"  {line}" for line in lines)


def _to_row(outcome: CaseOutcome) -> Mapping[str, Any]:
    runs = outcome.runs
    costs = [run.cost_microusd for run in runs]
    return {
        "name": outcome.found.case.name,
        "file": str(outcome.found.path),
        "result": outcome.result,
        "error": outcome.error or None,
        "turns": sum(len(run.turns) for run in runs),
        "steps": sum(run.seen.steps for run in runs),
        "calls": sum(len(run.seen.calls) for run in runs),
        "cost_usd": None if None in costs else sum(filter(None, costs)) / 1_000_000,
        "seconds": round(sum(run.seen.seconds for run in runs), 3),
        "runs": [_run_as_json(run) for run in runs],
    }


def _run_as_json(run: CaseRun) -> Mapping[str, Any]:
    return {
        "passed": not run.all_flaws,
        "flaws": list(run.all_flaws),
        "judge": run.judged or None,
        "turns": [
            {
                "person": turn.text,
                "agent": turn.seen.answer,
                "calls": [
                    {"tool": call.tool, "arguments": call.arguments, "answered": not call.is_unanswered}
                    for call in turn.seen.calls
                ],
                "steps": turn.seen.steps,
                "seconds": round(turn.seen.seconds, 3),
            }
            for turn in run.turns
        ],
    }
