"""What somebody wants, read from their words by rules, in English and Spanish. Pure; used where no model is."""

import re
from dataclasses import dataclass
from enum import StrEnum

from agent.coach.durations import find_duration


class Intent(StrEnum):
    """What the offline coach can be asked for."""

    LOG = "log"
    CORRECT = "correct"
    UNDO = "undo"
    CREATE = "create"
    PLAN = "plan"
    HISTORY = "history"
    STATS = "stats"
    SKILLS = "skills"
    GUIDE = "guide"
    HELP = "help"
    THANKS = "thanks"
    GREETING = "greeting"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Heard:
    """An intent and what it is about."""

    intent: Intent
    name: str = ""  # of a skill to create


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE)


_CORRECTION = _pattern(
    r"^\W*(?:no\b|actually|sorry|wait|oops|correction|i\s+meant?|i\s+changed\s+my\s+earlier|make\s+(?:it|that)|it\s+was|that\s+was|change\s+(?:it|that)"
    r"|en\s+realidad|perd[oó]n|espera|corrige|correcci[oó]n|quise\s+decir|quer[ií]a\s+decir|eran|fueron|fue\b|cambia)"
    r"|\binstead\b|\brather\b|\bnot\s+[0-9]|\ben\s+vez\b"
)
_INTENDED = _pattern(
    r"\?|\b(?:will|want\s+to|going\s+to|gonna|should|could|would|tomorrow|next\s+week|voy\s+a|quiero|mañana|debo|debería)\b"
)
_CREATE = _pattern(
    r"^\W*(?:please\s+)?(?:(?:add|create|new|start)\s+(?:an?\s+|the\s+)?(?:new\s+)?skill"
    r"|(?:añade|crea|agrega|nueva)\s+(?:una\s+|la\s+)?(?:nueva\s+)?habilidad)\b\s*+(?:called|named|llamada|de)?[\s:,]*+(?P<name>.+)$"
)
_WORDS = (
    (Intent.UNDO, _pattern(r"\bundo\b|\btake\s+(?:it|that)\s+back\b|\b(?:delete|remove)\s+(?:the\s+|my\s+)?last\b"
                           r"|\bdeshac\w*|\bdeshaz\b|\b(?:borra|quita|elimina)\s+(?:lo|la|el)\s+[uú]ltim")),
    (Intent.PLAN, _pattern(r"\bplan(?:s|ning|es|ifica\w*)?\b|\bwhat\s+should\s+i\s+practi[cs]e|\bqu[eé]\s+practico\b")),
    (Intent.HISTORY, _pattern(r"\bhistor(?:y|ial|ia)\b|\b(?:every|each|all(?:\s+my)?)\s+(?:session|entr)|\beverything\b"
                              r"|\btod[ao]s?\s+(?:las|mis)\s+(?:sesiones|anotaciones)|\bfull\s+report\b|\bmu[eé]strame\s+todo\b")),
    (Intent.STATS, _pattern(r"\bstat(?:s|istics)?\b|\bprogress\b|\bhow\s+am\s+i\b|\bhow\s+i['’]?m\s+doing\b|\bstreak\b"
                            r"|\bhow(?:['’]s|\s+is|\s+does)\s+it\s+go|\bjourney\b|\bnumbers\b|\bhow\s+(?:much|many)\b"
                            r"|\bestad[ií]sticas?\b|\bprogreso\b|\bc[oó]mo\s+voy\b|\bracha\b|\bcu[aá]nt[ao]s?\b")),
    (Intent.SKILLS, _pattern(r"\bskills?\b|\bhabilidad(?:es)?\b|\bwhat\s+do\s+i\s+practi[cs]e\b"
                             r"|\blevels?\b|\bniveles\b")),
    (Intent.GUIDE, _pattern(r"\bguide\b|\btips?\b|\badvice\b|\bexplain\b|\bteach\b|\bdeliberate\b"
                            r"|\bhow\s+(?:should|do|can|to)\b.{0,200}\bpracti|\bgu[ií]a\b|\bconsejos?\b|\bexplica\b"
                            r"|\bc[oó]mo\s+(?:debo\s+|puedo\s+)?practic")),
    (Intent.HELP, _pattern(r"\bhelp\b|\bwhat\s+can\s+you\b|\bcommands?\b|\bayuda\b"
                           r"|\bqu[eé]\s+(?:puedes|sabes)\b|^/?start\b")),
    (Intent.THANKS, _pattern(r"\bthank(?:s|\s+you)?\b|\bgracias\b|^\W*(?:great|perfect|ok|okay|vale|genial)\W*$")),
    (Intent.GREETING, _pattern(r"^\W*(?:hi|hello|hey|hola|buen[oa]s|good\s+(?:morning|evening|day|afternoon))\b")),
)  # fmt: skip


def hear(text: str) -> Heard:
    """The intent of one message; a log or correction is one only when it says how long."""
    text = text[:2000]
    duration = find_duration(text)
    if duration is not None and _CORRECTION.search(text):
        return Heard(Intent.CORRECT)
    if duration is not None and not _INTENDED.search(text):
        return Heard(Intent.LOG)
    created = _CREATE.match(text)
    if created is not None:
        return Heard(Intent.CREATE, name=created["name"].strip(" .!\"'“”«»"))
    for intent, words in _WORDS:
        if words.search(text):
            return Heard(intent)
    return Heard(Intent.UNKNOWN)
