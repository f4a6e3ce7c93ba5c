"""Reads chunks again beside their neighbours: what some words mean only these make clear. Pure."""

import re
from dataclasses import replace

from agent.coach.understanding.entries import Chunk
from agent.coach.understanding.lessons import had_lesson, in_company
from agent.coach.understanding.repeats import twice_each
from agent.coach.understanding.retractions import long_ago, to_come
from agent.coach.understanding.skills import is_acting, new_skill_of
from agent.coach.understanding.tables import PAUSES, READ_AGAIN, Twist, WordRole
from agent.coach.understanding.timings import AMOUNTS_THEN, LEAST_PAST, NUMBERS_FIRST, letters_of

_BEING = frozenset({"estoy", "toy", "ando", "sigo"})
_ASKS_BEFORE_SUBJECT = frozenset({"did", "have", "had"})
_WAKING = frozenset({"woke", "desperte", "me"})
_LEFT_BEHIND = frozenset({"work", "home", "school", "office", "uni", "class", "early", "late", "practice"})
_IRREGULAR = frozenset([
    "spun", "rode", "threw", "built", "shot", "fought", "held", "swung", "flew", "wove", "knit", "cut", "blew", "beat",
    "bent", "taught", "kept", "drank", "ate", "broke", "fell", "rang", "tore", "froze", "chose", "grew", "knew", "went",
    "came", "lost", "won", "sold", "bought", "brought", "told", "gave", "shut", "hurt", "burst", "crept", "slid",
    "swore",
])  # fmt: skip
_NEARLY = frozenset({"nearly", "almost", "casi"})
_ACHIEVED = frozenset({"logre", "consegui", "pude", "alcance a", "acabo de", "logre hacer", "conseguí"})
_SO = frozenset({"too", "so", "very", "super", "really", "pretty", "quite"})
_OWN_BEFORE = ",.cCBOYyIAJ"
_PASSED_OVER = "wpTPOic.,"
_NUMBERED = frozenset({"no", "nr", "num", "op"})
_WHENS = frozenset({"when", "cuando"})
_LONG_AGO = frozenset({"was", "were", "era", "lived", "kid", "young", "younger", "used"})
_BEING_SO = frozenset({"i'm", "im"})
_NOBODY = frozenset({"nadie", "nobody", "anyone", "anybody", "anything"})
_ENDS_CLAUSE = frozenset(",.cCB")
_ADDRESSED = frozenset([
    "coach", "man", "bro", "mate", "dude", "buddy", "friend", "team", "sir", "entrenador", "entrenadora", "amigo",
    "amiga"
])  # fmt: skip
_HE_DOES = frozenset("VvgkA")
_CAN = frozenset({"can", "could", "would", "puedes", "podrias", "podes"})
_YOU_LOG = frozenset(["registras", "apuntas", "anotas", "agregas", "anades", "sumas", "pones", "guardas"])
_LONG = frozenset(["days", "weeks", "months", "years", "semanas", "meses", "anos", "mes", "ano"])
_SINCE = frozenset({"after", "tras", "despues", "luego"})
_THAT = frozenset({"que", "q"})
_FORGOT = frozenset(["forgot", "se me paso", "se me olvido", "me olvide", "olvide"])
_YOU = frozenset({"you", "u"})
_TURNS = frozenset({Twist.NEGATED, Twist.WISH, Twist.FUTURE})
_BEING_DONE = frozenset({"was", "were", "is", "are", "been"})
_WRITTEN = frozenset({"wrote", "escribi"})


def in_context(chunks: list[Chunk]) -> list[Chunk]:
    """The chunks as their neighbours make them."""
    for read in _READINGS:
        read(chunks)
    return chunks


def _head(chunk: Chunk) -> str:
    return chunk.plain.partition(" ")[0]


def _doing_a_skill(chunks: list[Chunk]) -> None:
    """As "estuve programando en rust", "spoke Italian"; but "a nadar 30 min" is still to come."""
    for at, chunk in enumerate(chunks[:-1]):
        behind = letters_of(chunks, at + 1, at + 4)
        does = is_acting(chunk.plain) and re.match("P?T?S", behind)
        if chunk.role is WordRole.CONTENT and at and does:  # "three hours programming in rust"
            chunks[at] = replace(chunk, role=WordRole.ADVERB)
        begins = at == 0 or chunks[at - 1].role.value in PAUSES + "OJ"
        if (
            begins
            and chunk.plain == "a"
            and chunks[at + 1].role in (WordRole.ACTING, WordRole.SKILL)
            and _is_infinitive(chunks[at + 1].plain)
        ):
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.FUTURE)


def _instead(chunks: list[Chunk]) -> None:
    """As "instead of guitar", "without the guitar"; "instead of eating" is none of that."""
    for at, chunk in enumerate(chunks):
        if chunk.role is WordRole.INSTEAD:
            behind = letters_of(chunks, at + 1, at + 5)
            if re.match("F?[nDd](?:$|[,.cY])", behind):  # "50 minutes rather than 30"
                chunks[at + 1] = replace(chunks[at + 1], role=WordRole.ADVERB)
                chunks[at] = replace(chunk, role=WordRole.ADVERB)
                continue
            whole = re.search("[Dda].*[Sk]|[Sk].*[Dda]", letters_of(chunks, 0, at)) is not None
            if whole and (
                other := re.match("T?S(?=$|[,.cBCYyK])", behind)
            ):  # "did 20 min of Spanish instead of French"
                for place in range(at, at + 1 + other.end()):
                    chunks[place] = replace(chunks[place], role=WordRole.ADVERB, twist=None)
                continue
            if at == 0 and (
                first := re.match("T?S(?=,?[IvVH])", behind)
            ):  # "instead of guitar I did 40 min of Spanish"
                for place in range(first.end() + 1):
                    chunks[place] = replace(chunks[place], role=WordRole.ADVERB, twist=None)
                continue
            negates = re.match("[GTfP]*S", behind[:3]) is not None
            role, twist = (WordRole.OTHER, Twist.NEGATED) if negates else (WordRole.WHILE, None)
            chunks[at] = replace(chunk, role=role, twist=twist)


def _questions(chunks: list[Chunk]) -> None:
    """As "did I practise": asked, also without a question mark."""
    for at, chunk in enumerate(chunks[:-1]):
        begins = at == 0 or chunks[at - 1].role.value in PAUSES
        if begins and _head(chunk) in _ASKS_BEFORE_SUBJECT and chunks[at + 1].role is WordRole.SUBJECT:
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.QUESTION)


def _nearly(chunks: list[Chunk]) -> None:
    """As "I nearly meditated": not done; "nearly 20 minutes" are. And "we played" may be practice of one's own."""
    for at, chunk in enumerate(chunks[:-1]):
        behind = chunks[at + 1]
        acts = behind.role.value in "VvkG" and behind.twist is None
        if chunk.plain in _NEARLY and acts:
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.NEGATED)
        elif chunk.plain == "we" and acts:
            chunks[at] = replace(chunk, role=WordRole.SUBJECT, twist=Twist.DOUBT)


def _under_way(chunks: list[Chunk]) -> None:
    """As "estoy practicando": not done yet."""
    timed = any(chunk.role in (WordRole.AMOUNT, WordRole.AMOUNT_SHORT) for chunk in chunks)
    for at, chunk in enumerate(chunks[:-1]):
        named = chunks[at + 1].role is WordRole.SKILL and chunks[at + 1].plain.endswith("ing") and timed
        if chunk.plain == "been" and (named or chunks[at + 1].role in (WordRole.GERUND, WordRole.ACTING)):
            chunks[at] = replace(chunk, role=WordRole.DID, twist=None)  # "I've been practising"
        begins = at == 0 or (chunks[at - 1].role.value in PAUSES + "IOJ" and chunks[at - 1].plain != "me")
        if (
            chunk.plain == "llevo" and chunk.twist is Twist.HABIT and begins and chunks[at + 1].role.value in "DdFj"
        ):  # "llevo 2 horas programando"
            chunks[at] = replace(chunk, role=WordRole.DID, twist=Twist.DOUBT, is_first_person=True)
        if _head(chunk) in _BEING and chunks[at + 1].role in (WordRole.GERUND, WordRole.ACTING):
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.FUTURE)


def _other_speakers(chunks: list[Chunk]) -> None:
    """As "Tom played", "the tuner worked": a verb that does not say who, behind somebody."""
    for at in range(1, len(chunks)):
        verb, before = chunks[at], chunks[at - 1]
        acts = verb.role in (WordRole.DID, WordRole.PRACTISED, WordRole.ACT) and not verb.is_first_person
        if acts and before.role is WordRole.CONTENT and not re.search("[IA]", letters_of(chunks, max(0, at - 3), at)):
            chunks[at - 1] = replace(before, role=WordRole.OTHER, twist=Twist.OTHERS)


def _told_of_while(chunks: list[Chunk]) -> None:
    """As "before I woke up", "antes de que despertara nadie": neither a dream nor a denial."""
    inside = False
    for at, chunk in enumerate(chunks):
        inside = chunk.role is WordRole.WHILE or (inside and chunk.role.value not in _ENDS_CLAUSE)
        plain = _head(chunk)
        wakes = chunk.twist is Twist.JOKE and plain in _WAKING
        other = wakes and at > 0 and (chunks[at - 1].role is WordRole.CONTENT or chunks[at - 1].twist is Twist.OTHERS)
        if other or (inside and (wakes or plain in _NOBODY)):
            chunks[at] = replace(chunk, role=WordRole.CONTENT, twist=None)


def _awake(chunks: list[Chunk]) -> None:
    """As "woke up early and ...": no dream, where nothing was told before it."""
    for at, chunk in enumerate(chunks):
        if chunk.role in (WordRole.AMOUNT, WordRole.AMOUNT_SHORT, WordRole.AMOUNT_CLOCK):
            return
        if chunk.twist is Twist.JOKE and _head(chunk) in _WAKING:
            chunks[at] = replace(chunk, role=WordRole.DID, twist=None)
            for behind in range(at + 1, min(at + 2, len(chunks))):
                if chunks[behind].plain in {"early", "late", "temprano", "tarde"}:
                    chunks[behind] = replace(chunks[behind], role=WordRole.ADVERB, twist=None)


def _read_a_while(chunks: list[Chunk]) -> None:
    """As "... and read for 20 minutes": reading is a skill as any other; "read that 20 minutes ..." is none."""
    for at, chunk in enumerate(chunks):
        ends = re.match(r"F?[Dd][YKJ]*(?:$|[,.cCB])", letters_of(chunks, at + 1, at + 6)) is not None
        if chunk.twist is Twist.UNCLEAR and ends and (skill := new_skill_of(chunk.plain)) is not None:
            spanish = chunk.plain not in {"read", "reading"}
            chunks[at] = replace(
                chunk, role=WordRole.ACT, skill=skill, is_new=True, twist=None, is_first_person=spanish
            )


def _all_but(chunks: list[Chunk]) -> None:
    """As "everyone but me"."""
    for at, chunk in enumerate(chunks[:-1]):
        if chunk.role is WordRole.BUT and chunks[at + 1].twist is Twist.SELF:
            chunks[at] = replace(chunk, role=WordRole.CONTENT)


def _small_words(chunks: list[Chunk]) -> None:
    """As "pero si hice", "hoy si estudie", "has left the house", "wrote go": no if, no rest, no report."""
    for at, chunk in enumerate(chunks[:-1]):
        plain, behind, before = _head(chunk), chunks[at + 1], chunks[at - 1] if at else None
        affirms = behind.is_first_person and behind.role.value in _HE_DOES | {"H"}
        if plain == "si" and before is not None and before.role.value in "BYJI" and affirms:
            chunks[at] = replace(chunk, role=WordRole.ADVERB, twist=None)
        elif plain == "left" and (behind.plain in _LEFT_BEHIND or (before is not None and behind.role is WordRole.THE)):
            chunks[at] = replace(chunk, role=WordRole.CONTENT, twist=None)
        elif plain in _WRITTEN and chunk.twist is Twist.REPORTED and behind.role in (WordRole.SKILL, WordRole.AND):
            chunks[at] = replace(chunk, role=WordRole.DID, twist=None, is_first_person=plain == "escribi")


def _read_again(chunks: list[Chunk]) -> None:
    """Words that stand in `READ_AGAIN`, where their neighbours have those roles."""
    for at, chunk in enumerate(chunks):
        rule = READ_AGAIN.get(chunk.plain)
        if (
            rule is not None
            and rule[0].search(letters_of(chunks, 0, at))
            and rule[1].match(letters_of(chunks, at + 1, at + 8))
        ):
            chunks[at] = replace(chunk, role=rule[2], twist=None)


def _spoken_short(chunks: list[Chunk]) -> None:
    """As "I'm cooked", "logré encajar quince minutos"."""
    for at, chunk in enumerate(chunks[:-1]):
        plain, behind, before = _head(chunk), chunks[at + 1], chunks[at - 1] if at else None
        if plain in _BEING_SO and behind.plain in _SO and letters_of(chunks, at + 2, at + 3) == WordRole.CONTENT:
            for place in (at, at + 1):  # "I'm so happy"
                chunks[place] = replace(chunks[place], role=WordRole.ADVERB, twist=None)
        elif plain in _BEING_SO and (behind.role.value in "wn" or behind.is_new) and not behind.plain.endswith("ing"):
            chunks[at] = replace(chunk, role=WordRole.ADVERB, twist=None)  # "I'm cooked"
        elif (
            before is not None
            and before.plain in _ACHIEVED
            and chunk.role is WordRole.CONTENT
            and _is_infinitive(plain)
        ):
            chunks[at] = replace(chunk, role=WordRole.ADVERB)  # "logré encajar quince minutos"


def _is_infinitive(plain: str) -> bool:
    """By its ending a Spanish one."""
    return plain.endswith(("ar", "er", "ir"))


def _asides(chunks: list[Chunk]) -> None:
    """As "the cello (Bach suite no. 1)": what stands in brackets and says nothing else is passed over."""
    opened = None
    for at, chunk in enumerate(chunks):
        if chunk.plain in _NUMBERED and "".join(each.role for each in chunks[at + 1 : at + 3]) in {".n", "nw"}:
            chunks[at : at + 3] = [replace(each, role=WordRole.CONTENT, twist=None) for each in chunks[at : at + 3]]
        if chunk.plain == "(":
            opened = at
        elif chunk.plain == ")" and opened is not None:
            inside = chunks[opened + 1 : at]
            if inside and all(each.role.value in _PASSED_OVER and each.twist is None for each in inside):
                chunks[opened : at + 1] = [replace(each, role=WordRole.ADVERB) for each in chunks[opened : at + 1]]
            opened = None


def _when(chunks: list[Chunk]) -> None:
    """As "esta noche cuando se durmieron los niños saqué ...": tells when; "when I was ten" is long ago."""
    for at, chunk in enumerate(chunks):
        begins = at == 0 or chunks[at - 1].role in (WordRole.QUESTION, WordRole.LOG)  # "log it when I have done ..."
        if chunk.plain not in _WHENS or begins or chunk.twist is not Twist.QUESTION:
            continue
        ahead = chunks[at + 1 : at + 4]
        long_ago = any(
            not _LONG_AGO.isdisjoint(each.plain.split()) or each.plain.endswith(("ia", "aba")) for each in ahead
        )
        if not long_ago:
            chunks[at] = replace(chunk, role=WordRole.WHILE, twist=None)


def _unknown_pasts(chunks: list[Chunk]) -> None:
    """As "I grinded python", "clavé 90 min de crossfit": a verb of no table, with time or a bare skill behind it."""
    for at, chunk in enumerate(chunks):
        if chunk.role is not WordRole.CONTENT or not (chunk.is_first_person or is_past(chunk.plain)):
            continue
        own = chunk.is_first_person or at == 0 or chunks[at - 1].role.value in _OWN_BEFORE
        own = own and not (at and chunks[at - 1].plain in _SO)  # "too tired for"
        behind = letters_of(chunks, at + 1, at + 8)
        if chunks[at + 1 : at + 2] and chunks[at + 1].twist is Twist.SELF:
            behind = behind[1:]  # "quizzed myself on geography"
        if own and re.match("J*F?(?:T?[Dd]F?PT?S|T?[Dd]F?[Sj]|[Sj]|P?p?PS)", behind):
            chunks[at] = replace(chunk, role=WordRole.DID, is_new=True)


def is_past(plain: str) -> bool:
    """By its ending an English verb of the past."""
    if plain in _IRREGULAR:
        return True
    return len(plain) >= LEAST_PAST and plain.endswith("ed") and not plain.endswith("eed") and "'" not in plain


def _done_by_others(chunks: list[Chunk]) -> None:
    """As "the lasagne was cooking", "coach skipped", "done by my son"."""
    for at, chunk in enumerate(chunks[:-1]):
        plain, behind = _head(chunk), chunks[at + 1]
        doing = behind.role.value in "SGj" and behind.plain.endswith("ing")
        if plain in _BEING_DONE and doing and chunk.role is WordRole.OTHER:
            chunks[at] = replace(chunk, twist=Twist.OTHERS)
        acts = not behind.is_first_person and (behind.role.value in "Vvgk" or behind.twist in _TURNS)
        before = chunks[at - 1].role if at else WordRole.STOP
        called = before in (WordRole.OPENING, WordRole.COMMA, WordRole.ADVERB)  # "hey coach"
        is_name = chunk.role is WordRole.OPENING and plain in _ADDRESSED and chunk.end == chunk.start + 1
        acts = acts or (behind.role is WordRole.CONTENT and (behind.is_doing or is_past(behind.plain)))
        if is_name and acts and not called:
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.OTHERS)
        after_done = at and chunks[at - 1].role is WordRole.DONE and behind.role is WordRole.CONTENT
        whose = behind.role is WordRole.THE and any(each.twist is Twist.OTHERS for each in chunks[at + 2 : at + 3])
        if plain == "by" and behind.role is WordRole.CONTENT:
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.UNCLEAR)
        if chunk.plain in {"by", "por"} and (behind.twist is Twist.OTHERS or whose or after_done):
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.REPORTED)


def _forgot_to_log(chunks: list[Chunk]) -> None:
    """As "log 20 min of Korean for yesterday, I forgot": to log it."""
    said = letters_of(chunks, 0, len(chunks))
    if re.match("O?,?L.*[Dda].*Y", said) and chunks[-1].plain in _FORGOT:
        chunks[-1] = replace(chunks[-1], role=WordRole.ADVERB, twist=None)


def _ought_to(chunks: list[Chunk]) -> None:
    """As "tendría que haber animado una hora": what is ought to be, not what only tells more."""
    for at, chunk in enumerate(chunks[1:], 1):
        if chunk.plain in _THAT and chunks[at - 1].twist is Twist.WISH:
            chunks[at] = replace(chunk, role=WordRole.ADVERB)


def _time_off(chunks: list[Chunk]) -> None:
    """As "after two weeks off", "después de dos semanas": how long ago the last time was, no habit."""
    for at, chunk in enumerate(chunks):
        said = chunk.twist is Twist.HABIT and chunk.plain in _LONG
        if said and any(each.plain.partition(" ")[0] in _SINCE for each in chunks[max(0, at - 3) : at]):
            chunks[at] = replace(chunk, role=WordRole.ADVERB, twist=None)


def _requests(chunks: list[Chunk]) -> None:
    """As "can you log", "me puedes anotar": asked for, not about; and "I told myself" is no report."""
    for at, chunk in enumerate(chunks[:-1]):
        if chunk.plain == "4" and chunks[at + 1].role.value in "dD":
            chunks[at] = replace(chunk, role=WordRole.ABOUT, minutes=0)  # "4 an hr"
        if _head(chunk) == "me" and chunks[at + 1].plain in _YOU_LOG:  # "¿me registras 50 minutos de árabe?"
            chunks[at] = replace(chunk, role=WordRole.OPENING, twist=None, plain="can you")
            chunks[at + 1] = replace(chunks[at + 1], role=WordRole.LOG, twist=None)
        logs = "L" in letters_of(chunks, at + 1, at + 4)
        if logs and _head(chunk) in _CAN and (chunk.plain[-1] == "s" or chunks[at + 1].plain in _YOU):
            chunks[at] = replace(chunk, role=WordRole.OPENING, twist=None, plain="can you")
            if chunks[at + 1].plain in _YOU:
                chunks[at + 1] = replace(chunks[at + 1], role=WordRole.OPENING, twist=None)
        near = [each for each in (*chunks[at - 1 : at], *chunks[at + 1 : at + 2]) if each.twist is Twist.SELF]
        if chunk.twist is Twist.REPORTED and near:
            chunks[at] = replace(chunk, role=WordRole.CONTENT, twist=None)


_READINGS = (
    _requests,
    _ought_to,
    _time_off,
    _forgot_to_log,
    had_lesson,
    in_company,
    _asides,
    _read_a_while,
    _all_but,
    twice_each,
    *NUMBERS_FIRST,
    _doing_a_skill,
    _instead,
    _awake,
    _told_of_while,
    _small_words,
    _spoken_short,
    *AMOUNTS_THEN,
    long_ago,
    to_come,
    _when,
    _read_again,
    _unknown_pasts,
    _done_by_others,
    _questions,
    _nearly,
    _under_way,
    _other_speakers,
)
