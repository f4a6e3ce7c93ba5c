"""Decides for each message that is not answered yet: write it, ask about it, or look something up. Pure.

Only what is surely meant is written; a yes to a question of the last answer makes it sure. `offline` carries it out.
"""

import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from enum import StrEnum

from agent.coach.amendments import amend
from agent.coach.changes import PracticeLogged, read_change
from agent.coach.intents import Intent, RequestedIntent, read_request, untimed_request
from agent.coach.log_line import LogLineError, read_correction
from agent.coach.practice import name_key
from agent.coach.request_view import Exchange, RequestView, Returned, asked_last, says
from agent.coach.sentences import Reading, read_sentence, spell_correction
from agent.coach.understanding.entries import Practised
from agent.coach.understanding.lookups import ANY_SKILL, Lookup, Wanted, read_lookup
from agent.coach.understanding.reading import Certainty, Heard, add_amount, add_skill, hear, may_be_practice
from agent.coach.understanding.tables import Twist
from agent.coach.understanding.wishes import (
    RemindWish,
    SkillVerb,
    WishedSkill,
    asks_for_reminders,
    may_be_skill_wish,
    read_remind_wish,
    read_skill_wish,
)
from agent.transcript import EDITED


class Act(StrEnum):
    """What is done about a message that tells of practice or changes something."""

    LOG = "log"
    ASK_LOG = "ask.log"
    ASK_NEW_SKILL = "ask.new_skill"
    ASK_NEAR_SKILL = "ask.near_skill"
    ASK_SKILL = "problem.which_skill"
    ASK_AMOUNT = "ask.amount"
    CORRECT = "correct"
    ASK_CORRECTION = "ask.correction"
    UNDO = "undo"
    ASK_UNDO = "ask.undo"
    CREATE = "create"
    ASK_CREATE = "ask.create"  # as the others that ask: the key of its question
    PLAN = "plan"
    DECLINED = "declined"
    NOT_SURE = "not_sure"
    NUMBER = "number"
    ENTRIES = "entries"
    ASK_GOAL = "ask.goal"
    ASK_SKILL_GOAL = "ask.skill_goal"
    GOAL = "goal"
    ASK_DELETE = "ask.delete"
    DELETE = "delete"
    ASK_EDIT = "ask.edit"
    EDIT = "edit"
    REMIND = "remind"
    REMINDERS = "reminders"
    EDIT_SKILL = "edit_skill"
    ASK_MERGE = "ask.merge"
    MERGE = "merge"
    TWISTED = "twisted"  # it tells of something else than practice that was done


_CONFIRMED = {
    Act.ASK_LOG: Act.LOG,
    Act.ASK_NEW_SKILL: Act.LOG,
    Act.ASK_NEAR_SKILL: Act.LOG,
    Act.ASK_CORRECTION: Act.CORRECT,
    Act.ASK_UNDO: Act.UNDO,
    Act.ASK_CREATE: Act.CREATE,
    Act.ASK_GOAL: Act.GOAL,
    Act.ASK_SKILL_GOAL: Act.GOAL,
    Act.ASK_DELETE: Act.DELETE,
    Act.ASK_EDIT: Act.EDIT,
    Act.ASK_MERGE: Act.MERGE,
}
"""What a yes makes of a question."""

_OF_CERTAINTY = {
    Certainty.LOG: Act.LOG,
    Certainty.ASK: Act.ASK_LOG,
    Certainty.ASK_NEW: Act.ASK_NEW_SKILL,
    Certainty.ASK_NEAR: Act.ASK_NEAR_SKILL,
    Certainty.ASK_SKILL: Act.ASK_SKILL,
    Certainty.ASK_AMOUNT: Act.ASK_AMOUNT,
}

_LACKING = frozenset({Act.ASK_SKILL, Act.ASK_AMOUNT})
"""What asks for the rest of what was said."""

_OF_WANTED = {
    Wanted.NUMBER: Act.NUMBER,
    Wanted.ENTRIES: Act.ENTRIES,
    Wanted.DELETE: Act.ASK_DELETE,
    Wanted.EDIT: Act.ASK_EDIT,
}

_OF_INTENT: dict[Intent, Act | Intent] = {
    Intent.UNDO: Act.UNDO,
    Intent.MAYBE_UNDO: Act.ASK_UNDO,
    Intent.CREATE: Act.ASK_CREATE,
    Intent.PLAN: Act.PLAN,
    Intent.NO: Act.DECLINED,
}


@dataclass(frozen=True, slots=True)
class Task:
    """One message, and what a correction said later makes of it."""

    act: Act | Intent
    text: str
    practised: tuple[Practised, ...] = ()  # what it tells of
    notes: str = ""
    twist: Twist | None = None  # what it tells of instead
    meant: Practised | None = None  # what is wished for, or still to come, instead
    lookup: Lookup | None = None  # what is wanted of what is logged
    reminder: RemindWish | None = None
    wished: WishedSkill | None = None  # what is to be done to a skill
    corrected: str = ""  # what was said later about it
    session_id: str | None = None  # what a correction is about; None: the last one
    name: str = ""
    confirmed: bool = False  # the person said yes: a skill may be new

    @property
    def meant_minutes(self) -> int:
        """Of what is still to come; 0 where none is said."""
        return (None if self.meant is None else self.meant.minutes) or 0

    @property
    def logs(self) -> int:
        """How many entries it writes."""
        return len(self.practised) if self.act is Act.LOG else 0


def tasks_of(view: RequestView, names: Sequence[str]) -> list[Task]:
    """What to do, in order; a correction of a log that has not run yet is part of that log."""
    logs = [call for call in view.returned if call.name == "log_practice" and not call.skipped]
    listener = _Listener(names, view.language)
    tasks: list[Task] = []
    answered = False  # the question of the last answer
    for text in view.pending:
        after_log = _last_log(tasks) is not None or _logged_lately(view)
        task = listener.task(text, () if answered else view.earlier, view.now, after_log=after_log)
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
    if asked_last(view.earlier, (*LACKED, *_CONFIRMED)):
        return True
    return any(_needs_names(text, view) for text in view.pending)


def _needs_names(text: str, view: RequestView) -> bool:
    if may_be_skill_wish(text) or read_lookup(text, ANY_SKILL, view.now, view.language) is not None:
        return True
    intent = read_request(text).intent
    return intent is Intent.CHANGE or (intent not in _PLAIN and may_be_practice(text))


class _Listener:
    """Takes one message after the other, for somebody with these skills."""

    def __init__(self, names: Sequence[str], language: str) -> None:
        self._names = names
        self._language = language

    def task(self, text: str, earlier: Sequence[Exchange], now: datetime, *, after_log: bool) -> Task:
        """What one message asks for, given what was said and answered before it."""
        request = read_request(text)
        task = (
            self._answer(text, earlier, says_yes=request.intent is Intent.YES)
            or self._wish(text, now)
            or self._statement(text, request, earlier, now, after_log=after_log)
        )
        if task.act in _NOTHING and _SAYS_NO.match(text) and asked_last(earlier, _CONFIRMED):
            return replace(task, act=Act.DECLINED)
        return task

    def _statement(
        self, text: str, request: RequestedIntent, earlier: Sequence[Exchange], now: datetime, *, after_log: bool
    ) -> Task:
        """What is neither an answer nor a wish: practice that is told of, a question, a correction, anything else."""
        heard = hear(text.removeprefix(EDITED), self._names, now, self._language)
        logs = heard.certainty is Certainty.LOG
        lookup = self._lookup(text, now, logs=logs) if request.intent in _LOOKED_UP else None
        corrects = read_sentence(text, self._names)
        if lookup is not None and not (corrects is Reading.CORRECTION and _was_logged_last(lookup, earlier)):
            return Task(_OF_WANTED[lookup.wanted], text, lookup=lookup)
        timed = request.intent is Intent.TIMED and not logs
        intent = untimed_request(text).intent if timed else request.intent
        corrected = self._correction(text, now, intent, after_log=after_log)
        if corrected is not None:
            return corrected
        told = heard.certainty is not Certainty.NOTHING and (logs or request.intent in _WEAK)
        if request.intent not in {Intent.TIMED, Intent.UNKNOWN} and not told:
            return Task(_OF_INTENT.get(request.intent, request.intent), text, name=request.name)
        if corrects is Reading.CORRECTION or (corrects is Reading.MAYBE_CORRECTION and not logs):
            sure = corrects is Reading.CORRECTION and after_log
            return Task(Act.CORRECT if sure else Act.ASK_CORRECTION, text)
        if logs and text.startswith(EDITED):
            return Task(Act.CORRECT if after_log else Act.ASK_CORRECTION, text)
        if heard.certainty is not Certainty.NOTHING:
            return _of_heard(heard, text)
        return self._of_words(text, heard, timed=request.intent is Intent.TIMED)

    def _correction(self, text: str, now: datetime, intent: Intent, *, after_log: bool) -> Task | None:
        """What is right instead, of the last entry: as "no, it was 50", "it was piano, not guitar"."""
        spelled = spell_correction(text)
        is_short = spelled != text and read_sentence(spelled, self._names) is Reading.CORRECTION
        if "?" in text or not (intent is Intent.CHANGE or is_short):
            return None
        try:
            right = read_correction(spelled, now.date(), self._names)
        except LogLineError:
            return None
        if not any(astuple(right)):
            return None
        sure = after_log and read_sentence(spelled, self._names) is Reading.CORRECTION
        return Task(Act.CORRECT if sure else Act.ASK_CORRECTION, spelled)

    def _answer(self, text: str, earlier: Sequence[Exchange], *, says_yes: bool) -> Task | None:
        """What a message is as the answer to a question of the last answer."""
        asked = self._find_question(earlier)
        if asked is None:
            return None
        if says_yes and asked.act in _CONFIRMED:
            return replace(asked, act=_CONFIRMED[Act(asked.act)], confirmed=True)
        return _completion(text, asked, self._names) or self._amend(text, asked, earlier[-1])

    def _amend(self, text: str, asked: Task, last: Exchange) -> Task | None:
        """The practice that was asked about, as a message corrects it: it is asked about again, or logged."""
        amendment = amend(text, asked.practised, self._names, last.now, self._language)
        if amendment is None:
            return None
        asked = replace(asked, text=text, practised=amendment.practised)
        if amendment.is_sure:
            return replace(asked, act=Act.LOG, confirmed=True)
        return replace(asked, act=Act.ASK_NEW_SKILL if any(entry.is_new for entry in asked.practised) else asked.act)

    def _wish(self, text: str, now: datetime) -> Task | None:
        """What begins with the verb of a wish of its own: to be reminded, or to have a skill changed."""
        reminder, wished = read_remind_wish(text, now), read_skill_wish(text, self._names)
        if reminder is not None:
            return Task(Act.REMIND, text, reminder=reminder)
        if asks_for_reminders(text):
            return Task(Act.REMINDERS, text)
        if wished is None:
            return None
        return Task(Act.ASK_MERGE if wished.verb is SkillVerb.MERGE else Act.EDIT_SKILL, text, wished=wished)

    def _lookup(self, text: str, now: datetime, *, logs: bool) -> Lookup | None:
        """What is wanted of what is logged; what is asked beside practice that is told of comes after it."""
        found = read_lookup(text, self._names, now, self._language)
        return None if found is not None and logs and found.wanted in (Wanted.NUMBER, Wanted.ENTRIES) else found

    def _of_words(self, text: str, heard: Heard, *, timed: bool) -> Task:
        """What a message that tells of no practice asks for, by its words."""
        request = untimed_request(text)
        if request.intent not in {Intent.UNKNOWN, Intent.YES, Intent.NO}:
            return Task(_OF_INTENT.get(request.intent, request.intent), text, name=request.name)
        twist = heard.twist
        meant = heard.meant
        if twist in (Twist.GOAL, Twist.WISH) and meant is not None and meant.minutes and _A_WEEK.search(text):
            if not (meant.skill or twist is Twist.WISH):
                return Task(Act.ASK_GOAL, text, meant=meant)
            if meant.skill and not meant.is_new:
                return Task(Act.ASK_SKILL_GOAL, text, meant=meant)
        if twist in TOLD and (timed or twist is Twist.REMINDER or may_be_practice(text)):
            return Task(Act.TWISTED, text, twist=twist, meant=meant)
        return Task(Act.NOT_SURE if timed else Intent.UNKNOWN, text)

    def _find_question(self, earlier: Sequence[Exchange]) -> Task | None:
        """What the last answer asked to be told, or to be allowed; None where it asked nothing."""
        if not asked_last(earlier, (*LACKED, *_CONFIRMED)):
            return None
        *before, last = earlier
        said = (last.said, *reversed(last.before))
        tasks = (self.task(text, before, last.now, after_log=False) for text in said)
        return next((task for task in tasks if task.act in _CONFIRMED or task.act in _LACKING), None)


def _completion(text: str, asked: Task, names: Sequence[str]) -> Task | None:
    """A log of which the rest was said before: what was asked for is the skill, or how long it was."""
    if asked.act not in _LACKING or len(asked.practised) != 1:
        return None
    (entry,) = asked.practised
    heard = add_skill(text, entry, names) if asked.act is Act.ASK_SKILL else add_amount(text, entry)
    return None if heard.certainty is Certainty.NOTHING else _of_heard(heard, text)


def _of_heard(heard: Heard, text: str) -> Task:
    act = _OF_CERTAINTY[heard.certainty]
    return Task(act, text, practised=heard.practised, notes=heard.notes)


_LOOKED_UP = frozenset(
    {
        Intent.TIMED,
        Intent.UNKNOWN,
        Intent.STATS,
        Intent.HISTORY,
        Intent.MAYBE_UNDO,
        Intent.SKILLS,
        Intent.THANKS,
        Intent.GREETING,
    }
)
"""What may be a wish about what is logged, or be said beside one."""

_NOTHING = frozenset({Intent.UNKNOWN, Act.NOT_SURE})
_SAYS_NO = re.compile(r"[\W_]*(?:no(?:t|pe)?|nah|never ?mind|d[eé]jalo|nada)\b", re.IGNORECASE)

_PLAIN = frozenset({Intent.UNDO, Intent.MAYBE_UNDO, Intent.CREATE, Intent.PLAN, Intent.FORGET, Intent.YES, Intent.NO})
"""What is asked for by words that mean nothing else."""

_WEAK = frozenset({Intent.STATS, Intent.GUIDE, Intent.HELP, Intent.SMALL_TALK, Intent.THANKS, Intent.GREETING})
"""What gives way to practice that is told of: guessed from a word."""

TOLD = frozenset(twist for twist in Twist if twist not in (Twist.UNCLEAR, Twist.SELF, Twist.DOUBT, Twist.COMMAND))
"""What is answered by a sentence of its own, `twist.…`."""

_A_WEEK = re.compile(
    r"\b(?:a|per|each|every|this|weekly|la|por|cada|esta) ?(?:week|semana)\b|\bweekly\b|\bsemanal\b", re.IGNORECASE
)
"""Of a goal: it is that of the week."""

LACKED = ("problem.no_skill", "problem.which_skill", "ask.amount")
LOGGED = ("change.logged", "change.edited")
LATELY = 3
"""Answers back; what was logged before those is not what a correction means."""


def _logged_lately(view: RequestView) -> bool:
    """Whether there is an entry that a correction surely means: what the last answer asked about is none yet."""
    if asked_last(view.earlier, (*LACKED, *_OF_CERTAINTY.values())):
        return False
    return any(says(exchange.answer, LOGGED) for exchange in view.earlier[-LATELY:])


def _was_logged_last(lookup: Lookup, earlier: Sequence[Exchange]) -> bool:
    """Whether the entry that is to be changed is the last one that was logged: then it is a correction of that."""
    answers = [exchange.answer for exchange in earlier[-LATELY:] if says(exchange.answer, LOGGED)]
    wanted = lookup.wanted is Wanted.EDIT and lookup.skill is not None
    return wanted and bool(answers) and name_key(lookup.skill or "") in name_key(answers[-1])


def asks(task: Task, answer: str) -> bool:
    """Whether this answer to a task is a question that a yes or a no answers."""
    return task.act in _CONFIRMED and says(answer, _CONFIRMED)


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
