"""A model's weekly plan, read: the words for the person, and behind them what is kept apart from them. Pure.

The model ends its answer with a block of JSON between ```plan and ```: its own findings, and the sessions by day. The
person never sees the block. Where it is missing or broken, the words stand for themselves.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.coach.plan_data import PlanFrame
from agent.coach.practice import Insight, InsightType, PlannedSession, name_key
from agent.coach.reports import SkillReport
from agent.wellformed import clean, read_object

FENCE = "```plan"
MAX_INSIGHTS = 6
MAX_SESSIONS = 60

Model = TypeVar("Model", bound=BaseModel)

_BLOCK = re.compile(r"```plan[^\S\n]*\n(?P<json>.*?)(?:```|\Z)", re.DOTALL)


class _Finding(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    type: InsightType
    title: str = Field(min_length=1, max_length=200)
    description: str = Field("", max_length=2000)
    skill: str | None = None


class _Session(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    date: date
    skill: str = Field(min_length=1, max_length=200)
    minutes: int = Field(ge=1, le=1440)


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """A plan as it was written."""

    text: str
    insights: tuple[Insight, ...] = ()
    sessions: tuple[PlannedSession, ...] = ()
    cut: tuple[str, ...] = ()  # skills of which a session was longer than fits the person
    ruled_out: bool = False  # it had sessions on days that the person has ruled out


def read_plan(text: str, skills: Sequence[SkillReport], frame: PlanFrame) -> PlanAnswer:
    """Return the words without their block, and what the block says that holds: findings, and sessions of those
    days.
    """
    found = _BLOCK.search(text)
    if found is None:
        return PlanAnswer(text.strip())
    words = (text[: found.start()] + text[found.end() :]).strip()
    block = read_object(found["json"]) or {}
    insights = [_insight(finding, skills) for finding in _valid(_Finding, block.get("insights"))]
    named = [session for session in _valid(_Session, block.get("sessions")) if session.date in frame.days]
    sessions = [session for session in named if session.date in frame.free_days]
    planned = (PlannedSession(session.date, session.skill, session.minutes) for session in sessions)
    bounded = bounded_sessions(planned, [skill.name for skill in skills], frame.most_of)
    cut = dict.fromkeys(clean(each.skill)[:64] for each in sessions if each.minutes > frame.most_of(each.skill))
    ruled_out = len(sessions) < len(named)
    return PlanAnswer(words, tuple(insights[:MAX_INSIGHTS]), bounded, tuple(cut), ruled_out)


def bounded_sessions(
    sessions: Iterable[PlannedSession], names: Iterable[str], most_of: Callable[[str], int]
) -> tuple[PlannedSession, ...]:
    """By day, skills spelled as the person has them, none longer than fits them."""
    spelled = {name_key(name): name for name in names}
    bounded = [
        PlannedSession(
            session.day,
            spelled.get(name_key(session.skill), clean(session.skill)[:64]),
            min(session.minutes, most_of(session.skill)),
        )
        for session in sessions
    ]
    return tuple(sorted(bounded, key=lambda session: session.day)[:MAX_SESSIONS])


def plan_block(sessions: Iterable[PlannedSession]) -> str:
    """Return the block as a model would write it; findings are left to the rules."""
    rows = [{"date": each.day.isoformat(), "skill": each.skill, "minutes": each.minutes} for each in sessions]
    return f"{FENCE}\n{json.dumps({'sessions': rows}, ensure_ascii=False)}\n```"


class PlanStream:
    """Lets the words of a plan through as they come, and holds back what may be its block."""

    def __init__(self) -> None:
        self._held = ""
        self._white: list[str] = []  # behind what is held: looked at again with the next word, not with each piece
        self._closed = False

    def feed(self, text: str) -> str:
        """Add streamed text and return the part that may be shown now."""
        if self._closed:
            return ""
        self._white.append(text)
        if text.isspace():
            return ""
        self._held += self._take_white()
        at = self._held.find(FENCE)
        if at >= 0:
            self._closed = True
            shown = self._held[:at].rstrip()
            self._held = ""
            return shown
        kept = self._tail()
        shown, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
        return shown

    def rest(self) -> str:
        """Return text that was held back and turned out to be no block."""
        shown, self._held = ("" if self._closed else self._held + self._take_white()), ""
        return shown

    def _take_white(self) -> str:
        taken, self._white = "".join(self._white), []
        return taken

    def _tail(self) -> int:
        """Return how many held characters could begin a block: white space and a part of the fence."""
        ends = next((n for n in range(len(FENCE) - 1, 0, -1) if self._held.endswith(FENCE[:n])), 0)
        before = self._held[: len(self._held) - ends]
        return ends + len(before) - len(before.rstrip())


def _valid(model: type[Model], rows: object) -> list[Model]:
    """Return those rows of a list that are what they should be."""
    found = []
    for row in rows if isinstance(rows, list) else ():
        try:
            found.append(model.model_validate(row))
        except ValidationError:
            continue
    return found


def _insight(finding: _Finding, skills: Sequence[SkillReport]) -> Insight:
    wanted = name_key(finding.skill or "")
    about = next((skill.id for skill in skills if wanted in {name_key(skill.name), skill.id}), None)
    return Insight(finding.type, clean(finding.title), finding.description.strip(), about)
