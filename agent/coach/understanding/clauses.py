"""Cuts a message into clauses, and finds what in one keeps it from being one's own past practice. Pure.

What a clause turns into something else it turns for itself; how far it reaches into the others is `evidence`'s.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from agent.coach.understanding.entries import Chunk
from agent.coach.understanding.tables import Twist, WordRole

AMOUNTS = frozenset({WordRole.AMOUNT, WordRole.AMOUNT_SHORT, WordRole.AMOUNT_CLOCK})
SKILLS = frozenset({WordRole.SKILL, WordRole.ACT, WordRole.ACTING})
DAYS = frozenset({WordRole.DAY, WordRole.DAY_EITHER})
VERBS = frozenset(WordRole(letter) for letter in "Vvgko")
"""That tell of something done; the Spanish ones say by whom."""

_PAUSES = frozenset(WordRole(letter) for letter in ",.cCB?")
_ENDS_SENTENCE = frozenset({WordRole.STOP, WordRole.QUESTION})
_SUBJECTS = frozenset({WordRole.SUBJECT, WordRole.I_HAVE})
_PREPOSITIONS = frozenset({WordRole.OF, WordRole.IN})
_SAYS_LITTLE = frozenset(WordRole(letter) for letter in "JOYyKFTPpi,LoH")
"""Roles that neither name a subject nor say what was done."""

SOFT = frozenset({Twist.DOUBT, Twist.UNCLEAR})
"""What may be no practice, or may: it is asked about."""

_PRONOUNS = frozenset({"he", "she", "we", "you", "they", "el", "ella", "ellos", "ellas", "tu", "usted"})
_POSSESSIVE = frozenset({"of", "de", "del", "by"})
_THAT = frozenset({"que", "q"})
_NO_PLACE = frozenset({"of", "de", "del", "to", "a", "al", "from", "than", "until", "d"})
_FOR = frozenset({"for", "para"})
_LESSONS = frozenset([
    "taller", "workshop",
    "class", "lesson", "clase", "leccion", "solos", "solo", "songs", "song", "pieces", "piece", "games", "matches",
    "partidas"
])  # fmt: skip
"""What one did of a skill may have been practice: it is asked about."""

_TOOK = frozenset({"took", "llevo", "llevaron", "tomo"})
_INSTEAD = frozenset({"instead"})
_USUAL = frozenset({"daily", "diario", "diaria", "diarios", "diarias", "weekly", "semanal"})
_IN_FRONT = frozenset({"in front of", "frente a", "frente al", "delante de", "enfrente de"})
_WITH = frozenset({"with", "w", "w /", "con", "from", "using", "via"})
_WHERE = frozenset(["on", "at", "in", "during", "en", "durante"])
_WAS_THERE = frozenset([
    "i was", "i was out", "i was busy", "i was at home", "went", "estuve", "yo estuve", "he estado", "fui a",
    "me fui a", "estuve en", "anduve en"
])  # fmt: skip
_PLACES = frozenset([
    "walk", "commute", "drive", "paseo", "camino",
    "train", "bus", "app", "flight", "ride", "journey", "trip", "break", "lesson", "class", "camp", "tren", "autobus",
    "vuelo", "viaje", "pausa", "descanso", "clase"
])  # fmt: skip
_BEGINS_SENTENCE = frozenset(["my", "the", "it", "that", "this", "mi", "mis", "el", "la", "los", "las", "eso", "esto"])
_IS = frozenset(["is", "are", "was", "were", "feel", "feels", "hurt", "hurts", "es", "son", "esta", "estan", "estaba"])
MAX_SUBJECT = 5
"""Chunks in which a sentence of its own shows: "my left hand is ..."."""

_GROUPS = frozenset(["choir", "band", "orchestra", "class", "group", "coro", "banda", "orquesta", "clase", "grupo"])
_TURNS_BACK = frozenset({"fewer", "less", "than", "under", "among", "when", "cuando", "was", "were", "lasted", "lasts"})
_TOLD = frozenset({Twist.WISH, Twist.GOAL, Twist.UNCLEAR, Twist.QUESTION, Twist.OTHERS, Twist.LASTS})
_BESIDE = frozenset({Twist.OTHERS, Twist.SELF, Twist.UNCLEAR, Twist.LASTS, Twist.QUESTION})
"""What may be spoken of behind "in", "with" or "while", where only more is told."""


@dataclass(frozen=True)
class Clause:
    """A stretch of a message between two pauses."""

    chunks: tuple[Chunk, ...]
    mark: WordRole | None  # the pause before it
    sentence: int  # its number
    is_asked: bool
    is_quoted: bool  # an amount or a skill stands in quotes
    is_aside: bool = False  # begins with "while", "before", "after"
    is_listed: bool = False  # a colon stands before it

    @cached_property
    def amounts(self) -> list[Chunk]:
        """Its durations."""
        return [chunk for chunk in self.chunks if chunk.role in AMOUNTS]

    @cached_property
    def skills(self) -> list[Chunk]:
        """The skills it names, each once."""
        named = {chunk.skill: chunk for chunk in reversed(self.chunks) if chunk.role is WordRole.SKILL}
        done = {chunk.skill: chunk for chunk in reversed(self.chunks) if chunk.role in SKILLS}
        return sorted((named or done).values(), key=lambda chunk: chunk.start)

    @cached_property
    def is_cut(self) -> bool:
        """Whether a part of an amount stands beside it that was not read: "two hours and a third"."""
        return any(chunk.role is WordRole.AMOUNT_VAGUE and chunk.twist is not None for chunk in self.chunks)

    @cached_property
    def said(self) -> str:
        """Its words, plain."""
        return " ".join(chunk.plain for chunk in self.chunks)

    @cached_property
    def days(self) -> list[Chunk]:
        """The days it names."""
        return [chunk for chunk in self.chunks if chunk.day is not None]

    @cached_property
    def twists(self) -> set[Twist]:
        """What its words turn it into."""
        return {chunk.twist for chunk in self.chunks if chunk.twist is not None}

    def has(self, *roles: WordRole) -> bool:
        """Whether one of its chunks has one of these roles."""
        return any(chunk.role in roles for chunk in self.chunks)

    @cached_property
    def is_fragment(self) -> bool:
        """Whether it names nothing: no skill, amount or content."""
        return not self.has(WordRole.CONTENT, *AMOUNTS, *SKILLS)

    @cached_property
    def is_bare(self) -> bool:
        """Whether it holds an amount, a skill or a day, and nothing else that says something but where it was."""
        return all(
            chunk.role in _SAYS_LITTLE | AMOUNTS | SKILLS | DAYS
            or (chunk.role is WordRole.CONTENT and self.is_place(at))
            for at, chunk in enumerate(self.chunks)
        )

    def is_place(self, at: int) -> bool:
        """Whether a word only tells where: "at the bench"."""
        passed = (WordRole.THE, WordRole.CONTENT, WordRole.ADVERB)
        before = [chunk for chunk in self.chunks[:at] if chunk.role not in passed]
        return bool(before) and before[-1].role in _PREPOSITIONS and before[-1].plain not in _NO_PLACE

    def may_be_doing(self, at: int) -> bool:
        """Whether a word of no table is, by its ending, a verb: something else may have been done."""
        chunk = self.chunks[at]
        if chunk.role is WordRole.OTHER:
            return chunk.twist is not Twist.SELF
        if chunk.role is not WordRole.CONTENT or self.is_place(at):
            return False
        return chunk.is_doing or chunk.is_first_person

    @cached_property
    def verb(self) -> int | None:
        """Where it says what its speaker did: "I", then a verb; a verb of the first person; or a verb at its head."""
        subject = None
        for at, chunk in enumerate(self.chunks):
            if chunk.role in _SUBJECTS:
                subject = at
            elif chunk.twist in (Twist.OTHERS, Twist.LASTS) and subject is None and not self._is_beside(at):
                return None
            elif chunk.role in VERBS and not self._is_open(at):
                head = all(each.role in _SAYS_LITTLE for each in self.chunks[:at]) or self.is_led(at)
                own = chunk.is_first_person and chunk.role is not WordRole.DONE
                return at if subject is not None or own or head else None
        return None

    @cached_property
    def has_subject(self) -> bool:
        """Whether it says itself that it is the speaker who did it."""
        at = self.verb
        return at is not None and (
            self.chunks[at].is_first_person or any(chunk.role in _SUBJECTS for chunk in self.chunks[:at])
        )

    def _is_open(self, at: int) -> bool:
        """Whether a verb needs a word that is not there: "got ... in", "done ..."."""
        role, behind = self.chunks[at].role, self.chunks[at + 1 :]
        if role is WordRole.FITTED:
            ends = [place for place, chunk in enumerate(behind, 1) if chunk.role in (WordRole.IN, WordRole.DONE)]
            placed = any(
                chunk.role in (WordRole.THE, WordRole.CONTENT) for end in ends for chunk in behind[end : end + 1]
            )
            return not any(chunk.plain == "into" for chunk in behind) and (not ends or placed)
        return role is WordRole.DONE and not any(chunk.role in AMOUNTS | {WordRole.GERUND} for chunk in behind)

    def _is_beside(self, at: int) -> bool:
        return self.is_led(at) and self.chunks[at].plain not in _PRONOUNS

    def _is_more(self, at: int, last: int) -> bool:
        """Whether a word that may turn a clause only tells more: where it was, what with, what came of it."""
        before = [chunk.plain for chunk in self.chunks[max(0, at - 2) : at]]
        beside = not _IN_FRONT.isdisjoint(before) or self._is_told(at, last) or self.is_there(at)
        beside = beside or (self.chunks[at].twist is Twist.LASTS and self.is_with(at, last))
        return beside or (self.chunks[at].plain in _USUAL and self.verb is not None and self.verb < at)

    def _is_told(self, at: int, last: int) -> bool:
        """Whether it is only told behind a whole statement: "I did 40 minutes of guitar nothing fancy"."""
        chunk, rest = self.chunks[at], self.chunks[at + 1 :]
        said = self.has_subject or (self.verb is not None and chunk.plain in _INSTEAD)
        if not (said and 0 <= (self.verb or 0) < last < at and self.amounts and self.skills):
            return False
        if chunk.plain in _INSTEAD and not rest:
            return True  # "skipped the swim, did 20 minutes of stretching instead"
        if chunk.twist is Twist.NEGATED:
            return any(each.role not in (WordRole.ADVERB, WordRole.OPENING) for each in rest)
        apart = at > last + 1 or self.chunks[last].role not in SKILLS  # "guitar lessons" are none
        apart = apart or chunk.plain.endswith(("ando", "iendo"))  # "con el vocabulario esperando el bus"
        return chunk.twist in _TOLD and apart and chunk.plain not in _TURNS_BACK and not self._is_whose(at)

    def is_with(self, at: int, last: int) -> bool:
        """As "with a podcast", "con un video de youtube": behind all, or behind a verb of one's own and its skill."""
        skill = next((place for place, chunk in enumerate(self.chunks) if chunk.role in SKILLS), len(self.chunks))
        if not (at > last >= 0 or (self.verb is not None and self.verb <= skill < at)):
            return False
        passed = (WordRole.THE, WordRole.ADVERB, WordRole.CONTENT)
        for chunk in reversed(self.chunks[:at]):
            if chunk.plain in _WITH:
                return True
            if chunk.role not in passed and chunk.twist is not Twist.LASTS and chunk.plain not in _POSSESSIVE:
                return False
        return False

    def is_there(self, at: int) -> bool:
        """As "on the train", "with my brother": where it was, beside a verb of the speaker's own."""
        before = [chunk for chunk in self.chunks[:at] if chunk.role is not WordRole.THE][-1:]
        verb = self.verb
        if verb is None and before and self.amounts and self.skills and self.chunks[at].plain in _PLACES:
            core = [place for place, chunk in enumerate(self.chunks) if chunk.role in AMOUNTS | SKILLS]
            first = self.chunks[core[0]].role in SKILLS  # "Spanish on the bus for 25 minutes"
            return (core[0] if first else core[-1]) < at and before[0].plain in _WHERE
        if verb is None or verb > at or not before:
            return False
        if self.chunks[at].twist is Twist.OTHERS and not (self.chunks[at].plain in _GROUPS and self.has_subject):
            return before[0].plain in _WITH
        if self.chunks[at].plain not in _PLACES | _GROUPS:
            return False
        return before[0].plain in _WHERE and self.chunks[verb].plain not in _WAS_THERE

    def _is_whose(self, at: int) -> bool:
        """As "for my son", "of the neighbour's": whose it was."""
        before = [chunk for chunk in self.chunks[:at] if chunk.role is not WordRole.THE][-2:]
        of = len(before) == 2 and before[0].role in SKILLS | AMOUNTS and before[1].plain in _POSSESSIVE
        return of or (bool(before) and before[-1].plain in _FOR)

    @cached_property
    def _did(self) -> int:
        """Where a verb of the speaker's own stands, whatever is spoken of behind it; -1 where none does."""
        return next((at for at, chunk in enumerate(self.chunks) if chunk.role is WordRole.DID), -1)

    def _took_me(self, at: int) -> bool:
        """As "French homework took me 50 minutes": of a skill that is named before."""
        named = any(chunk.role is WordRole.SKILL for chunk in self.chunks[:at])
        beside = (*self.chunks[at - 1 : at], *self.chunks[at + 1 : at + 2]) if at else ()
        return named and self.chunks[at].plain in _TOOK and any(chunk.plain == "me" for chunk in beside)

    def _names(self, at: int) -> bool:
        """As "clase de boxeo"."""
        return [chunk.role for chunk in self.chunks[at + 1 : at + 3]] == [WordRole.OF, WordRole.SKILL]

    def is_led(self, at: int) -> bool:
        """Whether the words before only tell where and when: "on the bus", "at my sister's"."""
        words = [chunk for chunk in self.chunks[:at] if chunk.role not in (WordRole.ADVERB, WordRole.OPENING)]
        lead = next((chunk for chunk in words if chunk.role not in DAYS | {WordRole.TIME, WordRole.COMMA}), None)
        return lead is not None and lead.role in _PREPOSITIONS

    @cached_property
    def block(self) -> Twist | None:
        """What its own words turn its amounts and skills into, other than one's own past practice."""
        if self.is_quoted:
            return Twist.REPORTED
        core = [at for at, chunk in enumerate(self.chunks) if chunk.role in AMOUNTS | SKILLS]
        last = core[-1] if core else -1
        subject = self.verb or 0
        released = False
        soft = None
        for at, chunk in enumerate(self.chunks):
            released = released or (at > last and chunk.role in _PREPOSITIONS)
            if chunk.twist in (None, Twist.SELF):
                continue
            beside = released or (at < subject and self.is_led(subject))
            beside = beside or (at > last >= 0 and self.has_subject and chunk.twist is Twist.OTHERS)
            beside = beside and (chunk.twist is not Twist.LASTS or self.verb is not None) and not self._is_whose(at)
            if not ((beside and chunk.twist in _BESIDE) or self._is_more(at, last)):
                lesson = chunk.plain in _LESSONS and (at == last + 1 or self._names(at))
                lesson = lesson and (0 <= self._did < at or self.has(WordRole.DAY))
                lesson = lesson or self._took_me(at)
                if chunk.twist not in SOFT and not lesson:
                    return chunk.twist
                soft = soft or (Twist.UNCLEAR if lesson else chunk.twist)
        return soft


def clauses_of(chunks: Sequence[Chunk]) -> list[Clause]:
    """The clauses of a message, in order; those that say nothing are left out."""
    asked = _asked_sentences(chunks)
    found: list[Clause] = []
    quoted = False
    for mark, sentence, aside, inside in _stretches(chunks):
        listed = bool(inside) and any(chunk.plain == ":" and chunk.end == inside[0].start for chunk in chunks)
        spoken_of = []
        for chunk in inside:
            quoted ^= chunk.role is WordRole.QUOTE
            spoken_of.append(quoted and chunk.role in AMOUNTS | SKILLS)
        said = tuple(chunk for chunk in inside if chunk.role is not WordRole.QUOTE)
        if said:
            is_echo = not found and len(said) == 1 and said[0].role is WordRole.SKILL  # "Korean? about 20 minutes"
            is_asked = sentence in asked and not is_echo
            found.append(Clause(said, mark, sentence, is_asked, any(spoken_of), aside, listed))
    return found


def _asked_sentences(chunks: Sequence[Chunk]) -> set[int]:
    asked, sentence, ended = set(), 0, False
    for chunk in chunks:
        if chunk.role is WordRole.QUESTION:
            asked.add(sentence if chunk.plain == "?" else sentence + 1)
        sentence += chunk.role in _ENDS_SENTENCE and not (ended and chunk.role is WordRole.STOP)
        ended = chunk.role in _ENDS_SENTENCE
    return asked


def _stretches(chunks: Sequence[Chunk]) -> Iterator[tuple[WordRole | None, int, bool, list[Chunk]]]:
    """The pause before a clause, its sentence, whether it only tells more, and its chunks."""
    mark: WordRole | None = None
    sentence, aside = 0, False
    inside: list[Chunk] = []
    ended = False  # the last chunk ended a sentence: "!!" ends one
    for at, chunk in enumerate(chunks):
        pause = chunk.role in _PAUSES
        begins_aside = chunk.role is WordRole.WHILE
        ends_aside = aside and bool(inside) and (chunk.role in _SUBJECTS or _is_own(chunk)) and not pause
        ends_line = (
            chunk.role not in _SAYS_LITTLE - {WordRole.THE} and bool(inside) and inside[-1].role is WordRole.DONE
        )
        ends_line = (
            ends_line
            and chunk.twist is not Twist.REPORTED
            and any(each.role in AMOUNTS for each in inside)
            and not pause
        )
        ends_line = ends_line or (_is_complete(inside) and _says_more(chunks[at : at + MAX_SUBJECT]))
        ends_line = ends_line or _begins_day(chunk, inside)
        complete = _is_complete(inside)
        if pause or begins_aside or ends_aside or ends_line:
            if inside:
                yield mark, sentence, aside, inside
                inside, mark = [], WordRole.COMMA if ends_line else None
            aside = begins_aside and not (chunk.plain in _THAT and complete)
            mark = _stronger(mark, chunk.role) if pause else (mark or WordRole.COMMA)
            sentence += chunk.role in _ENDS_SENTENCE and not (ended and chunk.role is WordRole.STOP)
        ended = chunk.role in _ENDS_SENTENCE
        if not pause and not begins_aside:
            inside.append(chunk)
    if inside:
        yield mark, sentence, aside, inside


def _says_more(ahead: Sequence[Chunk]) -> bool:
    """As "... it hurt", "... my fingers are dead": a sentence of its own behind a whole one, without a pause."""
    if not ahead or ahead[0].plain not in _BEGINS_SENTENCE:
        return ahead[:1] != [] and ahead[0].plain == "it"
    return any(chunk.plain in _IS for chunk in ahead[1:-1])


def _begins_day(chunk: Chunk, inside: Sequence[Chunk]) -> bool:
    """As the second of "mon 30 min tue 45 min", "30 min mon 45 min tue"."""
    days, amounts = ([each.start for each in inside if each.role in roles] for roles in (DAYS, AMOUNTS))
    if len(days) != 1 or len(amounts) != 1:
        return False
    if chunk.role in DAYS:
        return days < amounts and inside[-1].role in AMOUNTS
    return chunk.role in AMOUNTS and amounts < days and inside[-1].role in DAYS


def _is_complete(inside: Sequence[Chunk]) -> bool:
    roles = {chunk.role for chunk in inside}
    return WordRole.SKILL in roles and bool(roles & AMOUNTS)


def _is_own(chunk: Chunk) -> bool:
    return chunk.is_first_person and chunk.role in VERBS


def _stronger(mark: WordRole | None, new: WordRole) -> WordRole:
    """Of two pauses in a row the one that says more: ", but"."""
    if mark in (WordRole.STOP, WordRole.QUESTION, WordRole.BUT) and new in (
        WordRole.COMMA,
        WordRole.AND,
        WordRole.THEN,
    ):
        return mark
    return new
