"""The coach without a model: rules that ask for the same tools through the same loop and answer from templates.

It writes only what it is sure of (`sentences`), else it asks, and a yes writes what the question said. Deterministic:
everything it knows is in the request. Each message that is not answered yet is a task; tasks are done
in the order they were said, so that "45m guitar" counts in the "stats" said right after it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from agent.coach.changes import ChangeRefused, change_text, read_change
from agent.coach.durations import spell_minutes
from agent.coach.intents import Intent, read_request
from agent.coach.kept_plan import kept_plan_text
from agent.coach.log_line import (
    MAX_LINE_CHARS,
    Correction,
    LogLine,
    LogLineError,
    LogProblem,
    find_skill,
    parse_log,
    read_correction,
)
from agent.coach.plan_answer import plan_block
from agent.coach.plan_data import Prefetched, frame_of
from agent.coach.practice import PracticeRefused, check_entry, clean_name, name_key
from agent.coach.prose import history_text, skill_stats_text, skills_text, stats_text
from agent.coach.reports import JourneyReport, PatternsReport, PlanReport, SessionsReport, SkillsReport
from agent.coach.request_view import RequestView, Returned, listen
from agent.coach.rule_plan import insights_of, plan_sessions, plan_text
from agent.coach.tasks import WHICH_SKILL, Act, Task, asked_last, asks, tasks_of
from agent.coach.texts import explain, explain_log, in_any_language, say, say_date
from agent.language import DEFAULT, escape, language_of
from agent.models.offline import RuleAnswer, RuleCall
from agent.ports import ModelRequest
from agent.transcript import SuggestedReply

HISTORY_DAYS = 90
HISTORY_SKILLS = 8

Report = TypeVar("Report", bound=BaseModel)

_TOOLS: dict[type[BaseModel], str] = {
    SkillsReport: "get_user_skills",
    SessionsReport: "get_practice_sessions",
    JourneyReport: "get_journey_stats",
    PatternsReport: "analyze_practice_patterns",
    PlanReport: "show_plan",
}
"""Which tool answers with which report."""


class OfflineCoach:
    """`OfflineRules` of the practice coach, in English and Spanish."""

    def answer(self, request: ModelRequest) -> RuleAnswer:
        """The next calls, or the answer to everything not answered yet."""
        view, context = listen(request), request.context
        if context is not None and isinstance(context.data, Prefetched):
            language = language_of(context.locale)
            return _with_notice(view, language, [_written_plan(language, context.data)])
        work = Work(view)
        answers, questions = [], []
        try:
            for task in work.tasks():
                try:
                    done = _DO[task.act](work, task)
                except CannotTell as words:
                    done = str(words)
                answers.append(done)
                questions.append(asks(task, done))
        except CannotTell as words:
            return _with_notice(view, view.language, [str(words)])
        except NeedsTools as needed:
            return RuleAnswer(calls=needed.calls)
        is_question = questions[-1] and questions.count(True) == 1
        return _with_notice(view, view.language, answers, _yes_or_no(view.language) if is_question else ())


def _written_plan(language: str, data: Prefetched) -> str:
    """A plan by rules, in the form in which a model writes one."""
    sessions = plan_sessions(data.journey, data.patterns, data.frame)
    text = plan_text(language, data.journey, data.patterns, data.frame, sessions)
    return f"{text}\n\n{plan_block(sessions)}" if sessions else text


def _yes_or_no(language: str) -> tuple[SuggestedReply, ...]:
    """The two answers to a question."""
    labels = (say(language, "reply.yes"), say(language, "reply.no"))
    return tuple(SuggestedReply(label, label.lower()) for label in labels)


def _with_notice(
    view: RequestView, language: str, answers: Sequence[str], replies: tuple[SuggestedReply, ...] = ()
) -> RuleAnswer:
    """The answers, behind words on who answers where the conversation has none yet."""
    known = any(notice in view.said for notice in in_any_language("offline.notice"))
    return RuleAnswer("\n\n".join([*([] if known else [say(language, "offline.notice")]), *answers]), replies=replies)


class CannotTell(Exception):
    """A task ends here with these words."""


class NeedsTools(Exception):
    """Nothing can be said before these calls have come back."""

    def __init__(self, calls: tuple[RuleCall, ...]) -> None:
        super().__init__(", ".join(call.name for call in calls))
        self.calls = calls


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
        intents = {read_request(text).intent for text in self.view.pending}
        if intents & {Intent.TIMED, Intent.YES, Intent.NO} or asked_last(self.view.earlier, WHICH_SKILL):
            self.names = tuple(skill.name for skill in self.require(SkillsReport, old=True).skills)
        return tasks_of(self.view, self.names)

    def change(self, name: str, /, **arguments: JsonValue) -> Returned:
        """The result of this change; what is None is not said to the tool."""
        taken = next((result for result in self._changes if result.name == name), None)
        if taken is None:
            raise self.needs(RuleCall(name, {key: value for key, value in arguments.items() if value is not None}))
        self._changes.remove(taken)
        if not taken.success:
            raise CannotTell(self._refusal_words(taken))
        return taken

    def change_and_tell(self, name: str, /, **arguments: JsonValue) -> str:
        """As `change`; what to say of it."""
        change = read_change(self.change(name, **arguments).data)
        if change is None:
            raise CannotTell(say(self.language, "offline.no_tools"))
        return change_text(self.language, change, self.today)

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
            raise self.needs(RuleCall(_TOOLS[model], {}))
        return report

    def needs(self, *calls: RuleCall) -> NeedsTools:
        """To be raised: these calls have to come back first.

        Raises:
            CannotTell: the request does not offer the tools.
        """
        if not all(call.name in self.view.tools for call in calls):
            raise CannotTell(say(self.language, "offline.no_tools"))
        return NeedsTools(calls)

    def _results_of(self, model: type[BaseModel], since: int) -> list[Returned]:
        name = _TOOLS[model]
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


# ---------------------------------------------------------------- doing it


def _line(work: Work, task: Task) -> LogLine:
    """What a message logs, as it was corrected since.

    Raises:
        CannotTell: it lacks something; the words say what.
    """
    try:
        line = parse_log(task.text, work.today, work.names)
        right = read_correction(task.corrected, work.today, work.names)
    except LogLineError as error:
        raise CannotTell(explain_log(work.language, error, work.names)) from None
    known = find_skill(task.text, work.names)
    if known is not None and line.skill not in work.names and task.act in {Act.LOG, Act.ASK_LOG}:
        line = replace(line, skill=known, notes="")  # a sentence, of which the log line took another word for the name
    return replace(
        line,
        minutes=right.minutes or line.minutes,
        skill=right.skill or line.skill,
        day=right.day or line.day,
        notes=line.notes if task.noted else "",
    )


def _log(work: Work, task: Task) -> str:
    line = _line(work, task)
    if line.skill not in work.names and not task.confirmed:
        lacking = LogLineError(LogProblem.NO_SKILL, ", ".join(work.names))
        raise CannotTell(explain_log(work.language, lacking, work.names))
    day, notes = None if line.day == work.today else line.day.isoformat(), line.notes or None
    return work.change_and_tell("log_practice", skill=line.skill, minutes=line.minutes, notes=notes, date=day)


def _ask_log(work: Work, task: Task) -> str:
    """Asks before it logs; a name that is no skill yet is only asked about where the whole sentence was a log."""
    line = _line(work, task)
    described = _describe(work, line.minutes, line.skill, line.day)
    if line.skill in work.names:
        return say(work.language, "ask.log", what=described)
    if task.act is Act.ASK_NEW_SKILL:
        return say(work.language, "ask.new_skill", skill=escape(line.skill), what=described)
    return say(work.language, "offline.not_sure")


def _describe(work: Work, minutes: int | None, skill: str | None, day: date | None) -> str:
    """What would be written: "45 min guitar, yesterday"."""
    parts = [] if minutes is None else [spell_minutes(minutes)]
    parts += [] if skill is None else [escape(skill)]
    named = [] if day is None or day == work.today else [say_date(work.language, day, work.today)]
    return ", ".join([" ".join(parts), *named])


def _right(work: Work, task: Task) -> Correction:
    try:
        right = read_correction(task.text, work.today, work.names)
        check_entry(1 if right.minutes is None else right.minutes, right.day or work.today, work.today)
    except LogLineError as error:
        raise CannotTell(explain_log(work.language, error, work.names)) from None
    except PracticeRefused as refused:
        raise CannotTell(explain(work.language, refused)) from None
    return right


def _correct(work: Work, task: Task) -> str:
    right = _right(work, task)
    day = None if right.day is None else right.day.isoformat()
    return work.change_and_tell(
        "edit_session", minutes=right.minutes, skill=right.skill, session_id=task.session_id, date=day
    )


def _ask_correction(work: Work, task: Task) -> str:
    right = _right(work, task)
    return say(work.language, "ask.correction", what=_describe(work, right.minutes, right.skill, right.day))


def _create(work: Work, task: Task) -> str:
    try:
        return work.change_and_tell("create_skill", name=clean_name(task.name))
    except PracticeRefused as refused:
        raise CannotTell(explain(work.language, refused)) from None


def _stats(work: Work, task: Task) -> str:
    journey, patterns = work.read(JourneyReport), work.read(PatternsReport)
    if journey is None:
        raise work.needs(*(RuleCall(_TOOLS[report], {}) for report in (JourneyReport, PatternsReport)))
    words = f" {name_key(task.text[:MAX_LINE_CHARS])} "
    named = [skill for skill in journey.skills if f" {name_key(skill.skill.name)}" in words]
    if named:
        return "\n\n".join(skill_stats_text(work.language, skill, journey.today) for skill in named)
    return stats_text(work.language, journey, patterns)


def _history(work: Work, _: Task) -> str:
    skills, reports = work.require(SkillsReport).skills, work.read_each(SessionsReport)
    if skills and reports is None:
        tool, ids = _TOOLS[SessionsReport], [skill.id for skill in skills[:HISTORY_SKILLS]]
        raise work.needs(*(RuleCall(tool, {"skill_id": skill_id, "days": HISTORY_DAYS}) for skill_id in ids))
    return history_text(work.language, reports or (), work.today)


def _plan(work: Work, task: Task) -> str:
    """A plan; kept where one was asked for, else the one that is kept, else one only to look at."""
    if task.act is not Act.PLAN and "show_plan" in work.view.tools:
        kept = work.require(PlanReport)
        if kept.found:
            return kept_plan_text(work.language, kept)
    journey, patterns = work.read(JourneyReport), work.read(PatternsReport)
    if journey is None or patterns is None:
        raise work.needs(*(RuleCall(_TOOLS[report], {}) for report in (SkillsReport, JourneyReport, PatternsReport)))
    frame = frame_of(journey, patterns, journey.plan_week or journey.today)
    sessions = plan_sessions(journey, patterns, frame)
    text = plan_text(work.language, journey, patterns, frame, sessions)
    if task.act is not Act.PLAN:
        return f"{text}\n\n{say(work.language, 'plan.not_kept')}"
    if journey.overall.total_minutes and "save_weekly_plan" in work.view.tools:
        found: list[JsonValue] = [
            {"type": each.type.value, "title": each.title, "description": each.description, "skill_id": each.skill_id}
            for each in insights_of(work.language, journey, patterns)
        ]
        rows: list[JsonValue] = [
            {"date": each.day.isoformat(), "skill": each.skill, "minutes": each.minutes} for each in sessions
        ]
        work.change("save_weekly_plan", content=text, insights=found, sessions=rows)
    return text


def _words(key: str) -> Callable[[Work, Task], str]:
    return lambda work, _: say(work.language, key)


_DO: dict[Act | Intent, Callable[[Work, Task], str]] = {
    Act.LOG: _log,
    Act.ASK_LOG: _ask_log,
    Act.ASK_NEW_SKILL: _ask_log,
    Act.CORRECT: _correct,
    Act.ASK_CORRECTION: _ask_correction,
    Act.UNDO: lambda work, _: work.change_and_tell("undo_last_log"),
    Act.ASK_UNDO: _words("ask.undo"),
    Act.CREATE: _create,
    Act.ASK_CREATE: lambda work, task: say(work.language, "ask.create", skill=escape(task.name)),
    Act.PLAN: _plan,
    Act.DECLINED: _words("offline.declined"),
    Act.NOT_SURE: _words("offline.not_sure"),
    Intent.MAYBE_PLAN: _plan,
    Intent.HISTORY: _history,
    Intent.STATS: _stats,
    Intent.SKILLS: lambda work, _: skills_text(work.language, work.require(SkillsReport)),
    Intent.GUIDE: _words("offline.guide"),
    Intent.HELP: _words("offline.help"),
    Intent.THANKS: _words("offline.thanks"),
    Intent.GREETING: _words("offline.greeting"),
    Intent.UNKNOWN: _words("offline.unknown"),
}
