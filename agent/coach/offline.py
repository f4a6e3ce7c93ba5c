"""The coach without a model: rules that ask for the same tools through the same loop and answer from templates.

Deterministic: everything it knows is in the request. Each message that is not answered yet is a task; tasks are done
in the order they were said, so that "45m guitar" counts in the "stats" said right after it.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import date

from pydantic import JsonValue

from agent.coach.changes import change_text, read_change
from agent.coach.correction import Correction, read_correction
from agent.coach.hearing import Hearing, Returned, listen
from agent.coach.insights import insights_of
from agent.coach.intents import Intent, hear
from agent.coach.language import TABLES, explain_log, say
from agent.coach.log_line import MAX_LINE_CHARS, LogLine, LogLineError, parse_log
from agent.coach.offline_work import Calls, CannotTell, Work
from agent.coach.practice import name_key
from agent.coach.prefetch import read_prefetched
from agent.coach.prompt import prompt_file
from agent.coach.prose import history_text, skill_stats_text, skills_text, stats_text
from agent.coach.reports import JourneyReport, PatternsReport, SessionsReport, SkillsReport
from agent.coach.rule_plan import plan_text
from agent.models.offline import RuleAnswer, RuleCall
from agent.ports import ModelRequest

HISTORY_DAYS = 90
HISTORY_SKILLS = 8


@dataclass(frozen=True, slots=True)
class _Task:
    """One message, and what a correction said later makes of it."""

    intent: Intent
    text: str
    corrected: str = ""  # what was said later about it
    session_id: str | None = None  # what a correction is about; None: the last one
    name: str = ""


class OfflineCoach:
    """`OfflineRules` of the practice coach, in English and Spanish."""

    def answer(self, request: ModelRequest) -> RuleAnswer:
        """The next calls, or the answer to everything not answered yet."""
        work = Work(listen(request))
        said = []
        for task in _tasks(work.hearing):
            try:
                done = _DO[task.intent](work, task)
            except CannotTell as words:
                done = str(words)
            if isinstance(done, tuple):
                return RuleAnswer(calls=done)
            said.append(done)
        notices = [say(language, "offline_notice") for language in TABLES]
        if not any(notice in work.hearing.said for notice in notices):
            said.insert(0, say(work.hearing.language, "offline_notice"))
        return RuleAnswer("\n\n".join(said))


def _tasks(hearing: Hearing) -> list[_Task]:
    """What to do, in order; a correction of a log that has not run yet is part of that log."""
    logs = [one for one in hearing.returned if one.name == "log_practice" and not one.skipped]
    tasks: list[_Task] = []
    if read_prefetched(hearing.pending[-1]) is not None:
        return [_Task(Intent.PLAN, hearing.pending[-1])]
    for text in hearing.pending:
        heard = hear(text)
        task = _Task(heard.intent, text, name=heard.name)
        if heard.intent is Intent.UNKNOWN and _skill_was_asked(hearing):
            task = _Task(Intent.LOG, f"{hearing.previous} {text}")
        elif heard.intent is Intent.CORRECT and (at := _last_log(tasks)) is not None:
            ran = logs[_logs_before(tasks, at)] if _logs_before(tasks, at) < len(logs) else None
            if ran is None or not ran.success or _holds(hearing, text, ran):
                tasks[at] = replace(tasks[at], corrected=text)
                continue
            task = replace(task, session_id=str(ran.data.get("session_id")))
        tasks.append(task)
    return tasks


def _holds(hearing: Hearing, text: str, ran: Returned) -> bool:
    """Whether what was logged is as a correction says: it was heard before the log ran."""
    change, today = read_change(ran.data), hearing.today or date.max
    try:
        right = read_correction(text, today, () if change is None else (change.skill, *_known(hearing)))
    except LogLineError:
        return False  # said when its turn comes
    logged = None if change is None else Correction(change.minutes, change.skill, change.day)
    return logged is not None and all(
        wanted in (None, found) for wanted, found in zip(astuple(right), astuple(logged), strict=True)
    )


def _known(hearing: Hearing) -> tuple[str, ...]:
    """The names of the person's skills, as far as they were read."""
    try:
        skills = Work(hearing).read("get_user_skills", SkillsReport, old=True)
    except CannotTell:
        return ()
    return () if skills is None else tuple(skill.name for skill in skills.skills)


def _last_log(tasks: Sequence[_Task]) -> int | None:
    return next((at for at in range(len(tasks) - 1, -1, -1) if tasks[at].intent is Intent.LOG), None)


def _logs_before(tasks: Sequence[_Task], at: int) -> int:
    return sum(task.intent is Intent.LOG for task in tasks[:at])


def _skill_was_asked(hearing: Hearing) -> bool:
    """Whether the last answer asked which skill a log line was about, so that this message names it."""
    questions = (say(language, "problem_no_skill", example="").split("?")[0] for language in TABLES)
    return hear(hearing.previous).intent is Intent.LOG and any(question in hearing.answer for question in questions)


def _log(work: Work, task: _Task) -> str | Calls:
    skills = work.read("get_user_skills", SkillsReport, old=True)
    if skills is None:
        return work.wanted(RuleCall("get_user_skills", {}))
    names = tuple(skill.name for skill in skills.skills)
    try:
        line = parse_log(task.text, work.today, names)
        right = read_correction(task.corrected, work.today, names)
    except LogLineError as error:
        return explain_log(work.hearing.language, error, names)
    done = work.change(RuleCall("log_practice", _log_arguments(_corrected(line, right), work.today)))
    return done if isinstance(done, tuple) else _told(work, done)


def _corrected(line: LogLine, right: Correction) -> LogLine:
    return replace(
        line, minutes=right.minutes or line.minutes, skill=right.skill or line.skill, day=right.day or line.day
    )


def _log_arguments(line: LogLine, today: date) -> dict[str, JsonValue]:
    arguments: dict[str, JsonValue] = {"skill": line.skill, "minutes": line.minutes}
    if line.notes:
        arguments["notes"] = line.notes
    if line.day != today:
        arguments["date"] = line.day.isoformat()
    return arguments


def _correct(work: Work, task: _Task) -> str | Calls:
    skills = work.read("get_user_skills", SkillsReport, old=True)
    if skills is None:
        return work.wanted(RuleCall("get_user_skills", {}))
    names = tuple(skill.name for skill in skills.skills)
    try:
        right = read_correction(task.text, work.today, names)
    except LogLineError as error:
        return explain_log(work.hearing.language, error, names)
    said = {
        "minutes": right.minutes, "skill": right.skill, "session_id": task.session_id,
        "date": None if right.day is None else right.day.isoformat(),
    }  # fmt: skip
    arguments: dict[str, JsonValue] = {name: value for name, value in said.items() if value is not None}
    done = work.change(RuleCall("edit_session", arguments))
    return done if isinstance(done, tuple) else _told(work, done)


def _undo(work: Work, _: _Task) -> str | Calls:
    done = work.change(RuleCall("undo_last_log", {}))
    return done if isinstance(done, tuple) else _told(work, done)


def _create(work: Work, task: _Task) -> str | Calls:
    done = work.change(RuleCall("create_skill", {"name": task.name[:200]}))
    return done if isinstance(done, tuple) else _told(work, done)


def _told(work: Work, done: Returned) -> str:
    change = read_change(done.data)
    if change is None:
        return work.say("offline_no_tools")
    return change_text(work.hearing.language, change, work.today)


def _stats(work: Work, task: _Task) -> str | Calls:
    journey = work.read("get_journey_stats", JourneyReport)
    patterns = work.read("analyze_practice_patterns", PatternsReport)
    if journey is None:
        return work.wanted(RuleCall("get_journey_stats", {}), RuleCall("analyze_practice_patterns", {}))
    words = f" {name_key(task.text[:MAX_LINE_CHARS])} "
    named = [skill for skill in journey.skills if f" {name_key(skill.skill.name)}" in words]
    language = work.hearing.language
    if named:
        return "\n\n".join(skill_stats_text(language, skill, journey.today) for skill in named)
    return stats_text(language, journey, patterns)


def _skills(work: Work, _: _Task) -> str | Calls:
    report = work.read("get_user_skills", SkillsReport)
    if report is None:
        return work.wanted(RuleCall("get_user_skills", {}))
    return skills_text(work.hearing.language, report)


def _history(work: Work, _: _Task) -> str | Calls:
    skills = work.read("get_user_skills", SkillsReport)
    if skills is None:
        return work.wanted(RuleCall("get_user_skills", {}))
    reports = work.reads("get_practice_sessions", SessionsReport)
    if skills.skills and reports is None:
        return work.wanted(
            *(
                RuleCall("get_practice_sessions", {"skill_id": skill.id, "days": HISTORY_DAYS})
                for skill in skills.skills[:HISTORY_SKILLS]
            )
        )
    return history_text(work.hearing.language, reports or ())


def _plan(work: Work, task: _Task) -> str | Calls:
    prefetched, language = read_prefetched(task.text), work.hearing.language
    if prefetched is not None:
        return plan_text(language, prefetched.journey, prefetched.patterns)
    journey = work.read("get_journey_stats", JourneyReport)
    patterns = work.read("analyze_practice_patterns", PatternsReport)
    if journey is None or patterns is None:
        names = ("get_user_skills", "get_journey_stats", "analyze_practice_patterns")
        return work.wanted(*(RuleCall(name, {}) for name in names))
    text = plan_text(language, journey, patterns)
    if not journey.overall.total_minutes or "save_weekly_plan" not in work.hearing.tools:
        return text
    insights: list[JsonValue] = [
        {"type": found.type.value, "title": found.title, "description": found.description, "skill_id": found.skill_id}
        for found in insights_of(language, journey, patterns)
    ]
    saved = work.change(RuleCall("save_weekly_plan", {"content": text, "insights": insights}))
    return saved if isinstance(saved, tuple) else text


def _words(key: str) -> Callable[[Work, _Task], str]:
    return lambda work, _: work.say(key)


def _guide(work: Work, _: _Task) -> str:
    return prompt_file(f"guide.{work.hearing.language}.md").strip()


_DO: dict[Intent, Callable[[Work, _Task], str | Calls]] = {
    Intent.LOG: _log,
    Intent.CORRECT: _correct,
    Intent.UNDO: _undo,
    Intent.CREATE: _create,
    Intent.PLAN: _plan,
    Intent.HISTORY: _history,
    Intent.STATS: _stats,
    Intent.SKILLS: _skills,
    Intent.GUIDE: _guide,
    Intent.HELP: _words("offline_help"),
    Intent.THANKS: _words("offline_thanks"),
    Intent.GREETING: _words("offline_greeting"),
    Intent.UNKNOWN: _words("offline_unknown"),
}
