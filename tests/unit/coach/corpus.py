"""What the offline coach makes of one message, in the terms of the corpora; and where that is not what was meant."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agent.coach.acts import Act, Task
from agent.coach.intents import Intent
from agent.coach.offline import OfflineCoach
from agent.coach.reports import SkillsReport
from agent.coach.request_view import CHANGES, listen
from agent.coach.tasks import tasks_of
from agent.coach.understanding.tables import Twist
from agent.coach.understanding.words import plain_of
from agent.ports import ModelRequest, RequestContext, ToolSpec
from agent.tools.results import success_result
from agent.transcript import AssistantItem, ToolCall, ToolItem, UserItem

CORPUS = Path(__file__).parents[2] / "corpus"
WRITES = frozenset({*CHANGES, "save_weekly_plan"})

Entries = tuple[tuple[str, int, str], ...]
"""(skill, minutes, ISO date) of each entry."""

_INTENTS = {
    Act.REMIND: "reminder",
    Act.REMINDERS: "reminder",
    Act.CANCEL_REMINDERS: "reminder",
    Act.ASK_GOAL: "goal",
    Act.ASK_SKILL_GOAL: "goal",
    Intent.MOOD: "mood",
    Intent.JOKE: "joke",
    Intent.SMALL_TALK: "other",
    Act.NUMBER: "stats",
    Act.ENTRIES: "stats",
    Act.ASK_DELETE: "delete",
    Act.ASK_EDIT: "edit",
    Act.EDIT_SKILL: "edit",
    Act.ASK_MERGE: "edit",
    Intent.HISTORY: "stats",
    Intent.CHART: "stats",
    Intent.STATS: "stats",
    Intent.SKILLS: "skills",
    Intent.PLAN: "plan",
    Intent.MAYBE_PLAN: "plan",
    Act.PLAN: "plan",
    Intent.GUIDE: "help",
    Intent.HELP: "help",
    Intent.FORGET: "delete",
    Intent.CHANGE: "edit",
    Intent.THANKS: "thanks",
    Intent.YES: "thanks",
    Intent.GREETING: "greeting",
    Intent.FAREWELL: "other",
    Act.UNDO: "undo",
    Act.ASK_UNDO: "undo",
    Act.CORRECT: "edit",
    Act.ASK_CORRECTION: "edit",
    Act.CREATE: "create",
    Act.ASK_CREATE: "create",
    Intent.UNKNOWN: "other",
    Act.NOT_SURE: "other",
    Act.DECLINED: "other",
}
_TWISTS = {Twist.REMINDER: "reminder", Twist.GOAL: "goal", Twist.QUESTION: "question"}
_LOOSE = frozenset({"other", "question", "goal"})
"""Told apart by the sentence of an answer alone: nothing is done about any of them."""


_TAKING_BACK = frozenset({"undo", "delete"})
"""The last entry: the one word is as good as the other."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a corpus, and what a person takes it for."""

    text: str
    language: str
    now: datetime
    skills: tuple[str, ...]
    kind: str  # log, ask, no_write
    entries: Entries
    intent: str


@dataclass(frozen=True, slots=True)
class Understood:
    """What the coach takes it for."""

    kind: str
    entries: Entries
    intent: str
    writes: tuple[str, ...]  # the changes it asks for at once


def messages_of(path: Path) -> Iterator[Message]:
    """The messages of one file."""
    for line in path.read_text("utf-8").splitlines():
        said = json.loads(line)
        expected = said["expect"]
        yield Message(
            said["text"],
            said["lang"],
            datetime.fromisoformat(f"{said['today']}T{said['now']}").replace(tzinfo=UTC),
            tuple(said["skills"]),
            expected["kind"],
            tuple((_folded(one["skill"]), one["minutes"], one["day"]) for one in expected["entries"]),
            expected["intent"],
        )


def understand(text: str, skills: Sequence[str], now: datetime, language: str) -> Understood:
    """What the coach does about the first message that somebody with these skills sends."""
    request = _request(text, skills, now, language)
    calls = OfflineCoach().answer(request).calls
    logged = [call.arguments for call in calls if call.name == "log_practice"]
    if logged:
        today = now.date().isoformat()
        entries = tuple(
            (_folded(str(one["skill"])), int(str(one["minutes"])), str(one.get("date", today))) for one in logged
        )
        return Understood("log", entries, "log", tuple(call.name for call in calls))
    task = tasks_of(listen(request), skills)[0]
    entries = tuple((_folded(one.skill), one.minutes or 0, one.day.isoformat()) for one in task.practised)
    kind = "ask" if task.practised else "no_write"
    return Understood(kind, entries, _intent(task), tuple(call.name for call in calls if call.name in WRITES))


def is_right(message: Message, understood: Understood) -> bool:
    """Whether it was understood as it was meant."""
    if message.kind != understood.kind:
        return False
    if message.kind == "no_write":
        pair = {message.intent, understood.intent}
        return len(pair) == 1 or pair <= _LOOSE or pair <= _TAKING_BACK
    return not message.entries or _sums(message.entries) == _sums(understood.entries)


def is_wrong_write(message: Message, understood: Understood) -> bool:
    """Whether something was written that was not meant."""
    allowed = {"undo": "undo_last_log", "plan": "save_weekly_plan"}.get(message.intent)
    if message.intent == "delete" and re.search("last|[uú]ltim", message.text):
        allowed = "undo_last_log"  # the last entry: the one word is as good as the other
    if message.kind == "log" and understood.kind == "log":
        return _sums(message.entries) != _sums(understood.entries)
    return any(name != allowed for name in understood.writes)


def _sums(entries: Entries) -> dict[tuple[str, str], int]:
    """Minutes of each skill on each day: ten in the morning and twenty at night are thirty."""
    found: dict[tuple[str, str], int] = {}
    for skill, minutes, day in entries:
        found[skill, day] = found.get((skill, day), 0) + minutes
    return found


def _intent(task: Task) -> str:
    if task.act is Act.TWISTED and task.twist is not None:
        return _TWISTS.get(task.twist, "other")
    return _INTENTS.get(task.act, task.act.value)


def _folded(name: str) -> str:
    return plain_of(name.casefold())


def _request(text: str, skills: Sequence[str], now: datetime, language: str) -> ModelRequest:
    tools = tuple(ToolSpec(name, "", {}) for name in sorted({*WRITES, "get_user_skills"}))
    items = (
        UserItem(text),
        AssistantItem("", (ToolCall("c1", "get_user_skills", "{}"),)),
        ToolItem("c1", "get_user_skills", _report(skills)),
    )
    return ModelRequest("", items, tools, context=RequestContext(language, now))


def _report(names: Sequence[str]) -> str:
    reports = tuple(
        {
            "id": name, "name": name, "emoji": "🎵", "archived": False, "total_minutes": 60, "total": "1 h",
            "level": "seed", "minutes_to_next_level": 5_940, "next_level": "apprentice", "goal_minutes": 600_000,
            "percent_of_goal": 0.01,
        }
        for name in names
    )  # fmt: skip
    return success_result(SkillsReport.model_validate({"skills": reports}).model_dump(mode="json"))
