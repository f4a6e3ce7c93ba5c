"""One request of the offline coach being worked off: which calls it needs, and what came back of them.

What is done with them is `offline`'s.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from agent.coach.acts import Task
from agent.coach.changes import ChangeRefused, change_text, read_change
from agent.coach.durations import spell_minutes
from agent.coach.reports import (
    EntriesReport,
    JourneyReport,
    PatternsReport,
    PlanReport,
    RemindersReport,
    SessionsReport,
    SkillsReport,
)
from agent.coach.request_view import RequestView, Returned
from agent.coach.tasks import needs_names, tasks_of
from agent.coach.texts import say, say_date
from agent.coach.understanding.lookups import Lookup
from agent.coach.understanding.wishes import WishedSkill
from agent.language import DEFAULT, escape
from agent.models.offline import RuleCall

Report = TypeVar("Report", bound=BaseModel)

TOOLS: dict[type[BaseModel], str] = {
    SkillsReport: "get_user_skills",
    SessionsReport: "get_practice_sessions",
    JourneyReport: "get_journey_stats",
    PatternsReport: "analyze_practice_patterns",
    PlanReport: "show_plan",
    EntriesReport: "get_entries",
    RemindersReport: "list_reminders",
}
"""Which tool answers with which report."""


class CannotTell(Exception):
    """A task ends here with these words."""


class NeedsTools(Exception):
    """Nothing can be said before these calls have come back."""

    def __init__(self, calls: tuple[RuleCall, ...]) -> None:
        super().__init__(", ".join(call.name for call in calls))
        self.calls = calls


def lookup_of(task: Task) -> Lookup:
    """What is wanted of what is logged, of a task about that."""
    assert task.lookup is not None, "acts about what is logged come with what is wanted of it"
    return task.lookup


class Work:
    """One request being worked off: results are taken in the order their tasks asked for them."""

    def __init__(self, view: RequestView) -> None:
        self.view = view
        self.language = view.language
        self.today = view.today
        self.names: tuple[str, ...] = ()  # of the person's skills, where a message may be about one
        self._changes = [result for result in view.returned if not result.skipped]
        self._fresh_from = max((at + 1 for at, result in enumerate(view.returned) if result.is_change), default=0)

    def tasks(self) -> list[Task]:
        """What is to be done, in order."""
        if needs_names(self.view):
            self.names = tuple(skill.name for skill in self.require(SkillsReport, old=True).skills)
        return tasks_of(self.view, self.names)

    def change(self, name: str, /, **arguments: JsonValue) -> Returned:
        """The result of this change; what is None is not said to the tool."""
        return self.change_each(name, [arguments])[0]

    def change_each(self, name: str, each: Sequence[Mapping[str, JsonValue]]) -> list[Returned]:
        """The results of these changes, all asked for at once; the first that was refused ends the task.

        Raises:
            CannotTell: one was refused.
        """
        taken = [result for result in self._changes if result.name == name][: len(each)]
        if len(taken) < len(each):
            lacking = each[len(taken) :]
            raise self.needs(
                *(
                    RuleCall(name, {key: value for key, value in arguments.items() if value is not None})
                    for arguments in lacking
                )
            )
        for result in taken:
            self._changes.remove(result)
        refused = next((result for result in taken if not result.success), None)
        if refused is not None and len(taken) == 1:
            raise CannotTell(self._refusal_words(refused))
        return taken

    def change_and_tell(self, name: str, /, **arguments: JsonValue) -> str:
        """As `change`; what to say of it."""
        return self.tell_each(name, [arguments])

    def change_skill(self, wished: WishedSkill, tool: str, /, **arguments: JsonValue) -> str:
        """As `change_and_tell`; a name that was not known, and is not there, is said to be none."""
        try:
            return self.change_and_tell(tool, skill=wished.skill, **arguments)
        except CannotTell:
            if wished.is_known:
                raise
            unknown = say(self.language, "problem.unknown_skill", detail=escape(wished.skill))
            raise CannotTell(unknown) from None

    def tell_each(self, name: str, each: Sequence[Mapping[str, JsonValue]]) -> str:
        """As `change_each`; what to say of each, a line each."""
        lines = []
        for result in self.change_each(name, each):
            change = read_change(result.data) if result.success else None
            if result.success and change is None:
                raise CannotTell(say(self.language, "offline.no_tools"))
            lines.append(
                self._refusal_words(result) if change is None else change_text(self.language, change, self.today)
            )
        return "\n\n".join(lines)

    def read(self, model: type[Report], *, old: bool = False) -> Report | None:
        """The newest result of a read, read back; `old` takes one from before the last change too."""
        found = self._results_of(model, 0 if old else self._fresh_from)
        if found and not found[-1].success:
            raise CannotTell(self._refusal_words(found[-1]))
        return self._as(model, found[-1]) if found else None

    def read_each(self, model: type[Report]) -> list[Report] | None:
        """All fresh results of one read that worked; None where none came back at all."""
        found = self._results_of(model, self._fresh_from)
        return [self._as(model, result) for result in found if result.success] if found else None

    def require(self, model: type[Report], *, old: bool = False) -> Report:
        """As `read`, of a tool that needs no arguments; where there is nothing, it is asked for."""
        report = self.read(model, old=old)
        if report is None:
            raise self.needs(RuleCall(TOOLS[model], {}))
        return report

    def entries_of(self, task: Task, *, old: bool = False) -> EntriesReport:
        """The entries that a message is about; `old` takes them as they were before one of them was deleted."""
        lookup, report = self.known_lookup(task), self.read(EntriesReport, old=old)
        if report is None:
            since, until = (None if day is None else day.isoformat() for day in (lookup.since, lookup.until))
            wanted = {"since": since, "until": until, "skill": lookup.skill, "text": lookup.text or None}
            said: dict[str, JsonValue] = {key: value for key, value in wanted.items() if value is not None}
            raise self.needs(RuleCall(TOOLS[EntriesReport], said))
        return report

    def known_lookup(self, task: Task) -> Lookup:
        """What is wanted of what is logged.

        Raises:
            CannotTell: it is of a skill that they do not have.
        """
        lookup = lookup_of(task)
        if lookup.unknown:
            raise CannotTell(say(self.language, "problem.unknown_skill", detail=escape(lookup.unknown)))
        return lookup

    def describe(self, minutes: int | None, skill: str | None, day: date | None) -> str:
        """What would be written: "45 min of guitar, yesterday"."""
        parts = [] if minutes is None else [spell_minutes(minutes)]
        parts += [] if skill is None else [escape(skill)]
        if len(parts) > 1:
            parts = [say(self.language, "amount.of", minutes=parts[0], skill=parts[1])]
        named = [] if day is None or day == self.today else [say_date(self.language, day, self.today)]
        return ", ".join([*([" ".join(parts)] if parts else []), *named])

    def needs(self, *calls: RuleCall) -> NeedsTools:
        """To be raised: these calls have to come back first.

        Raises:
            CannotTell: the request does not offer the tools.
        """
        if not all(call.name in self.view.tools for call in calls):
            raise CannotTell(say(self.language, "offline.no_tools"))
        return NeedsTools(calls)

    def _results_of(self, model: type[BaseModel], since: int) -> list[Returned]:
        name = TOOLS[model]
        return [result for result in self.view.returned[since:] if result.name == name and not result.skipped]

    def _as(self, model: type[Report], returned: Returned) -> Report:
        try:
            return model.model_validate(returned.data)
        except ValidationError:  # a shortened or foreign result
            raise CannotTell(say(self.language, "offline.no_tools")) from None

    def _refusal_words(self, returned: Returned) -> str:
        change = read_change(returned.data)
        if isinstance(change, ChangeRefused):
            return change_text(self.language, change, self.today)
        if self.language != DEFAULT:  # the reason is a model's to read, in English
            return say(self.language, "offline.failed")
        return say(self.language, "offline.failed_why", error=returned.error or returned.name)
