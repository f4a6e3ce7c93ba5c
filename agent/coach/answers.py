"""What a message is as the answer to a question of the coach: the rest of a log, or what is right instead. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.coach.acts import LACKING, Act, Task, task_of_heard
from agent.coach.amendments import add_amount, add_skill, amend, rename
from agent.coach.followups import MAX_CHARS, join_log, read_fragment
from agent.coach.intents import Intent, read_request
from agent.coach.request_view import Exchange
from agent.coach.understanding.amounts import find_duration
from agent.coach.understanding.entries import Practised
from agent.coach.understanding.reading import Certainty, hear
from agent.coach.understanding.words import words_of
from agent.wellformed import clean


def answer_question(text: str, asked: Task, last: Exchange, names: Sequence[str], language: str) -> Task | None:
    """What the message makes of what was asked in the last exchange; None where it says something else.

    `names` are the person's skills.
    """
    answer = _Answer(text, asked, last, names, language)
    return answer.complete() or answer.amend()


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    asked: Task
    last: Exchange
    names: Sequence[str]
    language: str

    def complete(self) -> Task | None:
        """A log of which the rest was said before: what was asked for is the skill, or how long it was."""
        asked = self.asked
        if asked.act not in LACKING or len(asked.practised) != 1:
            return None
        (entry,) = asked.practised
        if asked.act is Act.ASK_WHAT:
            return self._complete_one(entry)
        if asked.act is Act.ASK_AMOUNT:
            heard = add_amount(self.text, entry)
        else:
            heard = add_skill(self.text, entry, self.names)
            if heard.certainty is Certainty.ASK_NEW and not self._is_name():
                return None
        return None if heard.certainty is Certainty.NOTHING else task_of_heard(heard, self.text)

    def _complete_one(self, entry: Practised) -> Task | None:
        """What was practised, or for how long: the other is asked for next."""
        timed = add_amount(self.text, entry)
        if timed.certainty is not Certainty.NOTHING:
            return Task(Act.ASK_SKILL, self.text, practised=timed.practised)
        named = add_skill(self.text, entry, self.names)
        if named.certainty is Certainty.NOTHING or find_duration(self.text) is not None:
            return None
        is_name = named.certainty is Certainty.LOG or self._is_name()
        return Task(Act.ASK_AMOUNT, self.text, practised=named.practised) if is_name else None

    def _is_name(self) -> bool:
        """Whether this would be a skill behind an amount, and is nothing else by itself: no "bye", no "delete it"."""
        entry = Practised(None, "", self.last.now.date())
        named = rename(self.text, entry, self.names, self.last.now, self.language)
        return named is not None and read_request(self.text).intent is Intent.UNKNOWN

    def amend(self) -> Task | None:
        """The practice that was asked about, as a message corrects it: it is asked about again, or logged."""
        amendment = amend(self.text, self.asked.practised, self.names, self.last.now, self.language)
        if amendment is None:
            return self._amend_loosely()
        asked = replace(self.asked, text=self.text, practised=amendment.practised)
        if amendment.is_sure:
            return replace(asked, act=Act.LOG, confirmed=True)
        return replace(asked, act=Act.ASK_NEW_SKILL if any(entry.is_new for entry in asked.practised) else asked.act)

    def _amend_loosely(self) -> Task | None:
        """The same, of words that only say what is right, or what belongs to it: it is asked about again."""
        asked = self.asked
        said = read_fragment(self.text, self.names, self.last.now, self.language) if asked.practised else None
        joined = join_log(said, self.text, asked) if asked.act in (Act.ASK_LOG, Act.ASK_NEW_SKILL) else None
        if joined is not None:
            alone = hear(self.text, self.names, self.last.now, self.language)
            return None if alone.certainty is Certainty.LOG else joined
        if said is None or not said.is_right or said.is_same or len(asked.practised) != 1:
            return None
        entry = said.correct(asked.practised[0])
        if entry == asked.practised[0] or not (entry.minutes and entry.skill):
            return None
        act = Act.ASK_NEW_SKILL if entry.is_new else Act.ASK_LOG
        return replace(asked, act=act, text=self.text, practised=(entry,))


# ---------------------------------------------------------------- a yes

_YES = re.compile(
    r"[\W_]*(?:yes|yeah|yep|yup|sure|ok(?:ay)?|s[ií]|claro|vale|dale|exacto|exactly|correct|right|go ahead|please do"
    r"|of course|por supuesto|obvio|definitely|absolutely|indeed|perfecto|de una|venga|eso)\b",
    re.IGNORECASE,
)
_YES_LAST = re.compile(r"\b(?:yes|yeah|yep|s[ií]|please|of course|por favor|dale|obviously|claro)\W*$", re.IGNORECASE)
_GOES_ON = re.compile(
    r"\?|\d|\b(?:no|not|don['’]?t|but|pero|wait|espera|later|luego|tomorrow|ma[nñ]ana|or|o|instead|never|nunca|then"
    r"|if|si|rather|mejor|actually|undo|delete|remove)\b",
    re.IGNORECASE,
)
_GRANTING = frozenset({
    "a", "absolutely", "add", "agregala", "agregalo", "ahead", "al", "all", "ambos", "anadela", "anadelo", "and",
    "anotala", "anotalo", "apuntala", "apuntalo", "as", "asi", "both", "claro", "coach", "con", "correct", "count",
    "course", "creala", "crealo", "cual", "dale", "days", "de", "dear", "definitely", "del", "dias", "do", "el", "en",
    "es", "eso", "exactly", "exacto", "favor", "for", "go", "goal", "gracias", "guardala", "guardalo", "habilidad",
    "hazlo", "i", "in", "indeed", "is", "it", "just", "keep", "la", "las", "lo", "log", "los", "make", "mate", "mean",
    "meant", "meta", "my", "new", "note", "nueva", "obvio", "obviously", "of", "ok", "okay", "on", "one", "perfecto",
    "please", "ponla", "ponlo", "por", "porfa", "porfis", "put", "record", "registrala", "registralo", "right",
    "save", "set", "si", "skill", "sumalo", "supuesto", "sure", "tal", "thank", "thanks", "that", "the", "them",
    "this", "to", "todo", "todos", "una", "vale", "venga", "was", "with", "write", "y", "yeah", "yep", "yes", "you",
    "yup",
})  # fmt: skip


def is_granted(text: str, question: str) -> bool:
    """Whether a message is a yes to the question with words that add nothing: its own, or of granting it."""
    if len(text) > MAX_CHARS or _GOES_ON.search(_first_off(text)) is not None:
        return False
    if _YES.match(text) is None and _YES_LAST.search(text) is None:
        return False
    own = {word.plain for word in words_of(clean(question.replace("*", " ")))}
    return all(word.plain in _GRANTING or word.plain in own for word in words_of(clean(text)) if word.is_name)


def _first_off(text: str) -> str:
    """Without the yes it begins with, whose "sí" is no "si"."""
    opening = _YES.match(text)
    return text if opening is None else text[opening.end() :]
