"""Says where words take back what a message says: "not me though", "don't save it", "cuando me jubile". Pure.

What single words turn a clause into is the tables'; this knows what only several together say.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from agent.coach.understanding.entries import Chunk
from agent.coach.understanding.tables import Twist, WordRole

_WRITE = (
    "log|save|record|write|note|count|add|store|keep|enter|track|register|guardes|registres|anotes|apuntes|agregues"
    "|anadas|sumes|cuentes|escribas|pongas|metas"
)
_NOT_TO_BE_WRITTEN = re.compile(
    rf"(?:^|(?<!i)(?<!we) )(?:do not|don't|dont|never|no) (?:you )?(?:me |l[oa]s? |le |te |yet )?(?:{_WRITE})\b"
)
_TAKEN_BACK = re.compile(
    r"(?:(?:actually|really|ok|wait|but|well|sorry|pero|bueno|perdon|no|y) ){0,3}(?:"
    r"(?:though |just )?not (?:me|mine)(?: though| tho| sadly)?|(?:pero )?(?:yo no|no yo)"
    r"|(?:just |only |this is |it's |it was |that was |that's ){0,2}(?:a )?test(?:ing)?(?: run| message| entry| 123)?"
    r"|(?:solo |solo es |es |era |esto es |estoy |estaba ){0,2}(?:una |un )?(?:prueba|probando|test)"
    r"|(?:that's |it's )?(?:false|untrue|bogus|rubbish|lies)"
    r"|forget (?:about )?(?:it|that|this)|never ?mind|nvm"
    r"|to be done|to do|(?:still )?on my (?:to ?do )?list|in my head"
    r"|olvid(?:alo|ala|elo|ate|a eso|alo mejor)|dejalo|no cuenta|no vale|eso no"
    r"|(?:la verdad|la verdad que|en verdad|de verdad|en realidad|a decir verdad) (?:no|nada|cero)"
    r"|por hacer|en mi lista|en mi cabeza)"
)
_AS_TOLD = re.compile(
    r"(?:(?:well|or|at least|so|o|bueno|al menos) ){0,2}"
    r"(?:(?:that's|thats|is|was|it's|that is) what |(?:es|era|fue|eso es) lo que "
    r"|eso (?:le |les |me )?(?:dij|dic|cre|piens))"
)
_RATHER = re.compile(r"(?:well|i mean|or rather|actually|bueno|digo|o sea|mejor dicho) ")


def take_back(said: str, twists: set[Twist]) -> Twist | None:
    """What a clause of these words makes of all that the message says; None where it says nothing of it."""
    if _NOT_TO_BE_WRITTEN.search(said):
        return Twist.COMMAND
    if _TAKEN_BACK.fullmatch(said):
        return Twist.NEGATED
    if twists & {Twist.OTHERS, Twist.REPORTED} and _AS_TOLD.match(said):
        return Twist.REPORTED
    return Twist.OTHERS if Twist.OTHERS in twists and _RATHER.match(said) else None


# ---------------------------------------------------------------- what was long ago, or is still to come

_SINCE = frozenset({"hace", "ago"})
_AGES = frozenset([
    "anos", "ano", "meses", "mes", "siglos", "decadas", "mucho", "years", "year", "ages", "long", "months",
    "wks", "wk", "weeks", "week", "fortnight", "sem", "semanas", "semana"
])  # fmt: skip
_AGED = frozenset({"a", "con", "at", "los"})
_THAT = frozenset({"que", "q"})


def long_ago(chunks: list[Chunk]) -> None:
    """As "hace diez años", "a long time ago", "a los 12 años", "earlier this week"; not "hace mucho que no tocaba"."""
    for at, chunk in enumerate(chunks):
        plains = {word for each in chunks[max(0, at - 3) : at + 4] for word in each.plain.split()}
        if chunk.plain in _SINCE and plains & _AGES and not plains & _THAT:
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.HABIT)
        if chunk.day is not None and _is_of_week(chunks, at):
            chunks[at] = replace(chunk, role=WordRole.DAY_UNREAD, day=replace(chunk.day, day=None))
        before = chunks[at - 1].plain.split()[-1:] if at else []
        behind = [each.plain for each in chunks[at + 1 : at + 2]]
        if chunk.role is WordRole.NUMBER and behind == ["anos"] and before and before[0] in _AGED:
            chunks[at + 1] = replace(chunks[at + 1], role=WordRole.OTHER, twist=Twist.HABIT)


_WHENS = frozenset({"when", "once", "whenever", "cuando", "apenas"})
_YET_TO_BE = frozenset([
    "retire", "get", "have", "can", "am", "find", "finish", "wake", "go", "come", "grow", "feel", "leave", "arrive",
    "return", "jubile", "tenga", "pueda", "salga", "vuelva", "sea", "crezca", "consiga", "vaya", "quiera", "haga",
])  # fmt: skip
"""Verbs that say behind "when" that it is not so yet, with and without accents."""

_AFTERWARDS = frozenset({"luego", "despues", "entonces"})
_ENDS = ",."


def _is_of_week(chunks: Sequence[Chunk], at: int) -> bool:
    """As "earlier this week", "earlier in the week", "saturday week": no day that can be told."""
    behind = " ".join(chunk.plain for chunk in chunks[at + 1 : at + 4])
    if chunks[at].plain == "earlier":
        return behind.startswith(("this week", "this month", "in the week"))
    return behind == "week" or behind.startswith("week ")


def to_come(chunks: list[Chunk]) -> None:
    """As "guitar 30 min when I retire", "guitarra una hora luego", "luego: 30 min de guitarra"."""
    for at, chunk in enumerate(chunks[:-1]):
        ahead = [each.plain for each in chunks[at + 1 : at + 3] if each.plain not in {"i", "yo", "me"}][:1]
        if chunk.plain in _WHENS and ahead and ahead[0].partition(" ")[0] in _YET_TO_BE:
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.FUTURE)
    amounts = [chunk for chunk in chunks if chunk.role.value in "dDa"]
    if len(amounts) != 1 or any(chunk.role.value in "VvcH" for chunk in chunks):
        return
    for at, chunk in enumerate(chunks):
        if chunk.role is WordRole.THEN and chunk.plain in _AFTERWARDS and _is_alone(chunks, at):
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.FUTURE)


def _is_alone(chunks: Sequence[Chunk], at: int) -> bool:
    """Whether nothing stands behind it, or it is a label."""
    behind = chunks[at + 1 : at + 2]
    if behind and behind[0].plain == ":":
        return True
    return at > 1 and (not behind or behind[0].role.value in _ENDS)
