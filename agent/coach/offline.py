"""The coach without a model: rules that ask for the same tools through the same loop and answer from templates.

It writes only what it is sure of (`sentences`), else it asks, and a yes writes what the question said. Deterministic:
everything it knows is in the request. Each message that is not answered yet is a task; tasks are done
in the order they were said, so that "45m guitar" counts in the "stats" said right after it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import date
from enum import StrEnum

from pydantic import JsonValue

from agent.coach.changes import change_text, read_change
from agent.coach.correction import Correction, find_skill, read_correction
from agent.coach.durations import spell_minutes
from agent.coach.hearing import Exchange, Hearing, Returned, listen
from agent.coach.insights import insights_of
from agent.coach.intents import Intent, read_request, untimed_request
from agent.coach.language import TABLES, escape, explain_log, say, say_date
from agent.coach.log_line import LogLine, LogLineError, LogProblem, parse_log
from agent.coach.offline_work import Calls, CannotTell, Work
from agent.coach.practice import name_key
from agent.coach.prefetch import read_prefetched
from agent.coach.prompt import prompt_file
from agent.coach.prose import history_text, skill_stats_text, skills_text, stats_text
from agent.coach.reports import JourneyReport, PatternsReport, SessionsReport, SkillsReport
from agent.coach.rule_plan import plan_text
from agent.coach.sentences import EDITED, Reading, read_sentence
from agent.models.offline import RuleAnswer, RuleCall
from agent.ports import ModelRequest

HISTORY_DAYS = 90
HISTORY_SKILLS = 8


class _Act(StrEnum):
    """What is done about a message that names a duration or changes something."""

    LOG = "log"
    ASK_LOG = "ask_log"
    ASK_NEW_SKILL = "ask_new_skill"
    CORRECT = "correct"
    ASK_CORRECTION = "ask_correction"
    UNDO = "undo"
    ASK_UNDO = "ask_undo"
    CREATE = "create"
    ASK_CREATE = "ask_create"
    PLAN = "plan"
    DECLINED = "declined"
    NOT_SURE = "not_sure"


_CONFIRMED = {
    _Act.ASK_LOG: _Act.LOG,
    _Act.ASK_NEW_SKILL: _Act.LOG,
    _Act.ASK_CORRECTION: _Act.CORRECT,
    _Act.ASK_UNDO: _Act.UNDO,
    _Act.ASK_CREATE: _Act.CREATE,
}
"""What a yes makes of a question."""

_QUESTIONS = {
    _Act.ASK_LOG: "ask_log",
    _Act.ASK_NEW_SKILL: "ask_new_skill",
    _Act.ASK_CORRECTION: "ask_correction",
    _Act.ASK_UNDO: "ask_undo",
    _Act.ASK_CREATE: "ask_create",
}

_OF_READING = {
    Reading.LOG: _Act.LOG,
    Reading.LOG_NO_SKILL: _Act.LOG,
    Reading.LOG_NEW_SKILL: _Act.ASK_NEW_SKILL,
    Reading.MAYBE_LOG: _Act.ASK_LOG,
    Reading.MAYBE_CORRECTION: _Act.ASK_CORRECTION,
}

_OF_INTENT: dict[Intent, _Act | Intent] = {
    Intent.UNDO: _Act.UNDO,
    Intent.MAYBE_UNDO: _Act.ASK_UNDO,
    Intent.CREATE: _Act.ASK_CREATE,
    Intent.PLAN: _Act.PLAN,
    Intent.YES: Intent.THANKS,
    Intent.NO: _Act.DECLINED,
}


@dataclass(frozen=True, slots=True)
class _Task:
    """One message, and what a correction said later makes of it."""

    act: _Act | Intent
    text: str
    corrected: str = ""  # what was said later about it
    session_id: str | None = None  # what a correction is about; None: the last one
    name: str = ""
    noted: bool = True  # what else the message says is a note
    confirmed: bool = False  # the person said yes: a skill may be new


class OfflineCoach:
    """`OfflineRules` of the practice coach, in English and Spanish."""

    def answer(self, request: ModelRequest) -> RuleAnswer:
        """The next calls, or the answer to everything not answered yet."""
        work = Work(listen(request))
        answers = []
        try:
            names = _names(work)
        except CannotTell as words:
            return _with_notice(work, [str(words)])
        if not isinstance(names, Names):
            return RuleAnswer(calls=names)
        for task in _tasks(work.hearing, names):
            try:
                done = _DO[task.act](work, task)
            except CannotTell as words:
                done = str(words)
            if isinstance(done, tuple):
                return RuleAnswer(calls=done)
            answers.append(done)
        return _with_notice(work, answers)


def _with_notice(work: Work, answers: list[str]) -> RuleAnswer:
    notices = [say(language, "offline_notice") for language in TABLES]
    if not any(notice in work.hearing.said for notice in notices):
        answers.insert(0, say(work.hearing.language, "offline_notice"))
    return RuleAnswer("\n\n".join(answers))


class Names(list[str]):
    """The names of the person's skills."""


def _names(work: Work) -> Names | Calls:
    """The names of the person's skills where a message may be about one; else none, without asking."""
    hearing = work.hearing
    if read_prefetched(hearing.pending[-1]) is not None:
        return Names()
    intents = {read_request(text).intent for text in hearing.pending}
    if not intents & {Intent.TIMED, Intent.YES, Intent.NO} and not _asks(hearing.earlier, WHICH_SKILL):
        return Names()
    skills = work.read("get_user_skills", SkillsReport, old=True)
    if skills is None:
        return work.wanted(RuleCall("get_user_skills", {}))
    return Names(skill.name for skill in skills.skills)


# ---------------------------------------------------------------- what to do


def _tasks(hearing: Hearing, names: Sequence[str]) -> list[_Task]:
    """What to do, in order; a correction of a log that has not run yet is part of that log."""
    logs = [call for call in hearing.returned if call.name == "log_practice" and not call.skipped]
    tasks: list[_Task] = []
    if read_prefetched(hearing.pending[-1]) is not None:
        return [_Task(_Act.PLAN, hearing.pending[-1])]
    for text in hearing.pending:
        after_log = _last_log(tasks) is not None or _logged_lately(hearing)
        task = _task(text, hearing.earlier, names, after_log=after_log)
        if task.act is _Act.CORRECT and (at := _last_log(tasks)) is not None:
            ran = logs[_logs_before(tasks, at)] if _logs_before(tasks, at) < len(logs) else None
            if ran is None or not ran.success or _holds(hearing, text, ran, names):
                tasks[at] = replace(tasks[at], corrected=text)
                continue
            task = replace(task, session_id=str(ran.data.get("session_id")))
        tasks.append(task)
    return tasks


def _task(text: str, earlier: Sequence[Exchange], names: Sequence[str], *, after_log: bool) -> _Task:
    """What one message asks for, given what was said and answered before it."""
    request = read_request(text)
    if request.intent is Intent.YES and (asked := _asked(earlier, names)) is not None:
        return asked
    if request.intent is Intent.UNKNOWN and _asks(earlier, WHICH_SKILL):
        text = _whole_text(text, earlier)
        request = read_request(text)
    if request.intent is not Intent.TIMED:
        return _Task(_OF_INTENT.get(request.intent, request.intent), text, name=request.name)
    reading = read_sentence(text, names)
    if reading is Reading.BARE:
        return _Task(_Act.ASK_LOG if len(names) == 1 else _Act.LOG, text)
    if reading is Reading.CORRECTION or (reading is Reading.LOG and text.startswith(EDITED)):
        return _Task(_Act.CORRECT if after_log else _Act.ASK_CORRECTION, text)
    if reading is not Reading.OTHER:
        return _Task(_OF_READING[reading], text, noted=reading is not Reading.MAYBE_LOG)
    request = untimed_request(text)
    known = request.intent not in {Intent.UNKNOWN, Intent.YES, Intent.NO}
    return _Task(_OF_INTENT.get(request.intent, request.intent) if known else _Act.NOT_SURE, text, name=request.name)


WHICH_SKILL = ("problem_no_skill", "problem_which_skill")
LOGGED = ("logged", "edited")
LATELY = 3
"""Answers back; what was logged before those is not what a correction means."""


def _leads(answer: str, keys: Iterable[str]) -> bool:
    """Whether an answer says one of these texts, in any language: known by what stands before its first field."""
    return any(table[key].split("{")[0] in answer for table in TABLES.values() for key in keys)


def _asks(earlier: Sequence[Exchange], keys: Iterable[str]) -> bool:
    return bool(earlier) and _leads(earlier[-1].answer, keys)


def _logged_lately(hearing: Hearing) -> bool:
    return any(_leads(exchange.answer, LOGGED) for exchange in hearing.earlier[-LATELY:])


def _whole_text(text: str, earlier: Sequence[Exchange]) -> str:
    """What was said in one: the message that lacked a skill, and the one that names it."""
    return f"{earlier[-1].said} {text}"


def _asked(earlier: Sequence[Exchange], names: Sequence[str]) -> _Task | None:
    """What the last answer asked to be allowed, as something to do; None where it asked nothing."""
    if not earlier or not _asks(earlier, _QUESTIONS.values()):
        return None
    *before, last = earlier
    task = _task(last.said, before, names, after_log=False)
    if not isinstance(task.act, _Act) or task.act not in _QUESTIONS:
        return None
    return replace(task, act=_CONFIRMED[task.act], confirmed=True)


def _holds(hearing: Hearing, text: str, ran: Returned, names: Sequence[str]) -> bool:
    """Whether what was logged is as a correction says: it was heard before the log ran."""
    change, today = read_change(ran.data), hearing.today or date.max
    try:
        right = read_correction(text, today, () if change is None else (change.skill, *names))
    except LogLineError:
        return False  # said when its turn comes
    logged = None if change is None else Correction(change.minutes, change.skill, change.day)
    return logged is not None and all(
        wanted in (None, found) for wanted, found in zip(astuple(right), astuple(logged), strict=True)
    )


def _last_log(tasks: Sequence[_Task]) -> int | None:
    return next((at for at in range(len(tasks) - 1, -1, -1) if tasks[at].act is _Act.LOG), None)


def _logs_before(tasks: Sequence[_Task], at: int) -> int:
    return sum(task.act is _Act.LOG for task in tasks[:at])


# ---------------------------------------------------------------- doing it


def _skill_names(work: Work) -> tuple[str, ...]:
    skills = work.read("get_user_skills", SkillsReport, old=True)
    return () if skills is None else tuple(skill.name for skill in skills.skills)


def _line(work: Work, task: _Task) -> LogLine:
    """What a message logs, as it was corrected since.

    Raises:
        CannotTell: it lacks something; the words say what.
    """
    names = _skill_names(work)
    try:
        line = parse_log(task.text, work.today, names)
        right = read_correction(task.corrected, work.today, names)
    except LogLineError as error:
        raise CannotTell(explain_log(work.hearing.language, error, names)) from None
    if task.act in {_Act.LOG, _Act.ASK_LOG} and line.skill not in names and (known := find_skill(task.text, names)) is not None:
        line = replace(line, skill=known, notes="")  # a sentence, of which the log line took another word for the name
    return _corrected(line if task.noted else replace(line, notes=""), right)


def _log(work: Work, task: _Task) -> str | Calls:
    line, names = _line(work, task), _skill_names(work)
    if line.skill not in names and not task.confirmed:
        lacking = LogLineError(LogProblem.NO_SKILL, ", ".join(names))
        raise CannotTell(explain_log(work.hearing.language, lacking, names))
    done = work.change(RuleCall("log_practice", _log_arguments(line, work.today)))
    return done if isinstance(done, tuple) else _changed(work, done)


def _ask_log(work: Work, task: _Task) -> str:
    line = _line(work, task)
    if line.skill not in _skill_names(work):
        return work.say("offline_not_sure")
    return work.say("ask_log", what=_described(work, line.minutes, line.skill, line.day))


def _ask_new_skill(work: Work, task: _Task) -> str:
    line = _line(work, task)
    if line.skill in _skill_names(work):
        return _ask_log(work, task)
    described = _described(work, line.minutes, line.skill, line.day)
    return work.say("ask_new_skill", skill=escape(line.skill), what=described)


def _described(work: Work, minutes: int | None, skill: str | None, day: date | None) -> str:
    """What would be written: "45 min guitar, yesterday"."""
    parts = [] if minutes is None else [spell_minutes(minutes)]
    parts += [] if skill is None else [escape(skill)]
    named = [] if day is None or day == work.today else [say_date(work.hearing.language, day, work.today)]
    return ", ".join([" ".join(parts), *named])


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


def _right(work: Work, task: _Task) -> Correction:
    names = _skill_names(work)
    try:
        return read_correction(task.text, work.today, names)
    except LogLineError as error:
        raise CannotTell(explain_log(work.hearing.language, error, names)) from None


def _correct(work: Work, task: _Task) -> str | Calls:
    right = _right(work, task)
    changed = {
        "minutes": right.minutes, "skill": right.skill, "session_id": task.session_id,
        "date": None if right.day is None else right.day.isoformat(),
    }  # fmt: skip
    arguments: dict[str, JsonValue] = {name: value for name, value in changed.items() if value is not None}
    done = work.change(RuleCall("edit_session", arguments))
    return done if isinstance(done, tuple) else _changed(work, done)


def _ask_correction(work: Work, task: _Task) -> str:
    right = _right(work, task)
    return work.say("ask_correction", what=_described(work, right.minutes, right.skill, right.day))


def _undo(work: Work, _: _Task) -> str | Calls:
    done = work.change(RuleCall("undo_last_log", {}))
    return done if isinstance(done, tuple) else _changed(work, done)


def _create(work: Work, task: _Task) -> str | Calls:
    done = work.change(RuleCall("create_skill", {"name": task.name}))
    return done if isinstance(done, tuple) else _changed(work, done)


def _changed(work: Work, done: Returned) -> str:
    change = read_change(done.data)
    if change is None:
        return work.say("offline_no_tools")
    return change_text(work.hearing.language, change, work.today)


def _stats(work: Work, task: _Task) -> str | Calls:
    journey = work.read("get_journey_stats", JourneyReport)
    patterns = work.read("analyze_practice_patterns", PatternsReport)
    if journey is None:
        return work.wanted(RuleCall("get_journey_stats", {}), RuleCall("analyze_practice_patterns", {}))
    words = f" {name_key(task.text)} "
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


def _maybe_plan(work: Work, task: _Task) -> str | Calls:
    """A plan to look at; the one that is kept is not touched."""
    done = _plan(work, task, keep=False)
    return done if isinstance(done, tuple) else f"{done}\n\n{work.say('plan_not_kept')}"


def _plan(work: Work, task: _Task, *, keep: bool = True) -> str | Calls:
    prefetched, language = read_prefetched(task.text), work.hearing.language
    if prefetched is not None:
        return plan_text(language, prefetched.journey, prefetched.patterns)
    journey = work.read("get_journey_stats", JourneyReport)
    patterns = work.read("analyze_practice_patterns", PatternsReport)
    if journey is None or patterns is None:
        names = ("get_user_skills", "get_journey_stats", "analyze_practice_patterns")
        return work.wanted(*(RuleCall(name, {}) for name in names))
    text = plan_text(language, journey, patterns)
    if not keep or not journey.overall.total_minutes or "save_weekly_plan" not in work.hearing.tools:
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


_DO: dict[_Act | Intent, Callable[[Work, _Task], str | Calls]] = {
    _Act.LOG: _log,
    _Act.ASK_LOG: _ask_log,
    _Act.ASK_NEW_SKILL: _ask_new_skill,
    _Act.CORRECT: _correct,
    _Act.ASK_CORRECTION: _ask_correction,
    _Act.UNDO: _undo,
    _Act.ASK_UNDO: _words("ask_undo"),
    _Act.CREATE: _create,
    _Act.ASK_CREATE: lambda work, task: work.say("ask_create", skill=escape(task.name)),
    _Act.PLAN: _plan,
    _Act.DECLINED: _words("offline_declined"),
    _Act.NOT_SURE: _words("offline_not_sure"),
    Intent.MAYBE_PLAN: _maybe_plan,
    Intent.HISTORY: _history,
    Intent.STATS: _stats,
    Intent.SKILLS: _skills,
    Intent.GUIDE: _guide,
    Intent.HELP: _words("offline_help"),
    Intent.THANKS: _words("offline_thanks"),
    Intent.GREETING: _words("offline_greeting"),
    Intent.UNKNOWN: _words("offline_unknown"),
}
