"""The coach without a model: rules that ask for the same tools through the same loop and answer from templates.

It writes only what it is sure of (`sentences`), else it asks, and a yes writes what the question said. Deterministic:
everything it knows is in the request. Each message that is not answered yet is a task; tasks are done
in the order they were said, so that "45m guitar" counts in the "stats" said right after it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pydantic import JsonValue

from agent.coach.acts import Act, Task
from agent.coach.chart import weeks_in
from agent.coach.durations import spell_minutes
from agent.coach.followups import LATELY
from agent.coach.intents import Intent
from agent.coach.kept_plan import day_plan_text, is_after_week, kept_plan_text
from agent.coach.log_line import (
    MAX_LINE_CHARS,
    Correction,
    LogLineError,
    LogProblem,
    find_skill,
    read_correction,
)
from agent.coach.numbers import longest_text, one_number_text, reach_text, weekday_text
from agent.coach.offline_wishes import (
    ask_goal,
    ask_merge,
    cancel_reminders,
    edit_skill,
    list_reminders,
    merge_skills,
    move_reminder,
    set_goal,
    set_reminder,
    swap_entries,
)
from agent.coach.offline_work import TOOLS, CannotTell, NeedsTools, Work, lookup_of
from agent.coach.plan_answer import plan_block
from agent.coach.plan_data import Prefetched, day_asked, frame_of, wants_next_week
from agent.coach.practice import PracticeRefused, check_entry, clean_name, clean_notes, name_key
from agent.coach.prose import entries_text, history_text, skill_stats_text, skills_text, stats_text
from agent.coach.reports import JourneyReport, PatternsReport, PlanReport, SessionsReport, SkillsReport
from agent.coach.request_view import RequestView, has_pictures_alone, listen, says
from agent.coach.rule_plan import insights_of, plan_sessions, plan_text
from agent.coach.tasks import asks
from agent.coach.texts import explain, explain_log, in_any_language, say, say_date
from agent.coach.understanding.entries import Practised
from agent.coach.understanding.lookups import Number
from agent.coach.understanding.tables import Twist
from agent.language import escape, language_of
from agent.models.offline import RuleAnswer, RuleCall
from agent.ports import ModelRequest
from agent.transcript import SuggestedReply

HISTORY_DAYS = 90
HISTORY_SKILLS = 8


class OfflineCoach:
    """`OfflineRules` of the practice coach, in English and Spanish."""

    def answer(self, request: ModelRequest) -> RuleAnswer:
        """The next calls, or the answer to everything not answered yet."""
        view, context = listen(request), request.context
        if context is not None and isinstance(context.data, Prefetched):
            language = language_of(context.locale)
            return _with_notice(view, language, [_written_plan(language, context.data)])
        if has_pictures_alone(request, view):
            return _with_notice(view, view.language, [say(view.language, "offline.picture")])
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
    """The answers, behind words on who answers where that was not said today."""
    today = [exchange.answer for exchange in view.earlier if exchange.now.date() == view.today]
    known = any(notice in answer for notice in in_any_language("offline.notice") for answer in today)
    return RuleAnswer("\n\n".join(answers), replies=replies, notice="" if known else say(language, "offline.notice"))


# ---------------------------------------------------------------- doing it


def _entries(work: Work, task: Task) -> list[Practised]:
    """What a message logs, the last of it as it was corrected since.

    Raises:
        CannotTell: it cannot be; the words say why.
    """
    *before, last = task.practised
    try:
        right = read_correction(task.corrected, work.today, work.names)
    except LogLineError as error:
        raise CannotTell(explain_log(work.language, error, work.names)) from None
    minutes = last.minutes if right.minutes is None else right.minutes
    entries = [*before, replace(last, minutes=minutes, skill=right.skill or last.skill, day=right.day or last.day)]
    for entry in entries:
        try:
            check_entry(entry.minutes or 0, entry.day, work.today)
            clean_name(entry.skill)
        except PracticeRefused as refused:
            raise CannotTell(explain(work.language, refused)) from None
    return entries


def _log(work: Work, task: Task) -> str:
    return work.tell_each(
        "log_practice",
        [
            {
                "skill": entry.skill,
                "minutes": entry.minutes,
                "notes": clean_notes(task.notes) or None,
                "date": None if entry.day == work.today else entry.day.isoformat(),
            }
            for entry in _entries(work, task)
        ],
    )


def _ask_log(work: Work, task: Task) -> str:
    """Asks before it logs."""
    entries = _entries(work, task)
    described = ", ".join(work.describe(entry.minutes, entry.skill, entry.day) for entry in entries)
    named = " + ".join(
        dict.fromkeys(entry.skill for entry in entries if entry.is_new or task.act is Act.ASK_NEAR_SKILL)
    )
    return say(work.language, task.act, skill=escape(named), what=described)


def _ask_skill(work: Work, task: Task) -> str:
    """Asks which skill it was."""
    entry = task.practised[0]
    try:
        check_entry(entry.minutes or 0, entry.day, work.today)
    except PracticeRefused as refused:
        raise CannotTell(explain(work.language, refused)) from None
    lacking = LogLineError(LogProblem.NO_SKILL, ", ".join(work.names))
    return explain_log(work.language, lacking, work.names)


def _ask_amount(work: Work, task: Task) -> str:
    """Asks how long it was."""
    return say(work.language, task.act, skill=escape(task.practised[0].skill))


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
    return say(work.language, "ask.correction", what=work.describe(right.minutes, right.skill, right.day))


def _create(work: Work, task: Task) -> str:
    try:
        return work.change_and_tell("create_skill", name=clean_name(task.name))
    except PracticeRefused as refused:
        raise CannotTell(explain(work.language, refused)) from None


def _stats(work: Work, task: Task) -> str:
    journey, patterns = work.read(JourneyReport), work.read(PatternsReport)
    if journey is None:
        raise work.needs(*(RuleCall(TOOLS[report], {}) for report in (JourneyReport, PatternsReport)))
    words = f" {name_key(task.text[:MAX_LINE_CHARS])} "
    named = [skill for skill in journey.skills if f" {name_key(skill.skill.name)}" in words]
    if named:
        return "\n\n".join(skill_stats_text(work.language, skill, journey.today) for skill in named)
    return stats_text(work.language, journey, patterns)


def _history(work: Work, _: Task) -> str:
    skills, reports = work.require(SkillsReport).skills, work.read_each(SessionsReport)
    if skills and reports is None:
        tool, ids = TOOLS[SessionsReport], [skill.id for skill in skills[:HISTORY_SKILLS]]
        raise work.needs(*(RuleCall(tool, {"skill_id": skill_id, "days": HISTORY_DAYS}) for skill_id in ids))
    return history_text(work.language, reports or (), work.today)


def _chart(work: Work, task: Task) -> str:
    """A picture that goes with the answer, of the skill and the weeks that are named; and its numbers."""
    named = find_skill(task.text, [skill.name for skill in work.require(SkillsReport, old=True).skills])
    return work.change_and_tell("plot_progress", skill=named, weeks=weeks_in(task.text))


def _plan(work: Work, task: Task) -> str:
    """A plan; kept where one was asked for, else the one that is kept, else one only to look at."""
    if task.act is not Act.PLAN and "show_plan" in work.view.tools:
        kept, ahead = work.read(PlanReport), day_asked(task.text) or 0
        is_next = wants_next_week(task.text) or (kept is not None and is_after_week(kept, ahead))
        if kept is None or (is_next and not kept.is_next):
            raise work.needs(RuleCall(TOOLS[PlanReport], {"week": "next"} if is_next else {}))
        if kept.found or is_next:
            return day_plan_text(work.language, kept, day_asked(task.text)) or kept_plan_text(work.language, kept)
    journey, patterns = work.read(JourneyReport), work.read(PatternsReport)
    if journey is None or patterns is None:
        raise work.needs(*(RuleCall(TOOLS[report], {}) for report in (SkillsReport, JourneyReport, PatternsReport)))
    frame = frame_of(journey, patterns, journey.plan_week or journey.today)
    sessions = plan_sessions(journey, patterns, frame)
    text = plan_text(work.language, journey, patterns, frame, sessions)
    if task.act is not Act.PLAN:
        return "\n\n".join((say(work.language, "plan.none_yet"), text, say(work.language, "plan.not_kept")))
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


def _number(work: Work, task: Task) -> str:
    """One question gets one number."""
    lookup = work.known_lookup(task)
    if lookup.number in (Number.WEEKDAY, Number.LONGEST):
        patterns = work.read(PatternsReport)
        if patterns is None:
            skills = work.require(SkillsReport, old=True).skills
            skill_id = next((skill.id for skill in skills if skill.name == lookup.skill), None)
            raise work.needs(RuleCall(TOOLS[PatternsReport], {} if skill_id is None else {"skill_id": skill_id}))
        tell = weekday_text if lookup.number is Number.WEEKDAY else longest_text
        return tell(work.language, patterns)
    journey = work.require(JourneyReport)
    if lookup.number is Number.REACH:
        return reach_text(work.language, journey, lookup.skill, lookup.minutes, lookup.pace)
    return one_number_text(work.language, journey, lookup.number or Number.TOTAL, lookup.skill)


def _say_instead(work: Work, task: Task) -> str:
    """What is said of something else than practice that was done; of a day to come also what is planned for it."""
    if task.twist not in (Twist.FUTURE, Twist.WISH):
        return say(work.language, f"twist.{task.twist}")
    own = say(work.language, f"twist.{task.twist}")
    if task.meant is not None:
        own = say(work.language, "plan.to_come", what=work.describe(task.meant.minutes, task.meant.skill, None))
    ahead = day_asked(task.text)
    if not ahead or "show_plan" not in work.view.tools:
        return own
    planned = day_plan_text(work.language, work.require(PlanReport), ahead)
    return f"{own} {planned}" if planned else own


def _ask_change(work: Work, task: Task) -> str:
    """Asks before the one entry that is meant is taken back or corrected."""
    report = work.entries_of(task)
    if report.found != 1:
        how = "entries.how_delete" if task.act is Act.ASK_DELETE else "entries.how_edit"
        listed = entries_text(work.language, report, work.today, numbered=True)
        return f"{listed}\n\n{say(work.language, how)}" if report.found else listed
    (row,), lookup = report.entries, lookup_of(task)
    day = None if lookup.day is None else say_date(work.language, lookup.day, work.today)
    right = ", ".join(part for part in (spell_minutes(lookup.minutes) if lookup.minutes else "", day or "") if part)
    return say(work.language, task.act, what=work.describe(row.minutes, row.skill, row.date), right=right)


def _change_entry(work: Work, task: Task) -> str:
    """What was allowed: one entry, by its id."""
    report, lookup = work.entries_of(task, old=True), lookup_of(task)
    if report.found != 1:
        raise CannotTell(say(work.language, "offline.failed"))
    (row,) = report.entries
    if task.act is Act.DELETE:
        return work.change_and_tell("delete_session", session_id=row.id)
    day = None if lookup.day is None else lookup.day.isoformat()
    return work.change_and_tell("edit_session", session_id=row.id, minutes=lookup.minutes, date=day)


def _unknown(work: Work, _: Task) -> str:
    """What it can do, once; said again so soon, it is in the way."""
    lately = work.view.earlier[-LATELY:]
    again = any(says(exchange.answer, ["offline.unknown", "offline.unknown_again"]) for exchange in lately)
    return say(work.language, "offline.unknown_again" if again else "offline.unknown")


def _greet(work: Work, task: Task) -> str:
    """A greeting back; "buenas noches" ends a talk as well as it begins one."""
    is_end = "noches" in task.text[:MAX_LINE_CHARS].casefold() and any(
        exchange.now.date() == work.today for exchange in work.view.earlier
    )
    return say(work.language, "offline.farewell" if is_end else "offline.greeting")


def _words(key: str) -> Callable[[Work, Task], str]:
    return lambda work, _: say(work.language, key)


_DO: dict[Act | Intent, Callable[[Work, Task], str]] = {
    Act.LOG: _log,
    Act.ASK_LOG: _ask_log,
    Act.ASK_NEW_SKILL: _ask_log,
    Act.ASK_NEAR_SKILL: _ask_log,
    Act.ASK_SKILL: _ask_skill,
    Act.ASK_AMOUNT: _ask_amount,
    Act.ASK_WHAT: _words("ask.what"),
    Act.NUMBER: _number,
    Act.ENTRIES: lambda work, task: entries_text(work.language, work.entries_of(task), work.today),
    Act.ASK_DELETE: _ask_change,
    Act.ASK_EDIT: _ask_change,
    Act.DELETE: _change_entry,
    Act.EDIT: _change_entry,
    Act.REMIND: set_reminder,
    Act.MOVE_REMINDER: move_reminder,
    Act.REMINDERS: list_reminders,
    Act.CANCEL_REMINDERS: cancel_reminders,
    Act.EDIT_SKILL: edit_skill,
    Act.ASK_MERGE: ask_merge,
    Act.MERGE: merge_skills,
    Act.TWISTED: _say_instead,
    Act.CORRECT: _correct,
    Act.SWAP: swap_entries,
    Act.ASK_CORRECTION: _ask_correction,
    Act.UNDO: lambda work, _: work.change_and_tell("undo_last_log"),
    Act.ASK_UNDO: _words("ask.undo"),
    Act.CREATE: _create,
    Act.ASK_CREATE: lambda work, task: say(work.language, "ask.create", skill=escape(task.name)),
    Act.ASK_GOAL: ask_goal,
    Act.ASK_SKILL_GOAL: ask_goal,
    Act.GOAL: set_goal,
    Act.PLAN: _plan,
    Act.DECLINED: _words("offline.declined"),
    Act.NOT_SURE: _words("offline.not_sure"),
    Intent.MAYBE_PLAN: _plan,
    Intent.CHART: _chart,
    Intent.HISTORY: _history,
    Intent.STATS: _stats,
    Intent.SKILLS: lambda work, _: skills_text(work.language, work.require(SkillsReport)),
    Intent.GUIDE: _words("offline.guide"),
    Intent.HELP: _words("offline.help"),
    Intent.FORGET: _words("forget.how"),
    Intent.CHANGE: _words("entries.how_edit"),
    Intent.MOOD: _words("offline.mood"),
    Intent.JOKE: _words("offline.joke"),
    Intent.SMALL_TALK: _words("offline.small_talk"),
    Intent.THANKS: _words("offline.thanks"),
    Intent.YES: _words("offline.nothing_open"),
    Intent.GREETING: _greet,
    Intent.FAREWELL: _words("offline.farewell"),
    Intent.UNKNOWN: _unknown,
}
