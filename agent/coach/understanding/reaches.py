"""Says what the other clauses of a message make of an entry: a joke, a condition, somebody else's, a plan. Pure.

What a clause does to its own amounts is `clauses`'. Most of what is said beside an entry does nothing to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.coach.understanding.clauses import DAYS, Clause
from agent.coach.understanding.entries import Candidate
from agent.coach.understanding.retractions import take_back
from agent.coach.understanding.tables import Twist, WordRole

_OF_SENTENCE = frozenset({Twist.REPORTED, Twist.HYPOTHETICAL})
_OF_LABEL = frozenset(
    {
        Twist.NEGATED, Twist.WISH, Twist.FUTURE, Twist.GOAL, Twist.HABIT, Twist.OTHERS, Twist.LASTS, Twist.REMINDER,
        Twist.DOUBT, Twist.COMMAND,
    }
)  # fmt: skip
"""What reaches from a clause into the log book's lines behind it: "tomorrow: ...", "my son: ..."."""

_BEHIND = (_OF_LABEL | _OF_SENTENCE) - {Twist.LASTS, Twist.OTHERS}
"""What takes an entry back where it is all that a clause behind says: "..., not really", "..., tomorrow"."""

_HIDDEN_SUBJECT = frozenset({Twist.WISH, Twist.FUTURE, Twist.HYPOTHETICAL})
_APART = frozenset(["into", "from", "than", "until", "till", "to", "hasta", "desde", "without", "sin"])
_TOMORROW = frozenset({"tomorrow", "tmrw", "tmr", "manana"})
_BETTER = frozenset({"more", "longer", "better", "mas", "mejor"})
_TOTALS = frozenset(["was", "were", "is", "it", "it's", "that", "this", "total", "esto", "eso", "esta", "es"])
_MEANS = frozenset({"mean", "digo"})
_WAS = frozenset({"was", "fue", "era", "it was", "that was"})
_IS = frozenset(["is", "are", "am", "was", "were", "es", "son", "esta", "estan", "estoy", "hay", "fue"])
_OCCASIONS = frozenset([
    "rehearsal", "rehearsals", "class", "lesson", "workshop", "camp", "masterclass", "ride", "band", "orchestra",
    "choir", "session", "club", "ensayo", "ensayos", "clase", "taller", "orquesta", "banda", "coro",
])  # fmt: skip
"""At which one practises: "orchestra rehearsal, 90 minutes of violin"."""

_HEADINGS = frozenset([
    "confession", "status", "fact", "result", "results", "progress", "day", "week", "news", "summary", "recap", "win",
    "entry", "diary", "journal", "achievement", "checkin", "check", "note", "confesion", "estado", "resumen", "avance",
    "avances", "progreso", "logro", "resultado", "diario", "noticia", "parte", "nota",
])  # fmt: skip
"""What a report begins with: "progress: I practised ..."."""

_AGREED = frozenset({"deal", "venga", "trato", "fine", "promise", "dale"})
_BEING = frozenset({"i'm", "im"})
_HAD_TO = frozenset({"had", "had to", "tuve", "tuve que", "went", "fui", "me fui a"})
_SAYS_SO = (["sure"], ["claro"], ["seguro"], ["right"])  # "3 hours of guitar, sure"
_STRETCHES = frozenset(["day", "week", "start", "dia", "semana", "comienzo", "inicio"])
LEAST = 5
"""A smaller number without a unit, behind an entry, counts something else: "and one song"."""

_REQUEST = "can you"


def find_reach(clauses: Sequence[Clause], entry: Candidate) -> Twist | None:
    """What another clause, or the whole sentence, makes of an entry."""
    for at, clause in enumerate(clauses):
        if entry.first <= at <= entry.last:
            found = Twist.QUESTION if clause.is_asked and not _is_request(clause) else None
        elif any(twist is Twist.JOKE for twist in clause.twists):
            found = Twist.JOKE
        elif _commands(clause):
            found = Twist.COMMAND
        elif (found := take_back(clause.said, clause.twists)) is not None:
            return found
        elif at < entry.first:
            found = _reach_forward(_Before(clauses, at, entry))
        else:
            found = _reach_back(clauses, at, entry)
        if found is not None:
            return found
    return Twist.LASTS if _is_apart(clauses[entry.first], entry) else None


def _is_request(clause: Clause) -> bool:
    """As "can you log ...?"."""
    return clause.has(WordRole.LOG) and any(chunk.plain == _REQUEST for chunk in clause.chunks)


def _is_apart(clause: Clause, entry: Candidate) -> bool:
    """As "20 minutes from the piano", "45 minutes until guitar": a distance."""
    between = [chunk for chunk in clause.chunks if entry.amount.end <= chunk.start < entry.skill.start]
    put = clause.verb is not None and clause.chunks[clause.verb].role is WordRole.FITTED
    logged = clause.chunks[0].role is WordRole.LOG  # "add 1 hour to rust"
    return any(
        chunk.plain in _APART and not (put and chunk.plain == "into") and not (logged and chunk.plain == "to")
        for chunk in between
    )


def _commands(clause: Clause) -> bool:
    """As "delete ...", "please ignore ..."."""
    said = [chunk for chunk in clause.chunks if chunk.role is not WordRole.OPENING]
    return bool(said) and said[0].twist is Twist.COMMAND


def _first(twists: set[Twist] | frozenset[Twist]) -> Twist | None:
    return next((twist for twist in Twist if twist in twists), None)


# ---------------------------------------------------------------- from a clause before


@dataclass(frozen=True, slots=True)
class _Before:
    """A clause before an entry."""

    clauses: Sequence[Clause]
    at: int
    entry: Candidate

    @property
    def clause(self) -> Clause:
        return self.clauses[self.at]

    @property
    def own(self) -> Clause:
        return self.clauses[self.entry.first]

    @property
    def is_next(self) -> bool:
        return self.at == self.entry.first - 1

    @property
    def is_same(self) -> bool:
        """Whether it is of the same sentence."""
        return self.clause.sentence == self.own.sentence

    @property
    def is_freed(self) -> bool:
        """Whether a "but" or a "so" stands between."""
        return any(each.mark is WordRole.BUT for each in self.clauses[self.at + 1 : self.entry.first + 1])


def _reach_forward(before: _Before) -> Twist | None:
    """What a clause before an entry makes of it."""
    clause, entry = before.clause, before.entry
    if not before.is_freed:
        asked = Twist.QUESTION if clause.chunks[0].twist is Twist.QUESTION else None
        found = _first(clause.twists & _OF_SENTENCE) or asked
        if before.is_same and found is not None:
            return found
        if Twist.DOUBT in clause.twists and (before.is_same or clause.is_fragment):
            return Twist.DOUBT
    if before.is_next and before.is_same and _is_of_unread_day(before.clauses, before.at):
        return Twist.DOUBT
    if entry.has_subject:
        return _reach_labelled(before)
    if entry.is_said and (found := _reach_labelled(before)) is not None:
        return found
    if entry.is_said and not (before.is_same and clause.is_fragment and before.own.is_listed):
        return None if clause.amounts and before.is_freed else _reach_elided(before)
    return None if before.is_freed else _reach_terse(before)


def _is_of_unread_day(clauses: Sequence[Clause], at: int) -> bool:
    """As "10/11: guitar 30 min", "mon-wed: ...": of a day that cannot be told, or of more than one."""
    clause, first = clauses[at], clauses[at - 1] if at else clauses[at]
    days = clause.days + (first.days if clause.mark is WordRole.AND and first.is_fragment else [])
    dates = clause.has(WordRole.DAY_UNREAD) or clause.chunks[0].role is WordRole.NUMBER or len(days) > 1
    return dates and clause.is_fragment and clause.verb is None


def _reach_labelled(before: _Before) -> Twist | None:
    """As "my sister: I practised ...", "plan: I ...": what is said may be quoted, or no more than meant."""
    clause = before.clause
    if not (before.is_next and before.is_same and before.own.is_listed) or clause.verb is not None or clause.amounts:
        return None
    if clause.has(WordRole.SUBJECT):
        return None  # "I quite forgot: ..."
    names = [chunk for chunk in clause.chunks if chunk.role is WordRole.CONTENT]
    unknown = bool(names) and not clause.days and len(clause.chunks) <= 2 and names[0].plain not in _HEADINGS
    return Twist.DOUBT if clause.twists & (_OF_LABEL | _OF_SENTENCE) or unknown else None


def _reach_elided(before: _Before) -> Twist | None:
    """As "my son had a test. Did ...", "Tom was sick so did ...", "I'd have gone home and played": whose verb is it?"""
    clause, near = before.clause, before.is_same and not before.is_freed
    if not clause.has_subject and (before.is_next or near):
        named = before.is_next and before.is_same and clause.chunks[0].role is WordRole.CONTENT
        if Twist.OTHERS in clause.twists or (named and any(chunk.twist is not None for chunk in clause.chunks[1:2])):
            return Twist.OTHERS
    joined = near and before.own.mark is WordRole.AND
    return _first(clause.twists & _HIDDEN_SUBJECT) if joined else None


def _reach_terse(before: _Before) -> Twist | None:
    """As "tomorrow: ...", "my son: ...", "Anna: ..."."""
    clause, same = before.clause, before.is_same
    if clause.is_fragment and _is_of_another_day(clause, before.own):
        return None
    found = _first(clause.twists & _OF_LABEL)
    turned = {chunk.plain for chunk in clause.chunks if chunk.twist is not None}
    if same and before.own.skills and before.own.amounts and turned and turned <= _OCCASIONS and not clause.amounts:
        return None
    if before.own.has(WordRole.DONE) and clause.verb is None and found in (Twist.OTHERS, Twist.LASTS):
        return None  # "the kids are in bed, 30 min of crochet done"
    if same or (clause.is_fragment and not clause.amounts) or found is None:
        return found or (Twist.DOUBT if same and before.is_next and _is_label(before) else None)
    if any(chunk.plain in _IS for chunk in clause.chunks[1:]):
        return None  # "fingers are killing me. 70 minutes of guitar"
    aside = clause.twists & {Twist.OTHERS, Twist.LASTS}
    return _first(aside) if before.is_next and not before.own.has(WordRole.DONE) else None


def _is_label(before: _Before) -> bool:
    """As "Anna: ...", "from Anna: ...": it may name whose the line is."""
    clause = before.clause
    names = [chunk for chunk in clause.chunks if chunk.role in (WordRole.CONTENT, WordRole.OTHER)]
    if any(chunk.plain in _STRETCHES for chunk in names):
        return False  # "A slow day: ten minutes of ukulele"
    if not names or clause.skills or clause.amounts or clause.verb is not None:
        return False
    own = before.clauses[before.at + 1]
    dated = clause.has(WordRole.DAY) or own.has(WordRole.DAY)
    if dated and not names[0].is_capital and not own.is_listed and names[0].plain not in _AGREED:
        return False  # "fierro, 1 hr de boxeo hoy"
    short = (
        len(names) <= 2 and not clause.days and clause.chunks[0].role is not WordRole.OF and "'" not in names[0].plain
    )
    dated = clause.has(WordRole.DAY) and clause.chunks[0] is names[0]  # "resumen de hoy: ..."
    return short or (before.clauses[before.at + 1].is_listed and not dated)


# ---------------------------------------------------------------- from a clause behind


def _reach_back(clauses: Sequence[Clause], at: int, entry: Candidate) -> Twist | None:
    """What a clause behind an entry makes of it."""
    clause, own = clauses[at], clauses[entry.last]
    twists, soft = clause.twists, clause.twists & {Twist.HYPOTHETICAL, Twist.DOUBT}
    doubts = not clause.skills or (clause.chunks[0].twist is Twist.DOUBT and not clause.amounts)
    if clause.sentence == own.sentence and soft and doubts and not _is_of_others(clause):
        return _first(soft)
    regrets = any(chunk.plain in _BETTER for chunk in clause.chunks)  # "..., should have done more"
    if (
        clause.is_fragment
        and not clause.has(WordRole.OPENING)
        and not regrets
        and not _is_of_its_own(clauses, at, entry)
    ):
        put_off = len(clause.chunks) > 1 and own.has(WordRole.DAY)
        more = clause.mark is WordRole.AND and clause.has(
            WordRole.NUMBER
        )  # "... today, and I'll do another 30 tonight"
        put_off = put_off and (
            more or any(chunk.plain in _TOMORROW for chunk in clause.chunks)
        )  # "... today, more tomorrow"
        found = _first((twists - {Twist.FUTURE} if put_off else twists) & _BEHIND)
        if found is not None or _says_who(clause, entry):
            return found or Twist.OTHERS
    if clause.is_aside and Twist.FUTURE in twists:
        return Twist.FUTURE
    denied = Twist.NEGATED in twists and not clause.amounts
    if denied and entry.skill.skill in {chunk.skill for chunk in clause.skills}:
        return Twist.NEGATED
    return Twist.DOUBT if _is_odd(clause, own, entry, is_next=at == entry.last + 1) else None


def _is_of_its_own(clauses: Sequence[Clause], at: int, entry: Candidate) -> bool:
    """As "theory nothing today", "Python: none": what is denied is named before."""
    clause, before = clauses[at], clauses[at - 1]
    if entry.last < at - 1 and clause.is_listed and before.skills and not before.amounts:
        return True
    if _is_of_another_day(clause, clauses[entry.first]):
        return True
    about = clause.chunks[0].twist in (Twist.UNCLEAR, Twist.LASTS) and clause.chunks[0].plain not in _TOTALS
    return about and len(clause.chunks) > 1 and clause.chunks[1].twist is Twist.NEGATED


def _is_of_another_day(clause: Clause, own: Clause) -> bool:
    """As "Monday 30 min of guitar, Tuesday nothing": each of its own day."""
    named, owned = ({chunk.day.day for chunk in each.days if chunk.day is not None} for each in (clause, own))
    return bool(named and owned) and named.isdisjoint(owned) and clause.chunks[0].day is not None


def _is_of_others(clause: Clause) -> bool:
    """As "neighbours probably think ...": what others do, or may do, says nothing of it."""
    return clause.chunks[0].twist is Twist.OTHERS and not clause.is_fragment


def _is_odd(clause: Clause, own: Clause, entry: Candidate, *, is_next: bool) -> bool:
    """As "... right?", "..., sure", "30 min guitar then bed", "... and cello"."""
    asked = (
        clause.is_asked
        and not (_is_request(own) and clause.sentence == own.sentence)
        and (clause.is_fragment or bool(clause.amounts) or clause.has(WordRole.NUMBER))
    )
    planned = clause.mark is WordRole.THEN and not clause.amounts and not entry.is_said
    planned = planned and not own.days and not own.has(WordRole.DONE)
    planned = planned and _HAD_TO.isdisjoint(chunk.plain for chunk in clause.chunks)  # "then I had to go"
    says_so = [chunk.plain for chunk in clause.chunks] in _SAYS_SO
    numbers = {
        chunk.minutes
        for number, chunk in enumerate(clause.chunks)
        if chunk.role is WordRole.NUMBER
        and chunk.minutes >= LEAST
        and not any(each.role is WordRole.PRACTICE for each in clause.chunks[number + 1 : number + 2])  # "60 lengths"
    }
    again = clause.mark in (WordRole.AND, WordRole.THEN)  # "and 15 after"
    corrects = (
        clause.is_fragment
        and bool(numbers - (set() if again else {entry.amount.minutes}))
        and Twist.OTHERS not in clause.twists
    )
    says_more = bool(numbers or clause.amounts or clause.skills) or clause.has(WordRole.CONTENT)
    corrects = corrects or (says_more and any(chunk.plain in _MEANS for chunk in clause.chunks))
    return asked or planned or says_so or corrects or (is_next and _is_more(clause, own, entry))


def _says_who(clause: Clause, entry: Candidate) -> bool:
    """As "..., my son", "..., that was my brother", "..., my son did it"; "my son slept" says nothing of it."""
    if Twist.OTHERS not in clause.twists or clause.is_aside:
        return False
    was = any(chunk.plain in _WAS for chunk in clause.chunks)
    does = clause.has(WordRole.DID, WordRole.PRACTISED)
    return was or (not entry.is_said and (does or clause.twists <= {Twist.OTHERS, Twist.SELF}))


def _is_more(clause: Clause, own: Clause, entry: Candidate) -> bool:
    """As "and cello", "and sunday": one more skill or day, of which nobody knows how long."""
    last = own.chunks[-1].role
    hangs = last is not WordRole.CONTENT and (not entry.is_said or last in DAYS | {WordRole.SKILL})
    said = [chunk for chunk in clause.chunks if chunk.role not in (WordRole.THE, WordRole.OF, WordRole.ADVERB)]
    names = len(said) == 1 and said[0].role in DAYS | {WordRole.CONTENT}
    names = names and clause.chunks[0].plain not in _BEING  # "and I'm proud"
    return clause.mark is WordRole.AND and hangs and names
