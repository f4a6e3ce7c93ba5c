"""The coach without a model: rules that ask for the same tools through the same loop and answer from templates.

It writes only what it is sure of (`sentences`), else it asks, and a yes writes what the question said. Deterministic:
everything it knows is in the request. Each message that is not answered yet is a task; tasks are done
in the order they were said, so that "45m guitar" counts in the "stats" said right after it.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import date

from pydantic import JsonValue

from agent.coach.changes import change_text, read_change
from agent.coach.correction import Correction, find_skill, read_correction
from agent.coach.durations import spell_minutes
from agent.coach.insights import insights_of
from agent.coach.intents import Intent, read_request
from agent.coach.language import TABLES, explain_log, say, say_date
from agent.coach.log_line import MAX_LINE_CHARS, LogLine, LogLineError, LogProblem, parse_log
from agent.coach.offline_work import Calls, CannotTell, Work
from agent.coach.practice import name_key
from agent.coach.prefetch import read_prefetched
from agent.coach.prompt import prompt_file
from agent.coach.prose import history_text, skill_stats_text, skills_text, stats_text
from agent.coach.reports import JourneyReport, PatternsReport, SessionsReport, SkillsReport
from agent.coach.request_view import Returned, listen
from agent.coach.rule_plan import plan_text
from agent.coach.tasks import WHICH_SKILL, Act, Task, asked_last, asks, tasks_of
from agent.language import escape
from agent.models.offline import RuleAnswer, RuleCall
from agent.ports import ModelRequest
from agent.transcript import SuggestedReply

HISTORY_DAYS = 90
HISTORY_SKILLS = 8


class OfflineCoach:
    """`OfflineRules` of the practice coach, in English and Spanish."""

    def answer(self, request: ModelRequest) -> RuleAnswer:
        """The next calls, or the answer to everything not answered yet."""
        work = Work(listen(request))
        answers, questions = [], []
        try:
            names = _names(work)
        except CannotTell as words:
            return _with_notice(work, [str(words)])
        if not isinstance(names, SkillNames):
            return RuleAnswer(calls=names)
        for task in tasks_of(work.view, names):
            try:
                done = _DO[task.act](work, task)
            except CannotTell as words:
                done = str(words)
            if isinstance(done, tuple):
                return RuleAnswer(calls=done)
            answers.append(done)
            questions.append(asks(task, done))
        may_be_said = _yes_or_no(work) if questions[-1] and questions.count(True) == 1 else ()
        return _with_notice(work, answers, may_be_said)


def _yes_or_no(work: Work) -> tuple[SuggestedReply, ...]:
    """The two answers to a question, in the person's language."""
    labels = (work.say("reply_yes"), work.say("reply_no"))
    return tuple(SuggestedReply(label, label.lower()) for label in labels)


def _with_notice(work: Work, answers: list[str], replies: tuple[SuggestedReply, ...] = ()) -> RuleAnswer:
    notices = [say(language, "offline_notice") for language in TABLES]
    if not any(notice in work.view.said for notice in notices):
        answers.insert(0, say(work.view.language, "offline_notice"))
    return RuleAnswer("\n\n".join(answers), replies=replies)


class SkillNames(list[str]):
    """The names of the person's skills."""


def _names(work: Work) -> SkillNames | Calls:
    """The names of the person's skills where a message may be about one; else none, without asking."""
    view = work.view
    if read_prefetched(view.pending[-1]) is not None:
        return SkillNames()
    intents = {read_request(text).intent for text in view.pending}
    if not intents & {Intent.TIMED, Intent.YES, Intent.NO} and not asked_last(view.earlier, WHICH_SKILL):
        return SkillNames()
    skills = work.read("get_user_skills", SkillsReport, old=True)
    if skills is None:
        return work.require_tools(RuleCall("get_user_skills", {}))
    return SkillNames(skill.name for skill in skills.skills)


# ---------------------------------------------------------------- doing it


def _skill_names(work: Work) -> tuple[str, ...]:
    skills = work.read("get_user_skills", SkillsReport, old=True)
    return () if skills is None else tuple(skill.name for skill in skills.skills)


def _line(work: Work, task: Task) -> LogLine:
    """What a message logs, as it was corrected since.

    Raises:
        CannotTell: it lacks something; the words say what.
    """
    names = _skill_names(work)
    try:
        line = parse_log(task.text, work.today, names)
        right = read_correction(task.corrected, work.today, names)
    except LogLineError as error:
        raise CannotTell(explain_log(work.view.language, error, names)) from None
    known = find_skill(task.text, names)
    if known is not None and line.skill not in names and task.act in {Act.LOG, Act.ASK_LOG}:
        line = replace(line, skill=known, notes="")  # a sentence, of which the log line took another word for the name
    return _with_correction(line if task.noted else replace(line, notes=""), right)


def _log(work: Work, task: Task) -> str | Calls:
    line, names = _line(work, task), _skill_names(work)
    if line.skill not in names and not task.confirmed:
        lacking = LogLineError(LogProblem.NO_SKILL, ", ".join(names))
        raise CannotTell(explain_log(work.view.language, lacking, names))
    done = work.change(RuleCall("log_practice", _log_arguments(line, work.today)))
    return done if isinstance(done, tuple) else _change_words(work, done)


def _ask_log(work: Work, task: Task) -> str:
    line = _line(work, task)
    if line.skill not in _skill_names(work):
        return work.say("offline_not_sure")
    return work.say("ask_log", what=_describe(work, line.minutes, line.skill, line.day))


def _ask_new_skill(work: Work, task: Task) -> str:
    line = _line(work, task)
    if line.skill in _skill_names(work):
        return _ask_log(work, task)
    described = _describe(work, line.minutes, line.skill, line.day)
    return work.say("ask_new_skill", skill=escape(line.skill), what=described)


def _describe(work: Work, minutes: int | None, skill: str | None, day: date | None) -> str:
    """What would be written: "45 min guitar, yesterday"."""
    parts = [] if minutes is None else [spell_minutes(minutes)]
    parts += [] if skill is None else [escape(skill)]
    named = [] if day is None or day == work.today else [say_date(work.view.language, day, work.today)]
    return ", ".join([" ".join(parts), *named])


def _with_correction(line: LogLine, right: Correction) -> LogLine:
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


def _right(work: Work, task: Task) -> Correction:
    names = _skill_names(work)
    try:
        return read_correction(task.text, work.today, names)
    except LogLineError as error:
        raise CannotTell(explain_log(work.view.language, error, names)) from None


def _correct(work: Work, task: Task) -> str | Calls:
    right = _right(work, task)
    changed = {
        "minutes": right.minutes, "skill": right.skill, "session_id": task.session_id,
        "date": None if right.day is None else right.day.isoformat(),
    }  # fmt: skip
    arguments: dict[str, JsonValue] = {name: value for name, value in changed.items() if value is not None}
    done = work.change(RuleCall("edit_session", arguments))
    return done if isinstance(done, tuple) else _change_words(work, done)


def _ask_correction(work: Work, task: Task) -> str:
    right = _right(work, task)
    return work.say("ask_correction", what=_describe(work, right.minutes, right.skill, right.day))


def _undo(work: Work, _: Task) -> str | Calls:
    done = work.change(RuleCall("undo_last_log", {}))
    return done if isinstance(done, tuple) else _change_words(work, done)


def _create(work: Work, task: Task) -> str | Calls:
    done = work.change(RuleCall("create_skill", {"name": task.name}))
    return done if isinstance(done, tuple) else _change_words(work, done)


def _change_words(work: Work, done: Returned) -> str:
    change = read_change(done.data)
    if change is None:
        return work.say("offline_no_tools")
    return change_text(work.view.language, change, work.today)


def _stats(work: Work, task: Task) -> str | Calls:
    journey = work.read("get_journey_stats", JourneyReport)
    patterns = work.read("analyze_practice_patterns", PatternsReport)
    if journey is None:
        return work.require_tools(RuleCall("get_journey_stats", {}), RuleCall("analyze_practice_patterns", {}))
    words = f" {name_key(task.text[:MAX_LINE_CHARS])} "
    named = [skill for skill in journey.skills if f" {name_key(skill.skill.name)}" in words]
    language = work.view.language
    if named:
        return "\n\n".join(skill_stats_text(language, skill, journey.today) for skill in named)
    return stats_text(language, journey, patterns)


def _skills(work: Work, _: Task) -> str | Calls:
    report = work.read("get_user_skills", SkillsReport)
    if report is None:
        return work.require_tools(RuleCall("get_user_skills", {}))
    return skills_text(work.view.language, report)


def _history(work: Work, _: Task) -> str | Calls:
    skills = work.read("get_user_skills", SkillsReport)
    if skills is None:
        return work.require_tools(RuleCall("get_user_skills", {}))
    reports = work.reads("get_practice_sessions", SessionsReport)
    if skills.skills and reports is None:
        return work.require_tools(
            *(
                RuleCall("get_practice_sessions", {"skill_id": skill.id, "days": HISTORY_DAYS})
                for skill in skills.skills[:HISTORY_SKILLS]
            )
        )
    return history_text(work.view.language, reports or ())


def _maybe_plan(work: Work, task: Task) -> str | Calls:
    """A plan to look at; the one that is kept is not touched."""
    done = _plan(work, task, keep=False)
    return done if isinstance(done, tuple) else f"{done}\n\n{work.say('plan_not_kept')}"


def _plan(work: Work, task: Task, *, keep: bool = True) -> str | Calls:
    prefetched, language = read_prefetched(task.text), work.view.language
    if prefetched is not None:
        return plan_text(language, prefetched.journey, prefetched.patterns)
    journey = work.read("get_journey_stats", JourneyReport)
    patterns = work.read("analyze_practice_patterns", PatternsReport)
    if journey is None or patterns is None:
        names = ("get_user_skills", "get_journey_stats", "analyze_practice_patterns")
        return work.require_tools(*(RuleCall(name, {}) for name in names))
    text = plan_text(language, journey, patterns)
    if not keep or not journey.overall.total_minutes or "save_weekly_plan" not in work.view.tools:
        return text
    insights: list[JsonValue] = [
        {"type": found.type.value, "title": found.title, "description": found.description, "skill_id": found.skill_id}
        for found in insights_of(language, journey, patterns)
    ]
    saved = work.change(RuleCall("save_weekly_plan", {"content": text, "insights": insights}))
    return saved if isinstance(saved, tuple) else text


def _words(key: str) -> Callable[[Work, Task], str]:
    return lambda work, _: work.say(key)


def _guide(work: Work, _: Task) -> str:
    return prompt_file(f"guide.{work.view.language}.md").strip()


_DO: dict[Act | Intent, Callable[[Work, Task], str | Calls]] = {
    Act.LOG: _log,
    Act.ASK_LOG: _ask_log,
    Act.ASK_NEW_SKILL: _ask_new_skill,
    Act.CORRECT: _correct,
    Act.ASK_CORRECTION: _ask_correction,
    Act.UNDO: _undo,
    Act.ASK_UNDO: _words("ask_undo"),
    Act.CREATE: _create,
    Act.ASK_CREATE: lambda work, task: work.say("ask_create", skill=escape(task.name)),
    Act.PLAN: _plan,
    Act.DECLINED: _words("offline_declined"),
    Act.NOT_SURE: _words("offline_not_sure"),
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
