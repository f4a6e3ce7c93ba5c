"""Decides for each message that is not answered yet: write it, ask about it, or look something up. Pure.

What a message is, `listener` says; `offline` carries it out.
"""

from collections.abc import Sequence
from dataclasses import astuple, replace

from agent.coach.acts import CONFIRMED, LACKED, OF_CERTAINTY, Act, Task
from agent.coach.changes import PracticeLogged, read_change
from agent.coach.followups import LATELY, LOGGED, may_follow
from agent.coach.intents import Intent, read_request
from agent.coach.listener import FOLLOWED, Listener
from agent.coach.log_line import LogLineError, read_correction
from agent.coach.request_view import RequestView, Returned, asked_last, says
from agent.coach.understanding.lookups import ANY_SKILL, read_lookup
from agent.coach.understanding.reading import may_be_practice
from agent.coach.understanding.wishes import may_be_skill_wish

_PLAIN = frozenset({Intent.UNDO, Intent.MAYBE_UNDO, Intent.CREATE, Intent.PLAN, Intent.FORGET, Intent.YES, Intent.NO})
"""What is asked for by words that mean nothing else."""


def tasks_of(view: RequestView, names: Sequence[str]) -> list[Task]:
    """What to do, in order; a correction of a log that has not run yet is part of that log."""
    logs = [call for call in view.returned if call.name == "log_practice" and not call.skipped]
    listener, earlier = Listener(names, view.language), view.earlier[-FOLLOWED:]
    tasks: list[Task] = []
    answered = False  # the question of the last answer
    for text in view.pending:
        after_log = _last_log(tasks) is not None or _logged_lately(view)
        task = listener.task(text, () if answered else earlier, view.now, after_log=after_log)
        if task.act is Intent.YES and tasks:
            continue  # said before what it was said to could be answered
        answered = answered or task.confirmed or task.act is Act.DECLINED  # said twice, it would be done twice
        if task.act is Act.CORRECT and (at := _last_log(tasks)) is not None:
            last = _logs_before(tasks, at) + tasks[at].logs - 1
            ran = logs[last] if last < len(logs) else None
            if ran is None or not ran.success or _holds(view, task.text, ran, names):
                tasks[at] = replace(tasks[at], corrected=task.text)
                continue
            task = replace(task, session_id=str(ran.data.get("session_id")))
        tasks.append(task)
    return tasks


def needs_names(view: RequestView) -> bool:
    """Whether what was said can only be understood by who knows the person's skills."""
    if asked_last(view.earlier, (*LACKED, *CONFIRMED)):
        return True
    if view.earlier and any(may_follow(text) for text in view.pending):
        return True
    return any(_needs_names(text, view) for text in view.pending)


def _needs_names(text: str, view: RequestView) -> bool:
    if may_be_skill_wish(text) or read_lookup(text, ANY_SKILL, view.now, view.language) is not None:
        return True
    intent = read_request(text).intent
    return intent is Intent.CHANGE or (intent not in _PLAIN and may_be_practice(text))


def _logged_lately(view: RequestView) -> bool:
    """Whether there is an entry that a correction surely means: what the last answer asked about is none yet."""
    if asked_last(view.earlier, (*LACKED, *OF_CERTAINTY.values())):
        return False
    return any(says(exchange.answer, LOGGED) for exchange in view.earlier[-LATELY:])


def asks(task: Task, answer: str) -> bool:
    """Whether this answer to a task is a question that a yes or a no answers."""
    return task.act in CONFIRMED and says(answer, CONFIRMED)


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
    return sum(task.logs for task in tasks[:at])
