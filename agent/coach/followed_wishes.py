"""What a short message means after a question of theirs, a goal or a reminder: "and last week?", "make it 2". Pure."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from agent.coach.acts import Act, Task
from agent.coach.followups import MAX_CHARS, Fragment
from agent.coach.understanding.amounts import find_duration
from agent.coach.understanding.lookups import Lookup, Number, Wanted, read_lookup
from agent.coach.understanding.wishes import RemindWish, read_remind_wish
from agent.coach.understanding.words import plain_of

# ---------------------------------------------------------------- after something looked up

_ASKS_ON = re.compile(
    r"[\W_]*(?:(?:ok|oh|vale|bueno)[\s,]+)?(?:and|y|e|what about|how about|and what about|qu[eé] tal|y qu[eé] tal)\b"
    r"(?P<rest>[^?\n]{1,60})\??\W*$",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"\b(?:what about|how about|qu[eé] tal)\b", re.IGNORECASE)
_HOURS = re.compile(r"(?:para |los |las |to |until |till )*(\d{1,6})(?: ?(?:h|hours?|horas?))?")
_NAMED_SO = re.compile(
    r"(?:(?:for|of|in|on|about|with|de|en|del|con|el|la|the|my|mi|so far|what about)\s+)*", re.IGNORECASE
)
_PERIODS = (
    (re.compile(r"\bla (?:pasada|anterior)\b|^\W*(?:the )?(?:last|previous) one\W*$|\bthe week before\b"), "last week"),
    (re.compile(r"\bel (?:pasado|anterior)\b|\bthe month before\b"), "last month"),
)


def ask_on(text: str, asked: Lookup | None, names: Sequence[str], now: datetime, language: str) -> Task | None:
    """As "and running?", "and last week?": the same number or entries, of another skill or of other days."""
    follow = _ASKS_ON.match(text) if len(text) <= MAX_CHARS else None
    if follow is not None and "?" not in text and _ABOUT.search(text) is None:
        follow = None
    if follow is None or asked is None or asked.wanted not in (Wanted.NUMBER, Wanted.ENTRIES):
        return None
    rest = plain_of(follow["rest"].strip().casefold())
    rest = next((period for words, period in _PERIODS if words.search(rest)), rest)
    rest = rest[_NAMED_SO.match(rest).end() :]  # type: ignore[union-attr]  # it matches nothing, too
    if asked.number is Number.REACH:
        hours = _HOURS.fullmatch(rest)
        return None if hours is None else Task(Act.NUMBER, text, lookup=replace(asked, minutes=60 * int(hours[1])))
    month = f"in {rest}" if len(rest.split()) == 1 else rest
    found = read_lookup(f"how much did i do of {rest} {month}", names, now, language)
    if found is None or (found.skill is None and found.since is None and found.number == asked.number):
        return None
    skill = found.skill or asked.skill
    base = asked if found.skill is not None and found.since is None else found  # of another skill, else of other days
    wanted = replace(base, skill=skill, unknown="" if skill else asked.unknown, number=base.number or asked.number)
    return Task(Act.NUMBER if wanted.wanted is Wanted.NUMBER else Act.ENTRIES, text, lookup=wanted)


# ---------------------------------------------------------------- after a goal or a reminder

_RATHER = re.compile(
    r"(?P<before>\b\d{1,2}(?:[:.]\d\d)? ?(?:am|pm|h)?) (?:is better|would be better|suits me better|es mejor|mejor)\b"
    r"|\b(?:(?:make it|make that|mejor|better|rather|instead|let['’]s say|say|digamos|que sean?|actually|no"
    r"|pon(?:lo|la|le)?|change it to|c[aá]mbial[oa] a|only|solo)\b[\s,:]*)+(?:(?:at|to|a|las|la|just|only|solo)\s+)*"
    r"(?P<right>[^.;!?\n]{1,40})",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\W*(?P<number>\d{1,3})\b")
_DAY_SAID = re.compile(r"\b(?:today|tonight|tomorrow|hoy|ma[nñ]ana)\b", re.IGNORECASE)


def change_goal(text: str, asked: Task) -> Task | None:
    """As "make it 2": the goal that was asked about or set, with another time; it is asked about."""
    rather = _RATHER.search(text) if len(text) <= MAX_CHARS and "?" not in text else None
    if rather is None or asked.meant is None or not rather["right"]:
        return None
    said, bare = find_duration(rather["right"]), _NUMBER.match(rather["right"])
    minutes = None if said is None else said.minutes
    right = Fragment(minutes=minutes, number=bare and int(bare["number"]))
    minutes = right.minutes_beside(asked.meant_minutes)
    if minutes is None:
        return None
    meant = replace(asked.meant, minutes=minutes)
    act = Act.ASK_SKILL_GOAL if meant.skill else Act.ASK_GOAL
    return replace(asked, act=act, text=text, meant=meant, confirmed=False)


def change_reminder(text: str, asked: RemindWish, now: datetime) -> Task | None:
    """As "make it half past nine": the reminder that was just set, at another time."""
    if len(text) > MAX_CHARS or "?" in text:
        return None
    for rather in _RATHER.finditer(text):
        wish = read_remind_wish(f"remind me at {rather['right'] or rather['before']}", now)
        if wish is None or wish.about:
            continue
        if not wish.weekdays and _DAY_SAID.search(text) is None:
            wish = replace(wish, weekdays=asked.weekdays, day=asked.day)
        return Task(Act.MOVE_REMINDER, text, reminder=replace(wish, about=asked.about), moved=asked)
    return None
