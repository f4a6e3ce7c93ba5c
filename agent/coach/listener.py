"""Takes one message for what it is: an answer to what was asked, a wish, a question, practice that is told of. Pure.

Only what is surely meant is written; a yes to a question of the last answer makes it sure.
"""

import re
from collections.abc import Sequence
from dataclasses import astuple, replace
from datetime import date, datetime
from itertools import chain

from agent.coach.acts import CONFIRMED, LACKED, LACKING, Act, Task, task_of_heard
from agent.coach.amendments import amend
from agent.coach.answers import answer_question, is_granted
from agent.coach.followed_wishes import ask_on, change_goal, change_reminder
from agent.coach.followups import (
    LOGGED,
    correct_another,
    correct_log,
    first_clause,
    log_created,
    log_meant,
    log_more,
    may_follow,
    name_other,
    read_fragment,
    repeat_log,
    says_other,
    says_wrong,
    swap,
    was_logged_last,
)
from agent.coach.intents import Intent, RequestedIntent, read_request, untimed_request
from agent.coach.log_line import LogLineError, find_day, find_skill, read_correction
from agent.coach.request_view import Exchange, asked_last, says
from agent.coach.sentences import Reading, read_sentence, spell_correction
from agent.coach.understanding.amounts import find_duration
from agent.coach.understanding.entries import Practised
from agent.coach.understanding.lookups import Lookup, Wanted, read_lookup
from agent.coach.understanding.reading import Certainty, Heard, hear, may_be_practice
from agent.coach.understanding.tables import Twist
from agent.coach.understanding.wishes import (
    SkillVerb,
    asks_for_reminders,
    asks_to_cancel_reminders,
    read_remind_wish,
    read_skill_wish,
)
from agent.transcript import EDITED

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


class Listener:
    """Takes one message after the other, for somebody with these skills; what was said before is the same for all."""

    def __init__(self, names: Sequence[str], language: str) -> None:
        self._names = names
        self._language = language
        self._questions: dict[int, Task | None] = {}  # of the last answer, by how many there are
        self._answered: dict[int, Task] = {}  # the newest message of so many

    def task(self, text: str, earlier: Sequence[Exchange], now: datetime, *, after_log: bool) -> Task:
        """What one message asks for, given what was said and answered before it."""
        if earlier and says_other(text):
            text = name_other(text, self._last(earlier), self._names)
        request = read_request(text)
        task = (
            self._answer(text, earlier, says_yes=request.intent is Intent.YES)
            or self._follow_up(text, earlier, now)
            or self._wish(text, earlier, now)
            or self._more(text, earlier, now)
            or self._statement(text, request, earlier, now, after_log=after_log)
        )
        if task.act in _NOTHING and _SAYS_NO.match(text) and asked_last(earlier, CONFIRMED):
            return replace(task, act=Act.DECLINED)
        return correct_another(task, earlier, self._names, now) or task

    def _statement(
        self, text: str, request: RequestedIntent, earlier: Sequence[Exchange], now: datetime, *, after_log: bool
    ) -> Task:
        """What is neither an answer nor a wish: practice that is told of, a question, a correction, anything else."""
        heard = hear(text.removeprefix(EDITED), self._names, now, self._language)
        logs = heard.certainty is Certainty.LOG
        lookup = self._lookup(text, now, logs=logs) if request.intent in _LOOKED_UP else None
        corrects = Reading.OTHER if _GOAL.search(text) else read_sentence(text, self._names)
        if lookup is not None and not (corrects is Reading.CORRECTION and was_logged_last(lookup, earlier)):
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
            return task_of_heard(heard, text)
        if _PRACTISED_ONLY.match(text[:MAX_SHORT_CHARS]):
            day = find_day(text, now.date()) or now.date()
            return Task(Act.ASK_WHAT, text, practised=(Practised(None, "", day),))
        return self._of_words(text, heard, timed=request.intent is Intent.TIMED)

    def _more(self, text: str, earlier: Sequence[Exchange], now: datetime) -> Task | None:
        """What comes on top: "another 15", and "20 minutes" of what was just logged. It is asked about."""
        is_more = _ALSO.match(text) is not None
        logged = self._logged_last(earlier) or (None if is_more else self._named_last(earlier))
        if "?" in text or not (is_more or logged):
            return None
        spelled = spell_correction(text) if is_more else text
        heard = hear(spelled, self._names, now, self._language)
        if heard.certainty is Certainty.ASK_SKILL and len(heard.practised) == 1 and logged is not None:
            return Task(Act.ASK_LOG, text, practised=(replace(heard.practised[0], skill=logged),))
        if spelled == text or heard.certainty in (Certainty.NOTHING, Certainty.ASK_AMOUNT):
            return None
        task = task_of_heard(heard, text)
        return replace(task, act=Act.ASK_LOG) if task.act is Act.LOG else task

    def _logged_last(self, earlier: Sequence[Exchange]) -> str | None:
        """The one skill of which the last answer says that it was logged."""
        if not asked_last(earlier, LOGGED[:1]):
            return None
        answer = earlier[-1].answer
        skill = find_skill(answer, self._names)
        others = [name for name in self._names if name != skill]
        return skill if skill is not None and find_skill(answer.replace(skill, ""), others) is None else None

    def _named_last(self, earlier: Sequence[Exchange]) -> str | None:
        """The one skill that the last message named, where nothing was done about it."""
        if not earlier or says(earlier[-1].answer, (*LOGGED, *LACKED, *CONFIRMED)):
            return None
        said = earlier[-1].said[:MAX_SHORT_CHARS]
        skill = find_skill(said, self._names)
        others = [name for name in self._names if name != skill]
        return skill if find_skill(said, others) is None else None

    def _correction(self, text: str, now: datetime, intent: Intent, *, after_log: bool) -> Task | None:
        """What is right instead, of the last entry: as "no, it was 50", "it was piano, not guitar"."""
        rather = _RATHER.fullmatch(text[:MAX_SHORT_CHARS])  # "no, guitar", "not yesterday, monday"
        if rather is not None and (find_skill(rather[1], self._names) or find_day(rather[1], now.date())):
            return Task(Act.ASK_CORRECTION, f"it was {rather[1]}")
        spelled = spell_correction(text)
        is_short = spelled != text and read_sentence(spelled, self._names) is Reading.CORRECTION
        if "?" in text or _GOAL.search(text) or not (intent is Intent.CHANGE or is_short):
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
        if asked.act in CONFIRMED and (says_yes or is_granted(text, earlier[-1].answer)):
            return replace(asked, act=CONFIRMED[Act(asked.act)], confirmed=True)
        return answer_question(text, asked, earlier[-1], self._names, self._language)

    def _wish(self, text: str, earlier: Sequence[Exchange], now: datetime) -> Task | None:
        """What begins with the verb of a wish of its own: to be reminded, or to have a skill changed."""
        wished = read_skill_wish(text, self._names)
        reminder = read_remind_wish(text, now) or read_remind_wish(_BEFORE_WISH.sub("", text[:MAX_SHORT_CHARS]), now)
        if reminder is None and asked_last(earlier, _NO_TIME):
            reminder = read_remind_wish(f"{earlier[-1].said[:MAX_SHORT_CHARS]} {text[:MAX_SHORT_CHARS]}", now)
        if reminder is not None:
            return Task(Act.REMIND, text, reminder=reminder)
        if asks_to_cancel_reminders(text):
            return Task(Act.CANCEL_REMINDERS, text)
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
        twist, meant = heard.twist, self._goal_meant(text, heard)
        if twist in (Twist.GOAL, Twist.WISH, Twist.COMMAND) and meant is not None and _A_WEEK.search(text):
            if meant.skill and not meant.is_new:
                return Task(Act.ASK_SKILL_GOAL, text, meant=meant)
            if not meant.skill and (twist is Twist.GOAL or _GOAL.search(text)):
                return Task(Act.ASK_GOAL, text, meant=meant)
        request = untimed_request(text)
        if request.intent not in {Intent.UNKNOWN, Intent.YES, Intent.NO}:
            return Task(_OF_INTENT.get(request.intent, request.intent), text, name=request.name)
        if twist is Twist.COMMAND and timed and _GOAL.search(text):
            twist = Twist.GOAL
        is_named = twist in _OF_SKILLS and find_skill(text[:MAX_SHORT_CHARS], self._names) is not None
        if twist in TOLD and (timed or is_named or twist is Twist.REMINDER or may_be_practice(text)):
            return Task(Act.TWISTED, text, twist=twist, meant=heard.meant)
        return Task(Act.NOT_SURE if timed else Intent.UNKNOWN, text)

    def _goal_meant(self, text: str, heard: Heard) -> Practised | None:
        """So much, and of which skill, as it is wished for; None where no time is said."""
        if heard.meant is not None and heard.meant.minutes:
            return heard.meant
        said = find_duration(text) if _GOAL.search(text) else None
        if said is None:
            return None
        return Practised(said.minutes, find_skill(text, self._names) or "", date.min)

    def _follow_up(self, text: str, earlier: Sequence[Exchange], now: datetime) -> Task | None:
        """What a message that is too short to mean something by itself goes on from."""
        last = self._last(earlier) if may_follow(text) else None
        if last is None:
            return None
        if asked_last(earlier, _DECLINED):
            return self._after_no(text, earlier)
        if says_wrong(text) and asked_last(earlier, (*LOGGED, *CONFIRMED)):
            return Task(Intent.CHANGE if asked_last(earlier, LOGGED) else Act.DECLINED, text)
        if last.reminder is not None:
            return change_reminder(text, last.reminder, now)
        if last.meant is not None and last.act in _GOALS:
            return change_goal(text, last)
        return (
            log_created(text, last, self._names, now, self._language)
            or ask_on(text, last.lookup, self._names, now, self._language)
            or self._more_or_right(text, last, earlier, now)
        )

    def _more_or_right(self, text: str, last: Task, earlier: Sequence[Exchange], now: datetime) -> Task | None:
        """What comes to what was just logged or meant, or is right instead."""
        logged = self._find_logged(earlier)
        swapped = swap(text, logged, last.practised if last.act is Act.ASK_LOG else ())
        said = read_fragment(text, self._names, now, self._language) if swapped is None else None
        if said is None:
            return swapped
        if not logged and last.act in _OPEN:
            return log_meant(said, text, earlier[-1].said, self._named_last(earlier), now.date())
        return (
            repeat_log(said, text, logged)
            or correct_log(said, text, logged, now.date())
            or log_more(said, text, logged, now.date())
        )

    def _after_no(self, text: str, earlier: Sequence[Exchange]) -> Task | None:
        """What was meant instead of what a no was said to: "it was chess"."""
        asked = self._find_question(earlier[:-1])
        amendment = asked and amend(first_clause(text), asked.practised, self._names, earlier[-1].now, self._language)
        if not asked or not amendment or any(entry.is_new for entry in amendment.practised):
            return None
        return Task(Act.ASK_LOG, text, practised=amendment.practised)

    def _find_logged(self, earlier: Sequence[Exchange]) -> tuple[Practised, ...]:
        """What the last answer says that it logged or corrected, as it stands since; () where it did neither."""
        last = self._last(earlier) if asked_last(earlier, LOGGED) else None
        if last is None:
            return ()
        if last.act is Intent.YES:  # to a question about a skill that is theirs since
            last = self._last(earlier[:-1]) or last
        if last.act in (Act.LOG, Act.SWAP):
            return last.practised
        if last.act is not Act.CORRECT or not (logged := self._find_logged(earlier[:-1])):
            return ()
        *before, entry = logged
        right = read_correction(last.text, earlier[-1].now.date(), self._names)
        return (*before, entry.correct(right.minutes, right.skill, right.day))

    def _last(self, earlier: Sequence[Exchange]) -> Task | None:
        """What the newest message that is answered asked for; None where nothing was said."""
        if not earlier:
            return None
        if len(earlier) not in self._answered:
            *before, last = earlier
            self._answered[len(earlier)] = self.task(last.said, before, last.now, after_log=False)
        return self._answered[len(earlier)]

    def _find_question(self, earlier: Sequence[Exchange]) -> Task | None:
        """What the last answer asked to be told, or to be allowed; None where it asked nothing."""
        if not asked_last(earlier, (*LACKED, *CONFIRMED)):
            return None
        if len(earlier) not in self._questions:  # each of several messages asks, and of each question before it
            *before, last = earlier
            others = (self.task(text, before, last.now, after_log=False) for text in reversed(last.before))
            tasks = (task for task in chain([self._last(earlier)], others) if task is not None)
            found = (task for task in tasks if task.act in CONFIRMED or task.act in LACKING)
            self._questions[len(earlier)] = next(found, None)
        return self._questions[len(earlier)]


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
        Intent.FAREWELL,
    }
)
"""What may be a wish about what is logged, or be said beside one."""

_OPEN = frozenset({Act.TWISTED, Act.NOT_SURE, Intent.UNKNOWN})
"""After which what is named or done belongs to what was said before."""

_OF_SKILLS = frozenset({Twist.FUTURE, Twist.WISH, Twist.NEGATED})
"""Said of a skill without a word of practice: "I'll do piano"."""

_NO_TIME = ("twist.reminder",)
_DECLINED = ("offline.declined",)
_GOALS = frozenset({Act.ASK_GOAL, Act.ASK_SKILL_GOAL, Act.GOAL})
_NOTHING = frozenset({Intent.UNKNOWN, Act.NOT_SURE})
_SAYS_NO = re.compile(r"[\W_]*(?:no(?:t|pe)?|nah|never ?mind|d[eé]jalo|nada)\b", re.IGNORECASE)

_WEAK = frozenset(
    {Intent.STATS, Intent.GUIDE, Intent.HELP, Intent.SMALL_TALK, Intent.THANKS, Intent.GREETING, Intent.FAREWELL}
)
"""What gives way to practice that is told of: guessed from a word."""

TOLD = frozenset(twist for twist in Twist if twist not in (Twist.UNCLEAR, Twist.SELF, Twist.DOUBT, Twist.COMMAND))
"""What is answered by a sentence of its own, `twist.…`."""

_GOAL = re.compile(r"\b(?:goals?|targets?|metas?|objetivos?)\b", re.IGNORECASE)
_PRACTISED_ONLY = re.compile(
    r"[\W_]*(?:(?:so|well|ok|hey|hi|hello|hola|pues|bueno|che|wey|g[uü]ey|parce|coach|profe|mate"
    r"|yes|s[ií]|today|yesterday|hoy|ayer|i|i['’]ve|have|just|finally|yo"
    r"|he|ya|por fin|did|did my)[\s,.!]+)*"
    r"(?:practi[sc]ed|practi[sc]e|trained|studied|rehearsed|practiqu[eé]|practicado|entren[eé]|entrenado|estudi[eé]"
    r"|estudiado|ensay[eé]|ensayado)"
    r"(?:[\s,.!]+(?:today|yesterday|hoy|ayer|this morning|esta ma[nñ]ana|again|finally|too|tambi[eé]n|por fin))*"
    r"[\W_]*$",
    re.IGNORECASE,
)
"""Practice and nothing more: neither what it was nor how long."""

_BEFORE_WISH = re.compile(r"^[^.!?,\d]{1,30}[.!?,]\s+")
"""As "nice. " before what is wished."""

_RATHER = re.compile(
    r"[\W_]{0,4}(?:(?:no|nope|nah|not)\b(?: \w{2,12})?|\w{3,10} no)\s?[,;:.-]+\s?"
    r"((?:(?:on|the|el|la)\s)?[^\W\d_]{3,20})[\s.!]{0,4}",
    re.IGNORECASE,
)
_ALSO = re.compile(
    r"[\W_]*(?:and|also|plus|another|then|y|tambi[eé]n|otr[oa]s?|m[aá]s|adem[aá]s|luego)\b", re.IGNORECASE
)
_A_WEEK = re.compile(
    r"\b(?:a|per|each|every|this|weekly|la|por|cada|esta) ?(?:week|semana)\b|\bweekly\b|\bsemanal(?:es)?\b",
    re.IGNORECASE,
)
"""Of a goal: it is that of the week."""

MAX_SHORT_CHARS = 120
FOLLOWED = 20
"""Answers back; a question that goes on from more questions than that is read as the first."""
