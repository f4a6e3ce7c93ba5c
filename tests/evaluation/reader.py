"""`make eval`: a table of what the reader without a model makes of single messages; a measurement, not a test.

    python -m tests.evaluation.reader [--misses N] [FILE.jsonl ...]

Each line of a file is one message:
{"text": "45m guitar", "lang": "en", "today": "2026-11-21", "now": "12:00", "skills": ["guitar"],
 "expect": {"kind": "log", "entries": [{"skill": "guitar", "minutes": 45, "day": "2026-11-21"}], "intent": "log"}}
`kind` is log (it tells of practice), ask (it cannot be written without a question) or no_write; `intent` is the
request beside. Without files the whole of `tests/corpus` is read.
"""

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from agent.coach.log_line import parse_logs
from agent.coach.practice import PracticeSession, Skill
from agent.coach.reader.reader import OfflineReader
from agent.coach.reader.requests import wants_plan
from agent.coach.reports import entries_report, skills_report
from agent.coach.texts import say
from agent.coach.vocabulary.words import fold
from agent.models.offline import RuleAnswer
from agent.ports import ModelRequest, RequestContext, SystemPrompt, ToolSpec
from agent.tools.results import success_result
from agent.transcript import AssistantItem, Item, ToolCall, ToolItem, UserItem

CORPUS = Path(__file__).parents[1] / "corpus"
READS = {
    "get_journey_stats": "stats",
    "analyze_practice_patterns": "stats",
    "plot_progress": "stats",
    "list_reminders": "reminder",
    "show_plan": "plan",
}
COMMANDS = {
    "/edit": "edit",
    "/delete": "delete",
    "/remind": "reminder",
    "/goal": "goal",
    "/skill": "goal",
    "/plan": "plan",
    "/start": "timer",
    "/done": "timer",
    "/language": "language",
    "/timezone": "time zone",
    "/export": "export",
    "/help": "other",
}
TEXTS = {
    "offline.help": "help",
    "offline.guide": "help",
    "offline.greeting": "greeting",
    "offline.thanks": "thanks",
    "offline.pain": "mood",
    "offline.unknown": "other",
    "offer.name_skill": "create",
    "forget.how": "delete",
    "entries.how_edit": "edit",
    "remind.how": "reminder",
    "offer.how_import": "import",
    "skills.none": "skills",
}
ALIKE = ({"undo", "delete", "edit"}, {"other", "question", "joke"}, {"stats", "skills"})
"""Answered well by the same answer: entries are named before anything is done to them, and jokes are not told."""

Sums = dict[tuple[str, str], int]


@dataclass(frozen=True)
class Outcome:
    """The reader's result for one message."""

    does: str  # written | offered | an intent
    choices: tuple[Sums, ...] = ()
    shown: str = ""


def sums(entries: Sequence[tuple[str, int, str]]) -> Sums:
    """Return the minutes of each skill on each day."""
    found: Sums = {}
    for skill, minutes, day in entries:
        found[fold(skill), day] = found.get((fold(skill), day), 0) + minutes
    return found


def read(said: dict[str, object]) -> Outcome:
    """Let the reader answer one message, and play its tools."""
    text, now = str(said["text"]), datetime.fromisoformat(f"{said['today']}T{said['now']}").replace(tzinfo=UTC)
    if wants_plan(text):
        return Outcome("plan")
    names = [str(name) for name in said["skills"]]  # type: ignore[attr-defined]  # JSON
    items: list[Item] = [UserItem(text)]
    tools = tuple(ToolSpec(name, "", {}) for name in (*READS, "get_user_skills", "get_entries", "log_practice"))
    reader = OfflineReader()
    for number in range(6):
        answer = reader.answer(
            ModelRequest(SystemPrompt(), tuple(items), tools, context=RequestContext(str(said["lang"]), now))
        )
        if not answer.calls:
            return _said(answer, names, now.date())
        call = answer.calls[0]
        if (read := next((each.name for each in answer.calls if each.name in READS), None)) is not None:
            return Outcome(READS[read])
        if call.name == "log_practice":
            day = str(call.arguments.get("date", said["today"]))
            written = sums([(str(call.arguments["skill"]), int(str(call.arguments["minutes"])), day)])
            return Outcome("written", (written,), str(call.arguments))
        calls = [
            ToolCall(f"c{number}-{place}", each.name, json.dumps(dict(each.arguments)))
            for place, each in enumerate(answer.calls)
        ]
        items.append(AssistantItem("", tuple(calls)))
        items += [ToolItem(each.id, each.name, success_result(_report(each.name, names, now.date()))) for each in calls]
    return Outcome("no end")


def _report(tool: str, names: Sequence[str], today: date) -> object:
    skills = [Skill(name, name, "🎵", "#000000", 600_000, False, 60) for name in names]
    if tool == "get_user_skills":
        return skills_report(skills).model_dump(mode="json")
    logged = [
        PracticeSession(f"{9 - back}{place}", skill.id, 30 + place, today - timedelta(days=back))
        for back in range(3)
        for place, skill in enumerate(skills)
    ]
    return entries_report(logged, skills).model_dump(mode="json")


def _said(answer: RuleAnswer, names: Sequence[str], today: date) -> Outcome:
    shown = " | ".join([answer.text[:70].replace("\n", " "), *(f"[{reply.label}]" for reply in answer.replies)])
    if answer.replies:
        name = answer.replies[0].words.partition(" ")[0]
        if name != "/log":
            return Outcome(COMMANDS.get(name, name), shown=shown)
        choices = []
        for reply in answer.replies:
            lines = parse_logs(reply.words.removeprefix("/log "), today, names)
            choices.append(sums([(line.skill, line.minutes, line.day.isoformat()) for line in lines]))
        return Outcome("offered", tuple(choices), shown)
    for key, intent in TEXTS.items():
        if any(say(language, key).split("{")[0] in answer.text for language in ("en", "es")):
            return Outcome(intent, shown=shown)
    for key, does in (("offer.how_long", "asked"), ("offer.no_skill", "asked")):
        if any(say(language, key).split("{")[0] in answer.text for language in ("en", "es")):
            return Outcome(does, shown=shown)
    return Outcome("edit" if "undo" in answer.text else "skills" if "🎵" in answer.text else "other", shown=shown)


def judge(expected: dict[str, object], outcome: Outcome) -> str:
    """Return the column of the table that a message falls into."""
    kind, intent = expected["kind"], str(expected["intent"])
    wanted = sums([(one["skill"], one["minutes"], one["day"]) for one in expected["entries"]])  # type: ignore[attr-defined]  # JSON
    if outcome.does == "written":
        return "right at once" if kind == "log" and outcome.choices == (wanted,) else "WRONG WRITE"
    if kind in {"log", "ask"}:
        if outcome.does == "offered":
            return "right within one tap" if wanted and wanted in outcome.choices else "other offer"
        return "asked openly" if outcome.does == "asked" else "not noticed"
    if outcome.does == intent or any({outcome.does, intent} <= group for group in ALIKE):
        return "right"
    if outcome.does in {"offered", "edit", "delete", "reminder", "goal", "timer", "language", "time zone"}:
        return "needless offer"
    return "other answer"


def main() -> None:
    """Print the table, and the misses that are asked for."""
    parser = argparse.ArgumentParser(description="What the reader without a model makes of single messages.")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--misses", type=int, default=0, help="so many examples of each column, drawn at random")
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    examples: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in given.files or sorted(CORPUS.rglob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            said = json.loads(line)
            outcome = read(said)
            column, expected = judge(said["expect"], outcome), said["expect"]
            row = expected["kind"] if expected["kind"] != "no_write" else expected["intent"]
            counts[row][column] += 1
            examples[row, column].append(
                f"{said['text'][:100]!r} ({', '.join(said['skills'])}) -> {outcome.does}: {outcome.shown}"
            )
    _print(counts)
    for (row, column), found in sorted(examples.items()):
        if given.misses and column not in {"right", "right at once", "right within one tap"}:
            print(f"\n{row}: {column}")
            for each in random.Random(given.misses).sample(found, min(given.misses, len(found))):
                print(f"  {each}")


def _print(counts: dict[str, Counter[str]]) -> None:
    for row, columns in sorted(counts.items(), key=lambda item: -item[1].total()):
        told = ", ".join(f"{name} {count} ({count / columns.total():.0%})" for name, count in columns.most_common())
        print(f"{row:10}{columns.total():6}  {told}")
    logs = counts["log"]
    others = sum((columns for row, columns in counts.items() if row not in {"log", "ask"}), Counter[str]())
    asked = sum(
        (columns for row, columns in counts.items() if row not in {"log", "ask", "other", "question", "joke"}),
        Counter[str](),
    )
    tapped = logs["right at once"] + logs["right within one tap"]
    print()
    for name, part, whole, direction in (
        ("practice, right within one tap", tapped, logs.total(), "85 %"),
        ("requests, right within one tap", asked["right"], asked.total(), "85 %"),
        ("needless offers, where nothing is to be logged", others["needless offer"], others.total(), "12 %"),
    ):
        print(f"{name:50}{part:6} of {whole:5}  {part / max(whole, 1):6.1%}  (direction {direction})")
    wrong = sum(columns["WRONG WRITE"] for columns in counts.values())
    print(f"{'wrong writes':50}{wrong:6} of {sum(each.total() for each in counts.values()):5}          (direction 0)")


if __name__ == "__main__":
    main()
