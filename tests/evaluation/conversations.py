"""`make eval`: thirty conversations with the coach, read by a judge; a measurement, not a test.

In half of them the coach answers by its rules, in half by a scripted model with memory that does what its
instructions say. In each a person logs practice and tells a condition, talks of other things, begins a new
conversation, and asks for numbers and a plan; for the total of a weekday, of three days and of a skill's month; and
says that it hurts and that it goes badly. The judge keeps its own account of what the person said and counts

- invented numbers: a length of time in an answer that is neither said by the person, nor a sum of what was logged, nor
  what a level or the plan asks for;
- forgotten conditions: a plan with a day that was ruled out or more minutes than there are, or a model that was asked
  for a plan without being told of the condition;
- other answers: a total that is not the one asked for, or others beside it; a list for pain or frustration, or pain
  without "stop".
"""

import asyncio
import json
import logging
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import accumulate
from typing import Any

import structlog

from gateway.testing.gateway import Person, TestGateway
from gateway.testing.model import Answer, Call, Reply

RULES, MODEL = "rules", "model"
LEVELS_H = (100, 500, 2_000, 5_000, 10_000)
WEEKDAYS = {
    "en": ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    "es": ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
}
LENGTH = re.compile(r"(?<![\w.,:])(?:(?P<h>\d[\d\u202f ,.]*) h)?(?: ?(?P<min>\d+) min)?(?!\w)")
PLANNED = re.compile(
    r"^\W*(?P<day>[a-záéíóú]+)[ ,].*?: (?:(?P<h>\d+) h ?)?(?:(?P<min>\d+) min)? ", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True)
class Case:
    """One person: what they log, and the condition that they tell once."""

    language: str
    told: str
    off: tuple[int, ...]
    most: int | None
    logs: Sequence[tuple[str, int]]  # skill and minutes, of today and of the days before


CONDITIONS: Sequence[tuple[str, str, tuple[int, ...], int | None]] = (
    ("en", "not on Wednesday, I have 30 minutes a day", (2,), 30),
    ("en", "not on Mondays and Fridays", (0, 4), None),
    ("en", "only weekends", (0, 1, 2, 3, 4), None),
    ("en", "at most 20 min a day", (), 20),
    ("en", "any day but Sunday", (6,), None),
    ("en", "weekdays only, half an hour a day", (5, 6), 30),
    ("en", "I can't on Tuesday or Thursday", (1, 3), None),
    ("en", "not on Saturday, no more than 45 min", (5,), 45),
    ("es", "los miércoles no, tengo 30 minutos al día", (2,), 30),
    ("es", "menos el viernes y los fines de semana", (4, 5, 6), None),
    ("es", "solo lunes, miércoles y jueves", (1, 4, 5, 6), None),
    ("es", "como máximo 25 min al día", (), 25),
    ("es", "los domingos no puedo", (6,), None),
    ("es", "entre semana no", (0, 1, 2, 3, 4), None),
    ("es", "sin martes, media hora al día", (1,), 30),
)


@dataclass(frozen=True)
class Words:
    """Words in one language."""

    plan: str
    again: str
    told: str
    talk: Sequence[str]
    days: Sequence[str]  # how much on a weekday, in three days, of a skill: by a model, then by rules
    commands: Sequence[str]
    pain: str
    frustration: str
    stop: str


WORDS = {
    "en": Words(
        "plan my week, {told}",
        "make me a plan for next week",
        "About my plans: {told}.",
        ("thank you!", "how much did I practise this week?", "/stats"),
        ("how much on {weekday}s?", "how much from {since} to {until}?", "how much {skill} on {weekday}s?"),
        ("/stats {weekday}", "/stats {until}", "/stats {skill} {weekday}"),
        "my wrist hurts when I play",
        "I only managed ten minutes today, I feel awful",
        "stop",
    ),
    "es": Words(
        "hazme un plan, {told}",
        "hazme un plan para la próxima semana",
        "Sobre mis planes: {told}.",
        ("¡gracias!", "¿cuánto he practicado esta semana?", "/stats"),
        ("¿cuánto los {weekday}?", "¿cuánto del {since} al {until}?", "¿cuánto {skill} los {weekday}?"),
        ("/stats {weekday}", "/stats {until}", "/stats {skill} {weekday}"),
        "me duele la muñeca al tocar",
        "hoy solo pude diez minutos, me siento fatal",
        "para",
    ),
}


def cases() -> Iterator[Case]:
    """Yield fifteen people."""
    for number, (language, told, off, most) in enumerate(CONDITIONS):
        skills = ("guitar", "piano", "chess") if language == "en" else ("guitarra", "piano", "ajedrez")
        logs = [(skills[(number + day) % 3], 30 + 5 * ((number * 3 + day) % 12)) for day in range(6)]
        yield Case(language, told, off, most, logs)


@dataclass
class Judgement:
    """The findings of the judge in one conversation."""

    case: Case
    by: str
    invented: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)


def lengths(text: str) -> set[int]:
    """Return the lengths of time in a text, in minutes."""
    found = set()
    for each in LENGTH.finditer(text):
        hours, minutes = each["h"], each["min"]
        if hours or minutes:
            found.add(int(re.sub(r"\D", "", hours or "0")) * 60 + int(minutes or 0))
    return found


def planned(text: str, language: str) -> list[tuple[int, int]]:
    """Return weekday and minutes of each planned day in a text."""
    names = WEEKDAYS[language]
    rows = [(each["day"].lower(), int(each["h"] or 0) * 60 + int(each["min"] or 0)) for each in PLANNED.finditer(text)]
    return [(names.index(day), minutes) for day, minutes in rows if day in names and minutes]


def known(case: Case, logged: Sequence[tuple[str, int]], plan: Iterable[int]) -> set[int]:
    """Return every length that an honest answer may name after these logs."""
    minutes = [minutes for _, minutes in logged]
    skills = [sum(m for name, m in logged if name == skill) for skill in {name for name, _ in logged}]
    sums = {sum(minutes[first:last]) for first in range(len(minutes) + 1) for last in range(first, len(minutes) + 1)}
    parts = list(plan)
    sums |= {*skills, *parts, *accumulate(parts), *minutes, case.most or 0, 0}
    sums |= {done + more for done in set(sums) for more in {sum(parts), *parts}}
    bounds = {60 * hours for hours in LEVELS_H}
    return sums | bounds | {bound - done for bound in bounds for done in sums if bound > done}


def judge(found: Judgement, answer: str, logged: Sequence[tuple[str, int]], *, is_plan: bool = False) -> None:
    """Note what is wrong with an answer."""
    case, days = found.case, planned(answer, found.case.language)
    for length in sorted(lengths(answer) - known(case, logged, [minutes for _, minutes in days])):
        found.invented.append(f"{length} min in {answer[:60]!r}")
    if not is_plan:
        return
    if not days:
        found.forgotten.append(f"no plan in {answer[:80]!r}")
    for weekday, minutes in days:
        if weekday in case.off or (case.most is not None and minutes > case.most):
            found.forgotten.append(f"{WEEKDAYS[case.language][weekday]}, {minutes} min")


async def ask(gateway: TestGateway, person: Person, words: str) -> str:
    """Say something and return all that is answered."""
    before = len(person.messages())
    await person.say(words)
    await gateway.settle()
    return "\n".join(message.text for message in person.messages()[before:])


async def converse(gateway: TestGateway, found: Judgement) -> None:
    """Hold one conversation over two sessions."""
    case, person, words = found.case, gateway.person("telegram"), WORDS[found.case.language]
    await person.say(f"/language {case.language}")
    logged: list[tuple[str, int]] = []
    for days_ago, (skill, minutes) in enumerate(case.logs):
        logged.append((skill, minutes))
        day = date.today() - timedelta(days=days_ago)  # noqa: DTZ011  any day will do
        judge(found, await ask(gateway, person, f"/log {day} {minutes}m {skill}"), logged)
    is_by_rules = found.by == RULES
    told = (words.plan if is_by_rules else words.told).format(told=case.told)
    judge(found, await ask(gateway, person, told), logged, is_plan=is_by_rules)
    for said in words.talk:
        judge(found, await ask(gateway, person, said), logged)
    await question(gateway, person, found)
    await ask(gateway, person, "/new")
    judge(found, await ask(gateway, person, words.again), logged, is_plan=True)


async def question(gateway: TestGateway, person: Person, found: Judgement) -> None:
    """Ask for totals of days, and tell of pain and frustration; note answers to something else."""
    case, words = found.case, WORDS[found.case.language]
    today = date.today()  # noqa: DTZ011  any day will do
    names = {"weekday": WEEKDAYS[case.language][today.weekday()], "skill": case.logs[0][0]}
    span = {"since": today - timedelta(days=2), "until": today}
    first, three = case.logs[0][1], sum(minutes for _, minutes in case.logs[:3])
    is_by_rules = found.by == RULES
    expected = (first, first if is_by_rules else three, first)
    for said, minutes in zip(words.commands if is_by_rules else words.days, expected, strict=True):
        answer = await ask(gateway, person, said.format(**names, **span))
        if lengths(answer) != {minutes}:
            found.other.append(f"{said!r} is {minutes} min, not {answer!r}")
    for said in (words.pain, words.frustration):
        answer = await ask(gateway, person, said)
        if re.search(r"^\s*(?:[-*•]|\d+\.) ", answer, re.MULTILINE):
            found.other.append(f"a list for {said!r}: {answer!r}")
        if said == words.pain and words.stop not in answer.casefold():
            found.other.append(f"no stop for {said!r}: {answer!r}")


class ObedientModel:
    """A scripted model that does what its instructions say, with what it is told and nothing else."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def answer(self, body: dict[str, Any]) -> Answer:
        """Return the reply to a request."""
        messages: list[dict[str, Any]] = body["messages"]
        said = next(str(each["content"]) for each in reversed(messages) if each["role"] == "user")
        if "Write my weekly plan" in said:
            return Reply(self._plan(json.dumps(messages, ensure_ascii=False), said))
        if messages[-1]["role"] == "tool":
            return Reply(self._tell(str(messages[-1]["content"])))
        if (days := self._days(said)) is not None:
            return Reply(calls=(Call("get_entries", json.dumps(days)),))
        if self._case.told in said:
            return Reply(calls=(Call("memory", json.dumps(self._memory())),))
        words = WORDS[self._case.language]
        if said in (words.pain, words.frustration):
            return Reply(self._comfort(json.dumps(messages, ensure_ascii=False), said))
        if "?" in said:
            return Reply(calls=(Call("get_journey_stats"),))
        return Reply("👍")

    def _days(self, said: str) -> dict[str, Any] | None:
        """Return the arguments that the question means; None if it names no days."""
        since_until = re.findall(r"\d{4}-\d\d-\d\d", said)
        weekday = next((at for at, name in enumerate(WEEKDAYS[self._case.language]) if name in said), None)
        if "?" not in said or (weekday is None and not since_until):
            return None
        skill = next((name for name, _ in self._case.logs if name in said), None)
        span = {"since": since_until[0], "until": since_until[1]} if since_until else {}
        return {**span, "weekday": weekday, "skill": skill, "totals_only": True}

    def _comfort(self, told: str, said: str) -> str:
        """Keep to the rule if the instructions have it; else list as models do."""
        words = WORDS[self._case.language]
        if "If it hurts" not in told:
            return "- warm up\n- stretch\n- play slower"
        return f"{words.stop.capitalize()}." if said == words.pain else "👍"

    def _memory(self) -> dict[str, str]:
        told = self._case.told
        body = f"Plans: {told}.\nWhy: they said so.\nHow to apply: keep to it in each plan."
        kept = {"name": "plan-conditions", "type": "project", "description": f"Plans: {told}", "body": body}
        return {"action": "save", **kept}

    @staticmethod
    def _tell(result: str) -> str:
        data = json.loads(result).get("data") or {}
        if "found" in data:
            return f"{data['total_minutes']} min."
        if "overall" not in data:
            return "👍"
        return f"{data['overall']['this_week_minutes']} min; {data['overall']['total_minutes']} min."

    def _plan(self, told: str, said: str) -> str:
        """Plan each day of the frame; where the condition reached it, keep to that."""
        case, knows = self._case, self._case.told in told
        found = re.search(r"Plan the days from (\S+) to (\S+),", said)
        most = re.search(r"No session over (\d+) min of (\w+)", said)
        assert found is not None and most is not None, "the request says days and bounds"
        first, last = map(date.fromisoformat, found.groups())
        minutes = min(int(most[1]), case.most or 60) if knows else int(most[1])
        days = [first + timedelta(days=ahead) for ahead in range((last - first).days + 1)]
        kept = [day for day in days if not knows or day.weekday() not in case.off]
        lines = [f"- {WEEKDAYS[case.language][day.weekday()]}, {day.day}: {minutes} min {most[2]}" for day in kept]
        block = {"sessions": [{"date": day.isoformat(), "skill": most[2], "minutes": minutes} for day in kept]}
        return "\n".join(lines) + f"\n\n```plan\n{json.dumps(block)}\n```"


async def run_case(case: Case, by: str) -> Judgement:
    """Hold one conversation with a gateway of its own."""
    found = Judgement(case, by)
    if by == RULES:
        async with TestGateway('[model]\nname = "offline"\n') as gateway:
            await converse(gateway, found)
        return found
    async with TestGateway("[memory]\n") as gateway:
        gateway.model.brain = ObedientModel(case).answer
        await converse(gateway, found)
    return found


def main(words: Sequence[str]) -> int:
    """Hold all conversations, or every N-th for the argument N; print a table; return 1 if the judge found a flaw."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    each = int(words[0]) if words else 1
    found = [asyncio.run(run_case(case, by)) for by in (RULES, MODEL) for case in list(cases())[::each]]
    print(f"{'by':<7}{'conversations':>14}{'invented numbers':>18}{'forgotten conditions':>22}{'other answers':>15}")
    for by in (RULES, MODEL):
        own = [one for one in found if one.by == by]
        invented, forgotten = sum(len(one.invented) for one in own), sum(len(one.forgotten) for one in own)
        other = sum(len(one.other) for one in own)
        print(f"{by:<7}{len(own):>14}{invented:>18}{forgotten:>22}{other:>15}")
    for one in found:
        for flaw in (*one.invented, *one.forgotten, *one.other):
            print(f"  {one.by}, {one.case.told!r}: {flaw}")
    return int(any(one.invented or one.forgotten or one.other for one in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
