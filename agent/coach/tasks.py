"""Decides for each message that is not answered yet: write it, ask about it, or look something up. Pure.

Only what is surely meant is written; a yes to a question of the last answer makes it sure. `offline` carries it out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from enum import StrEnum

from agent.coach.changes import PracticeLogged, read_change
from agent.coach.intents import Intent, read_request, untimed_request
from agent.coach.log_line import LogLineError, read_correction
from agent.coach.request_view import Exchange, RequestView, Returned
from agent.coach.sentences import Reading, read_sentence
from agent.coach.texts import in_any_language
from agent.transcript import EDITED


class Act(StrEnum):
    """What is done about a message that names a duration or changes something."""

    LOG = "log"
    ASK_LOG = "ask.log"
    ASK_NEW_SKILL = "ask.new_skill"
    CORRECT = "correct"
    ASK_CORRECTION = "ask.correction"
    UNDO = "undo"
    ASK_UNDO = "ask.undo"
    CREATE = "create"
    ASK_CREATE = "ask.create"  # as the others that ask: the key of its question
    PLAN = "plan"
    DECLINED = "declined"
    NOT_SURE = "not_sure"


_CONFIRMED = {
    Act.ASK_LOG: Act.LOG,
    Act.ASK_NEW_SKILL: Act.LOG,
    Act.ASK_CORRECTION: Act.CORRECT,
    Act.ASK_UNDO: Act.UNDO,
    Act.ASK_CREATE: Act.CREATE,
}
"""What a yes makes of a question."""

_OF_READING = {
    Reading.LOG: Act.LOG,
    Reading.LOG_NO_SKILL: Act.LOG,
    Reading.LOG_NEW_SKILL: Act.ASK_NEW_SKILL,
    Reading.MAYBE_LOG: Act.ASK_LOG,
    Reading.MAYBE_CORRECTION: Act.ASK_CORRECTION,
}

_OF_INTENT: dict[Intent, Act | Intent] = {
    Intent.UNDO: Act.UNDO,
    Intent.MAYBE_UNDO: Act.ASK_UNDO,
    Intent.CREATE: Act.ASK_CREATE,
    Intent.PLAN: Act.PLAN,
    Intent.YES: Intent.THANKS,
    Intent.NO: Act.DECLINED,
}


@dataclass(frozen=True, slots=True)
class Task:
    """One message, and what a correction said later makes of it."""

    act: Act | Intent
    text: str
    corrected: str = ""  # what was said later about it
    session_id: str | None = None  # what a correction is about; None: the last one
    name: str = ""
    noted: bool = True  # what else the message says is a note
    confirmed: bool = False  # the person said yes: a skill may be new


def tasks_of(view: RequestView, names: Sequence[str]) -> list[Task]:
    """What to do, in order; a correction of a log that has not run yet is part of that log."""
    logs = [call for call in view.returned if call.name == "log_practice" and not call.skipped]
    tasks: list[Task] = []
    answered = False  # the question of the last answer
    for text in view.pending:
        after_log = _last_log(tasks) is not None or _logged_lately(view)
        task = _task(text, () if answered else view.earlier, names, after_log=after_log)
        answered = answered or task.confirmed or task.act is Act.DECLINED  # said twice, it would be done twice
        if task.act is Act.CORRECT and (at := _last_log(tasks)) is not None:
            ran = logs[_logs_before(tasks, at)] if _logs_before(tasks, at) < len(logs) else None
            if ran is None or not ran.success or _holds(view, text, ran, names):
                tasks[at] = replace(tasks[at], corrected=text)
                continue
            task = replace(task, session_id=str(ran.data.get("session_id")))
        tasks.append(task)
    return tasks


def _task(text: str, earlier: Sequence[Exchange], names: Sequence[str], *, after_log: bool) -> Task:
    """What one message asks for, given what was said and answered before it."""
    request = read_request(text)
    if request.intent is Intent.YES and (asked := _find_question(earlier, names)) is not None:
        return asked
    if request.intent is Intent.UNKNOWN and asked_last(earlier, WHICH_SKILL):
        text = _whole_text(text, earlier)
        request = read_request(text)
    if request.intent is not Intent.TIMED:
        return Task(_OF_INTENT.get(request.intent, request.intent), text, name=request.name)
    reading = read_sentence(text, names)
    if reading is Reading.BARE:
        return Task(Act.ASK_LOG if len(names) == 1 else Act.LOG, text)
    if reading is Reading.CORRECTION or (reading is Reading.LOG and text.startswith(EDITED)):
        return Task(Act.CORRECT if after_log else Act.ASK_CORRECTION, text)
    if reading is not Reading.OTHER:
        return Task(_OF_READING[reading], text, noted=reading is not Reading.MAYBE_LOG)
    request = untimed_request(text)
    known = request.intent not in {Intent.UNKNOWN, Intent.YES, Intent.NO}
    return Task(_OF_INTENT.get(request.intent, request.intent) if known else Act.NOT_SURE, text, name=request.name)


WHICH_SKILL = ("problem.no_skill", "problem.which_skill")
LOGGED = ("change.logged", "change.edited")
LATELY = 3
"""Answers back; what was logged before those is not what a correction means."""


def _leads(answer: str, keys: Iterable[str]) -> bool:
    """Whether an answer says one of these texts, in any language: known by what stands before its first field."""
    return any(opening in answer for key in keys for opening in in_any_language(key))


def asked_last(earlier: Sequence[Exchange], keys: Iterable[str]) -> bool:
    """Whether the last answer says one of these texts."""
    return bool(earlier) and _leads(earlier[-1].answer, keys)


def _logged_lately(view: RequestView) -> bool:
    return any(_leads(exchange.answer, LOGGED) for exchange in view.earlier[-LATELY:])


def _whole_text(text: str, earlier: Sequence[Exchange]) -> str:
    """What was said in one: the message that lacked a skill, and the one that names it."""
    return f"{earlier[-1].said} {text}"


def _find_question(earlier: Sequence[Exchange], names: Sequence[str]) -> Task | None:
    """What the last answer asked to be allowed, as something to do; None where it asked nothing."""
    if not earlier or not asked_last(earlier, _CONFIRMED):
        return None
    *before, last = earlier
    task = _task(last.said, before, names, after_log=False)
    if not isinstance(task.act, Act) or task.act not in _CONFIRMED:
        return None
    return replace(task, act=_CONFIRMED[task.act], confirmed=True)


def asks(task: Task, answer: str) -> bool:
    """Whether this answer to a task is a question that a yes or a no answers."""
    return task.act in _CONFIRMED and _leads(answer, _CONFIRMED)


def _holds(view: RequestView, text: str, ran: Returned, names: Sequence[str]) -> bool:
    """Whether what was logged is as a correction says: it was heard before the log ran."""
    change = read_change(ran.data)
    if not isinstance(change, PracticeLogged):
        return False
    try:
        right = read_correction(text, view.today, (change.skill, *names))
    except LogLineError:
        return False  # said when its turn comes
    logged = (change.minutes, change.skill, change.date)
    return all(wanted in (None, found) for wanted, found in zip(astuple(right), logged, strict=True))


def _last_log(tasks: Sequence[Task]) -> int | None:
    return next((at for at in range(len(tasks) - 1, -1, -1) if tasks[at].act is Act.LOG), None)


def _logs_before(tasks: Sequence[Task], at: int) -> int:
    return sum(task.act is Act.LOG for task in tasks[:at])
