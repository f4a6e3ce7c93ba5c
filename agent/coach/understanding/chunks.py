"""Puts words together to what they mean: amounts, days, skills, phrases, else one word; each with its role. Pure.

One walk through the message. Where the two languages disagree on a word, the language of the message decides.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent.coach.understanding.amounts import BEGINS_AMOUNT, read_amount, read_number
from agent.coach.understanding.clocks import BEGINS_CLOCK, read_clock, read_clock_range
from agent.coach.understanding.contexts import in_context
from agent.coach.understanding.days import BEGINS_DAY, read_day
from agent.coach.understanding.english import ENGLISH
from agent.coach.understanding.entries import Chunk
from agent.coach.understanding.repeats import add_up, leave_distances, read_times
from agent.coach.understanding.skills import KnownSkills, new_skill_of
from agent.coach.understanding.slips import mend_words
from agent.coach.understanding.spanish import SPANISH
from agent.coach.understanding.tables import LanguageTable, Twist, WordRole
from agent.coach.understanding.timings import cut_amounts
from agent.coach.understanding.words import Phrases, Word, phrase_end, phrases_by_first_word, plain_of

_MARKS = {
    **dict.fromkeys(",:;()-–—|[]*•·+_=→#", WordRole.COMMA),
    **dict.fromkeys(".!…", WordRole.STOP),
    **dict.fromkeys('"“”«»', WordRole.QUOTE),
    **dict.fromkeys("?¿", WordRole.QUESTION),
    "¡": WordRole.OPENING,
}
_AT = frozenset({"at", "@", "a", "las", "la", "around", "sobre", "until", "till", "til", "hasta"})
_UNTIL = frozenset({"until", "till", "til", "hasta"})
_COUNTED = frozenset([
    "minutes", "minute", "mins", "min", "m", "hours", "hour", "h", "minutos", "minuto", "horas", "hora", "dias",
    "days", "weeks"
])  # fmt: skip
_ADVERBS = ("ly", "mente", "arme", "erme", "irme")
"""Of words that no table has: "quietly", "tranquilamente", "(al) levantarme"."""

LEAST_ADVERB = 4
LEAST_VERB = 5
_SHALL = ("are", "ere", "ire")
_PAST_IN_R = frozenset([
    "compare", "prepare", "repare", "separe", "pare", "dispare", "mire", "tire", "gire", "retire", "estire", "respire",
    "suspire", "espere", "supere", "altere", "genere", "opere", "admire", "inspire"
])  # fmt: skip
_WOULD = ("rian", "riamos")
_DOING = (
    ("ing", "ed"),
    ("ando", "iendo", "yendo", "ar", "er", "ir", "aba", "aban", "amos", "imos", "aron", "ieron", "ale", "ele", "ame"),
)
"""The ends of words that may be verbs, in English and in Spanish."""

_DONE_BY_ENDING = frozenset({WordRole.DID, WordRole.PRACTISED})
_WE_DID = ("amos", "imos")
NEWLINE = "⏎"
"""Stands for the end of a line."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """One language's words and phrases, by how they are found."""

    roles: Mapping[str, WordRole]
    twists: Mapping[str, Twist]
    phrases: Phrases  # to places in `meanings`
    meanings: tuple[WordRole | Twist, ...]


def _doing(word: str, twist: Twist) -> Iterator[str]:
    """The gerunds of a verb of the past that is no practice: "explained", "lijé"."""
    if twist in (Twist.LASTS, Twist.UNCLEAR) and len(word) > LEAST_VERB and word != "parked":  # "parking" is a place
        yield from _gerunds(word)


def _gerunds(word: str) -> Iterator[str]:
    """Of a verb of the past: "strummed" is strumming, "rasgueé" rasgueando."""
    if word.endswith("ed"):
        yield from (f"{word[:-2]}ing", f"{word[:-3]}ing" if word[-3] == word[-4] else f"{word[:-2]}ing")
    elif word.endswith("é"):
        yield f"{word[:-1]}ando"
    elif word.endswith("í"):
        yield f"{word[:-1]}iendo"


def _lexicon(table: LanguageTable) -> Lexicon:
    roles = {word: WordRole(role) for role, words in table.roles.items() for word in words.split()}
    done = [word for word, role in roles.items() if role in _DONE_BY_ENDING and len(word) > LEAST_VERB]
    roles |= {doing: WordRole.GERUND for word in done for doing in _gerunds(word) if doing not in roles}
    twists = {word: Twist(twist) for twist, words in table.twists.items() for word in words.split()}
    twists |= {
        doing: twists[word] for word in tuple(twists) for doing in _doing(word, twists[word]) if doing not in roles
    }
    bare_roles = {plain_of(word): role for word, role in roles.items() if plain_of(word) not in twists}
    named = {plain_of(name) for name in table.acts} | {"duro"}  # "dibujo" is no "dibujó", "duro" no "duró"
    bare_twists = {
        plain_of(word): twist
        for word, twist in twists.items()
        if plain_of(word) not in bare_roles | roles.keys() | named
    }
    meanings: list[WordRole | Twist] = [WordRole(role) for role in table.phrases]
    meanings += [Twist(twist) for twist in table.twisted_phrases]
    phrases: dict[str, int] = {}
    for place, said in enumerate((*table.phrases.values(), *table.twisted_phrases.values())):
        phrases.update(dict.fromkeys(filter(None, said.split("; ")), place))
    return Lexicon({**bare_roles, **roles}, {**bare_twists, **twists}, phrases_by_first_word(phrases), tuple(meanings))


LEXICONS = {table.code: _lexicon(table) for table in (ENGLISH, SPANISH)}
_VAGUE_PHRASES = phrases_by_first_word(dict.fromkeys(f"{ENGLISH.vague}; {SPANISH.vague}".split("; "), 0))
_TIME_PHRASES = phrases_by_first_word(dict.fromkeys(f"{ENGLISH.times}; {SPANISH.times}".split("; "), 0))


_SHORT_WEEKDAYS = {"sat": "saturday", "sun": "sunday"}
_BEHIND_SHORT = frozenset({":", "arvo", "avo", "morning", "morn", "afternoon", "evening", "night"})
_BEGINS = (
    _SHORT_WEEKDAYS.keys()
    | BEGINS_AMOUNT
    | BEGINS_DAY
    | BEGINS_CLOCK
    | _VAGUE_PHRASES.keys()
    | _TIME_PHRASES.keys()
    | _AT
)
"""With any other word no time, amount or day begins."""


def language_of_words(words: Sequence[Word], default: str) -> str:
    """The language of which more words are in its table and in no other; the default where neither has more."""
    score = dict.fromkeys(LEXICONS, 0)
    for word in words:
        known = [
            code for code, lexicon in LEXICONS.items() if word.text in lexicon.roles or word.text in lexicon.twists
        ]
        if len(known) == 1 and word.is_name:
            score[known[0]] += 1
        if word.text in {"¿", "¡"} or "ñ" in word.text:
            score["es"] += 1
    best = max(score, key=lambda code: score[code])
    return best if list(score.values()).count(score[best]) == 1 else default


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Who says it, and when: data, never looked up."""

    now: datetime  # the person's own
    skills: KnownSkills
    language: str = "en"  # theirs, where the words tell none


def chunks_of(words: Sequence[Word], circumstances: Circumstances) -> list[Chunk]:
    """What the words mean, in order."""
    words = mend_words(words, circumstances.skills.words)
    reader = _ChunkReader(words, circumstances)
    found: list[Chunk] = []
    at = 0
    while at < len(words):
        chunk = reader.read(at)
        said = words[at].plain if chunk.end == at + 1 else " ".join([word.plain for word in words[at : chunk.end]])
        object.__setattr__(chunk, "plain", said)  # just made, and nobody else's yet
        object.__setattr__(chunk, "is_capital", words[at].is_capital)
        at = chunk.end
        found.append(chunk)
    read_times(found)
    leave_distances(found)
    add_up(found)
    cut_amounts(found)
    return in_context(found)


class _ChunkReader:
    """Reads one chunk after the other."""

    def __init__(self, words: Sequence[Word], circumstances: Circumstances) -> None:
        self._words = words
        self._today = circumstances.now.date()
        self._skills = circumstances.skills
        first = language_of_words(words, circumstances.language)
        self._lexicons = [LEXICONS[first], *(lexicon for code, lexicon in LEXICONS.items() if code != first)]
        self._first_is_spanish = first == "es"

    def read(self, at: int) -> Chunk:
        """The chunk that begins here."""
        word = self._words[at]
        if not word.text[0].isalnum() and word.text[0] not in "½¼¾":
            return (self._time_of_day(at) if word.text == "@" else None) or self._mark(at)
        reads = (self._time, self._amount, self._day, self._skill, self._phrase)
        for read in reads if word.plain in _BEGINS or not word.is_name else reads[3:]:
            found = read(at)
            if found is not None:
                return found
        return self._word(at)

    def _mark(self, at: int) -> Chunk:
        text = self._words[at].text
        slash = (
            text == "/" and at > 0 and self._words[at - 1].text == "w" and self._words[at].follows(self._words[at - 1])
        )
        if slash or (text == "-" and self._is_glued(at)):  # "w/ friends", "half-hour"
            return Chunk(WordRole.ADVERB, at, at + 1)
        if text == "." and self._is_glued(at) and self._words[at + 1].is_name:
            return Chunk(WordRole.CONTENT, at, at + 1)
        arrow = (
            text == ">" and at > 0 and self._words[at - 1].text == "-" and self._words[at].follows(self._words[at - 1])
        )
        role = WordRole.COMMA if arrow else _MARKS.get(text)
        if role is None:
            for lexicon in self._lexicons:
                if text in lexicon.roles:
                    return Chunk(lexicon.roles[text], at, at + 1)
                if text in lexicon.twists:
                    return Chunk(WordRole.OTHER, at, at + 1, twist=lexicon.twists[text])
            role = WordRole.STOP if text == NEWLINE or unicodedata.category(text[0]) in ("So", "Sk") else WordRole.OTHER
        if text == "+" and role is WordRole.COMMA:
            role = WordRole.AND
        return Chunk(role, at, at + 1, twist=Twist.UNCLEAR if role is WordRole.OTHER else None)

    def _is_glued(self, at: int) -> bool:
        """As in "half-hour"."""
        words = self._words
        return 0 < at < len(words) - 1 and words[at].follows(words[at - 1]) and words[at + 1].follows(words[at])

    def _time(self, at: int) -> Chunk | None:
        """Between two times, or a time of day."""
        between = read_clock_range(self._words, at)
        if between is not None:
            role = WordRole.AMOUNT_CLOCK if between.is_clear else WordRole.AMOUNT_VAGUE
            return Chunk(role, at, between.end, minutes=between.minutes, until=between.until)
        found = phrase_end(_TIME_PHRASES, self._words, at)
        if found is not None:
            return Chunk(WordRole.TIME, at, found[1])
        return self._time_of_day(at) if self._words[at].plain in _AT else None

    def _time_of_day(self, at: int) -> Chunk | None:
        """As "at 7", "a las siete"; a bare number behind "a" is none."""
        clock = read_clock(self._words, at + 1)
        if clock is not None and self._words[at].plain in _UNTIL:
            return (
                Chunk(WordRole.TIME, at, clock.end, from_minute=clock.minute)
                if clock.is_time or clock.end > at + 2 or at + 2 == len(self._words)
                else None
            )
        if clock is None or (clock.end < len(self._words) and self._words[clock.end].plain in _COUNTED):
            return None
        behind = self._words[at + 1].plain
        is_time = clock.is_time or self._words[at].plain in {"at", "@", "las"} or behind == "las"
        latest = clock.minute if clock.is_certain or clock.minute >= 720 else clock.minute + 720
        return Chunk(WordRole.TIME, at, clock.end, until=latest, from_minute=clock.minute) if is_time else None

    def _amount(self, at: int) -> Chunk | None:
        found = read_amount(self._words, at)
        if found is None:
            vague = phrase_end(_VAGUE_PHRASES, self._words, at)
            return None if vague is None else Chunk(WordRole.AMOUNT_VAGUE, at, vague[1])
        behind = self._words[found.end].plain if found.end < len(self._words) else ""
        before = self._words[at - 1].plain if at else ""
        if behind in {"ago", "atras"} or before == "hace":
            return Chunk(WordRole.OTHER, at, found.end + (behind in {"ago", "atras"}), twist=Twist.LASTS)
        role = WordRole.AMOUNT_VAGUE if found.vague else WordRole.AMOUNT_SHORT if found.short else WordRole.AMOUNT
        return Chunk(role, at, found.end, minutes=found.whole, unit=found.unit)

    def _day(self, at: int) -> Chunk | None:
        plural = self._words[at].plain == "los" and at + 1 < len(self._words)
        if plural:
            return None
        if self._words[at].plain in _SHORT_WEEKDAYS and (chunk := self._short_weekday(at)) is not None:
            return chunk
        found = read_day(self._words, at, self._today)
        return None if found is None else Chunk(found.role, at, found.end, day=found)

    def _short_weekday(self, at: int) -> Chunk | None:
        """As "sat: chess 30 min", "sat arvo ...": a day, where that stands behind it and no word before."""
        behind = self._words[at + 1 : at + 2]
        named = at == 0 and self._skills.find(self._words, 1) is not None  # "sat guitar 30 min"; "sat knitting" sat
        named = named and not behind[0].plain.endswith("ing")
        if not behind or not (named or behind[0].plain in _BEHIND_SHORT) or (at and self._words[at - 1].is_name):
            return None
        said = _SHORT_WEEKDAYS[self._words[at].plain]
        found = read_day([replace(self._words[at], text=said, plain=said), *behind], 0, self._today)
        return None if found is None else Chunk(found.role, at, at + found.end, day=found)

    def _skill(self, at: int) -> Chunk | None:
        found = self._skills.find(self._words, at)
        return None if found is None else Chunk(WordRole.SKILL, at, found[1], skill=found[0])

    def _phrase(self, at: int) -> Chunk | None:
        for lexicon in self._lexicons:
            found = phrase_end(lexicon.phrases, self._words, at)
            if found is not None and not self._splits_skill(at, found[1]):
                meaning = lexicon.meanings[found[0]]
                is_spanish = lexicon is LEXICONS["es"]
                if isinstance(meaning, Twist):
                    return Chunk(WordRole.OTHER, at, found[1], twist=meaning)
                return Chunk(meaning, at, found[1], is_first_person=is_spanish)
        return None

    def _splits_skill(self, at: int, end: int) -> bool:
        """As "(le metí media hora) a punto de cruz": the end of a phrase is the beginning of a skill."""
        skills = (self._skills.find(self._words, inside) for inside in range(at + 1, end))
        return any(skill is not None and skill[1] > end for skill in skills)

    def _word(self, at: int) -> Chunk:
        word = self._words[at]
        if word.is_number:
            return self._number(at)
        return self._act(at) or self._known_word(at) or self._unknown_word(at)

    def _act(self, at: int) -> Chunk | None:
        """A verb that means a skill of theirs."""
        plain = self._words[at].plain
        if plain in self._skills.acts:
            skill = self._skills.acts[plain]
            return Chunk(WordRole.ACT, at, at + 1, skill=skill, is_first_person=self._first_is_spanish)
        if plain in self._skills.acting:
            return Chunk(WordRole.ACTING, at, at + 1, skill=self._skills.acting[plain])
        return None

    def _known_word(self, at: int) -> Chunk | None:
        """A word of a table, as it is written before as it may be meant."""
        word = self._words[at]
        for form in (word.text, word.plain):
            for lexicon in self._lexicons:
                if form in lexicon.roles:
                    return Chunk(lexicon.roles[form], at, at + 1, is_first_person=lexicon is LEXICONS["es"])
                if form in lexicon.twists:
                    return Chunk(WordRole.OTHER, at, at + 1, twist=lexicon.twists[form])
        return None

    def _unknown_word(self, at: int) -> Chunk:
        word = self._words[at]
        if "'" in word.text:  # it holds a verb: I'd, they've, that's
            return Chunk(WordRole.OTHER, at, at + 1, twist=Twist.UNCLEAR)
        if read_number(self._words, at) is not None:
            return self._number(at)
        if word.plain.endswith(_WOULD):
            return Chunk(WordRole.OTHER, at, at + 1, twist=Twist.WISH)
        if word.plain.endswith(_ADVERBS) and len(word.plain) > LEAST_ADVERB:
            return Chunk(WordRole.ADVERB, at, at + 1)
        past = word.text[-1] in "éí" or word.text.endswith("ed")
        if word.plain.endswith(_WE_DID) and (
            skill := self._skills.acts.get(
                f"{word.plain[:-4]}ado" if word.plain[-4] == "a" else f"{word.plain[:-4]}ido"
            )
        ):
            return Chunk(WordRole.ACT, at, at + 1, skill=skill, twist=Twist.DOUBT, is_first_person=True)
        own = self._skills.act_of(word.plain[: -2 if word.text.endswith("ed") else -1]) if past else None
        if own is not None:
            return Chunk(WordRole.ACT, at, at + 1, skill=own, is_first_person=self._first_is_spanish)
        new = new_skill_of(word.plain)
        if new is None:
            return self._unknown_verb(at) or Chunk(WordRole.CONTENT, at, at + 1, is_doing=self._is_doing(word))
        return Chunk(WordRole.ACT, at, at + 1, skill=new, is_new=True, is_first_person=self._first_is_spanish)

    def _is_doing(self, word: Word) -> bool:
        """Whether it is a verb by its ending: a gerund, a past, an infinitive."""
        ends = word.plain.endswith(_DOING[self._first_is_spanish])
        return len(word.plain) >= LEAST_VERB and (ends or word.text.endswith("ó"))

    def _unknown_verb(self, at: int) -> Chunk | None:
        """A verb that no table has, by its ending: "clavé", "lograré"; `contexts` says whether it tells of practice."""
        word = self._words[at]
        if not self._first_is_spanish or len(word.text) < LEAST_VERB or word.text[-1] not in "éí":
            return None
        if word.plain.endswith(_SHALL) and word.plain not in _PAST_IN_R:
            return Chunk(WordRole.OTHER, at, at + 1, twist=Twist.FUTURE)
        return Chunk(WordRole.CONTENT, at, at + 1, is_first_person=True)

    def _number(self, at: int) -> Chunk:
        """A number of which no unit is said."""
        found = read_number(self._words, at)
        if found is None or found[0].denominator != 1:
            return Chunk(WordRole.NUMBER, at, at + 1)
        glued = self._words[found[1] : found[1] + 1]
        if glued and glued[0].is_name and glued[0].follows(self._words[found[1] - 1]):
            return Chunk(WordRole.NUMBER, at, found[1])  # "5k"
        return Chunk(WordRole.NUMBER, at, found[1], minutes=int(found[0]))
