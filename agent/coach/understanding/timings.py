"""Reads amounts, times and numbers without a unit beside their neighbours: "20 min of guitar, 35 of piano". Pure."""

import re
from collections.abc import Sequence
from dataclasses import replace

from agent.coach.understanding.clocks import LONGEST
from agent.coach.understanding.entries import Chunk
from agent.coach.understanding.tables import PAUSES, Twist, WordRole

MOST_BARE_HOURS = 4
"""A greater number without a unit, behind hours, may as well be minutes."""

LEAST_BARE = 5
LEAST_SPOKEN = 10
LEAST_BESIDE_HOURS = 15
"""Of a number without a unit: in pairs with skills, and where only hours are said besides."""

MOST_DAYS = 31
_MOST_BARE = {1: 600, 60: MOST_BARE_HOURS}
LEAST_PAST = 5
_SIGNS = frozenset({"x", "×"})
_MORNING = re.compile("morning|manana")
_PARTS = re.compile("morning|afternoon|evening|night|manana|tarde|noche")
_MINUTES = frozenset({"minutes", "minutos", "mins"})
_HALF = frozenset({"half", "media"})
_ALL_TOLD = frozenset({"total", "overall", "altogether", "max", "tops", "exactly", "sharp", "easy", "flat", "together"})
_STARTED = frozenset(["started", "began", "opened", "empece", "comence", "arranque", "start"])
_STOPPED = frozenset(["stopped", "closed", "finished", "ended", "quit", "done", "acabe", "termine", "pare", "hasta"])
EACH = frozenset(["each", "each day", "cada dia", "cada uno", "cada una", "cada cosa", "apiece"])
_IT = frozenset({"it", "that", "this", "eso"})
_WAS = frozenset({"was", "were", "it was", "that was", "fue", "fueron", "era", "eran"})
_AFTER = frozenset({"am", "pm", "morning", "afternoon", "evening", "after", "afterwards", "before", "despues", "antes"})
_TOOK = frozenset({"took", "took me", "llevo", "tomo"})
_LASTED = frozenset({"lasted", "duro"})
_CAME_TO = frozenset(
    {"was", "came to", "were", "fue", "fueron", "llevo", "tomo", "took", "took me", "ran to", "totalled", "totaled"}
)
_AMOUNTS = frozenset({WordRole.AMOUNT, WordRole.AMOUNT_SHORT})
_FRACTIONS = frozenset([
    "half", "halves", "media", "medias", "medio", "medios", "mitad", "quarter", "quarters", "cuarto", "cuartos",
    "cuartito", "third", "thirds", "tercio", "tercios", "fifth", "fifths", "quinto", "quintos", "bit", "pico", "algo",
    "something", "change", "odd", "poco", "poquito", "tad", "twice", "thrice", "double", "doble", "triple", "dozen",
    "dozens", "docena", "docenas", "second", "seconds", "segundo", "segundos", "sec", "secs", "s", "hundred",
    "hundreds", "thousand", "thousands", "mil", "cien", "doscientos", "trescientos", "cuatrocientos", "quinientos",
    "seiscientos", "setecientos", "ochocientos", "novecientos", "several", "few", "many", "multiple", "varios",
    "varias", "algunas", *"½¼¾⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞",
])  # fmt: skip
"""Words that make more or less of an amount beside them."""

_LITTLE = frozenset({"poco", "poquito", "algo", "something", "few"})
_ADDS = frozenset([
    "and", "y", "e", "&", "n", "+", "-", "–", "plus", "mas", "con", "with", "less", "minus", "menos", "short", "shy",
    "under", "over", "off", "x", "×", "*", "times", "por", "/", "of", "de", "a", "an", "the", "un", "una", "la", "el",
    "another", "otros", "otras", "other", "further", "more", "than", "para", "past", "that", "or", "so", "o", "asi",
    "sessions", "sesiones", "rounds", "rondas", "series", "sets", "lots", "blocks", "bloques", "tandas", "veces",
    "point", "punto", "coma", "or so", "o asi", "mas o menos", "more or less",
])  # fmt: skip
_ENTRY = frozenset({WordRole.SKILL, WordRole.DAY, WordRole.STOP, WordRole.DID, WordRole.PRACTISED, WordRole.SUBJECT})
"""Roles beside which an amount ends, whatever their words are."""

_OF_HOUR = re.compile("hal|quart|cuart|medi|[/½¼¾]")
_COUNTS = frozenset({WordRole.CONTENT, WordRole.PRACTICE, WordRole.OTHER})
MAX_BETWEEN = 4


def letters_of(chunks: Sequence[Chunk], first: int, last: int) -> str:
    """The roles of these chunks, a letter each."""
    return "".join(chunk.role for chunk in chunks[first:last])


def _hours_between(chunks: list[Chunk]) -> None:
    """As "coding 9-11 this morning": two hours of the day that is named."""
    for at, chunk in enumerate(chunks[:-3]):
        said = letters_of(chunks, at, at + 4)
        dash = chunks[at + 1].plain in {"-", "–"} and chunks[at + 2].minutes <= 12
        begins = at == 0 or chunks[at - 1].role.value in "S,.VvkP"
        if said[:3] in {"n,n", "nJn"} and said[3] in "YyK" and dash and begins and _PARTS.search(chunks[at + 3].plain):
            hours = (chunks[at + 2].minutes - chunk.minutes) % 12
            half = 0 if _MORNING.search(chunks[at + 3].plain) else 12
            if 0 < hours <= MOST_BARE_HOURS:
                chunks[at : at + 3] = [
                    replace(
                        chunk,
                        role=WordRole.AMOUNT_CLOCK,
                        end=chunks[at + 2].end,
                        minutes=60 * hours,
                        until=60 * (chunks[at + 2].minutes % 12 + half),
                    )
                ]
                return


def _numbers_behind_amounts(chunks: list[Chunk]) -> None:
    """As "35 of piano" behind "20 minutes of guitar"."""
    unit = int(any(chunk.plain in _MINUTES for chunk in chunks))  # "45 of guitar, minutes I mean"
    said = False
    for at, chunk in enumerate(chunks):
        if chunk.role in (WordRole.AMOUNT, WordRole.AMOUNT_SHORT):
            unit, said = chunk.unit, True
        elif (
            unit == 60
            and chunk.plain.partition(" ")[0] in _HALF
            and re.match("PT?S", letters_of(chunks, at + 1, at + 4))
        ):
            chunks[at] = Chunk(WordRole.AMOUNT, chunk.start, chunk.end, minutes=30, unit=unit)
        elif chunk.role is WordRole.NUMBER:
            counted = _unit_of(chunks, at, unit, said=said)
            if counted and 0 < chunk.minutes <= _MOST_BARE.get(counted, 0):
                chunks[at] = replace(chunk, role=WordRole.AMOUNT, minutes=chunk.minutes * counted, unit=counted)


def _paired_numbers(chunks: list[Chunk]) -> None:
    """As "bass 30 + maths 45", "yesterday 45 bass, today only 15", "ran 30 min and stretched 15": all are minutes."""
    amounts = [chunk for chunk in chunks if chunk.role in (WordRole.AMOUNT, WordRole.AMOUNT_SHORT)]
    numbers = [at for at, chunk in enumerate(chunks) if chunk.role is WordRole.NUMBER and _is_paired(chunks, at)]
    if not amounts and (len(numbers) < 2 or min(chunks[at].minutes for at in numbers) < LEAST_SPOKEN):
        return
    least = LEAST_BARE if any(chunk.unit == 1 for chunk in amounts) or not amounts else LEAST_BESIDE_HOURS
    no_dates = any(chunks[at].minutes > MOST_DAYS for at in numbers)  # "monday 30, tuesday 45"
    for at in numbers:
        if least <= chunks[at].minutes <= _MOST_BARE[1]:
            behind_day = letters_of(chunks, at - 1, at) == WordRole.DAY_EITHER
            dated = behind_day and not (amounts or no_dates)  # "mon 30": or the 30th
            chunks[at] = replace(chunks[at], role=WordRole.AMOUNT, twist=Twist.DOUBT if dated else None)


def _is_paired(chunks: Sequence[Chunk], at: int) -> bool:
    """Whether a number stands where the time of a skill, of a day or of a part of one stands, and counts nothing."""
    before, behind = letters_of(chunks, max(0, at - 4), at), letters_of(chunks, at + 1, at + 6)
    taken_back = any(chunk.twist in (Twist.NEGATED, Twist.DOUBT) for chunk in chunks[at + 1 : at + 3])  # "45, no, 20"
    if taken_back or re.match(r"[JFT]*(?:$|[,.cCBYyKt])|PT?S|T?S", behind) is None:
        return False
    if re.search("[Sk][FJ,]*$", before) or (
        re.match("P?T?S", behind) and re.search("(?:^|[,.cCBYyKvVLJFOI])$", before)
    ):
        return True
    return re.search("[YyK][,FJ]*$", before) is not None or (
        before[-1:] in {"c", "C"} and (behind[:1] in {"K", "Y", "y", "C"} or behind == "t")
    )


def _unit_of(chunks: Sequence[Chunk], at: int, unit: int, *, said: bool) -> int:
    """How many minutes a number counts of which no unit is said; 0 where it counts something else."""
    before, behind = letters_of(chunks, max(0, at - 2), at), letters_of(chunks, at + 1, at + 8)
    if chunks[at].minutes >= LEAST_BARE and re.search("[Yy]F?$", before) and re.match("[,c][Yy]F?D", behind):
        return 1  # "oboe: yesterday 30, today 40 minutes"
    later = said or (re.match("c[TP]*SF?P?D", behind) is not None and _counts_minutes(chunks[at + 1 : at + 8]))
    trails = chunks[at].start > 0 and re.search("S[FP]?$", before) and behind[:1] in ("", *",.cCB")
    goes_on = said and before.endswith("c")  # "and 10 of vibrato"
    of = re.match("PT?[Swp]" if goes_on else "PT?S", behind)
    return (unit or int(later)) if of or (trails and later) else 0


def _counts_minutes(chunks: Sequence[Chunk]) -> bool:
    """As behind "piano 20": "and guitar 25 minutes", where the unit is said once."""
    return any(chunk.role is WordRole.AMOUNT and chunk.unit == 1 for chunk in chunks)


def _it_was(chunks: list[Chunk]) -> None:
    """As "forgot to log yesterday's saxophone, it was 45 minutes": so long was what is named before."""
    for at, chunk in enumerate(chunks[1:-1], 1):
        verb = at + (chunk.plain in _IT and chunks[at + 1].plain in _WAS)
        begins = chunks[at - 1].role in (WordRole.COMMA, WordRole.STOP, WordRole.QUESTION)
        ends = re.match("[JF]?[Dd](?:$|[,.])", letters_of(chunks, verb + 1, verb + 4)) is not None
        if not (begins and ends and chunks[verb].plain in _WAS):
            continue
        before = chunks[: at - 1]
        if any(each.role is WordRole.SKILL for each in before) and not any(
            each.role.value in "Ddna" for each in before
        ):
            for place in range(at, verb + 1):
                chunks[place] = replace(chunks[place], role=WordRole.ADVERB, twist=None)
            if chunks[at - 1].role is WordRole.STOP:
                chunks[at - 1] = replace(chunks[at - 1], role=WordRole.COMMA)


def _took_so_long(chunks: list[Chunk]) -> None:
    """As "did my French homework, took 50 minutes", "simulacro de física, me tomó hora y media"."""
    for at, chunk in enumerate(chunks[1:-1], 1):
        mine = chunks[at + 1].twist is Twist.SELF
        ends = re.fullmatch("F?[Dd][.O]*", letters_of(chunks, at + 1 + mine, len(chunks))) is not None
        own = chunks[at - 1].twist is Twist.SELF
        it = own or chunks[at - 1].plain in _IT
        before = letters_of(chunks, 0, at - it)
        named = re.search(r"(?:[Vvo].*S.*|^(?:[wp]P)?S[pw]*)[,.]$" if own or mine else "[Vvo].*S.*[,.]$", before)
        if chunk.plain in _TOOK and ends and named and "d" not in before.lower():
            for place in range(at - it, at + 1 + mine):
                chunks[place] = replace(chunks[place], role=WordRole.ADVERB, twist=None)


def _after_it(chunks: list[Chunk]) -> None:
    """As "15 minutes before breakfast, 15 after": a time."""
    for at, chunk in enumerate(chunks[1:], 1):
        ends = at + 1 == len(chunks) or chunks[at + 1].role.value in ",."
        if chunk.plain in _AFTER and ends and chunks[at - 1].role.value in "nDd":
            chunks[at] = replace(chunk, role=WordRole.TIME, twist=None)


def _each_day(chunks: list[Chunk]) -> None:
    """As "monday and tuesday, 30 min each": so much on each of these days, no habit."""
    times = any(chunk.plain in _SIGNS for chunk in chunks)  # "trumpet x 2, 20 min each"
    days = [chunk for chunk in chunks if chunk.role in (WordRole.DAY, WordRole.DAY_EITHER)]
    skills = {chunk.skill for chunk in chunks if chunk.role in (WordRole.SKILL, WordRole.ACT)}
    for at, chunk in enumerate(chunks):
        behind = chunks[at + 1 : at + 2]
        led = behind and behind[0].role.value not in PAUSES.replace("Y", "").replace("y", "") + "JP"  # "each monday"
        if (
            chunk.twist is Twist.HABIT
            and chunk.plain in EACH
            and (times or max(len(days), len(skills)) > 1)
            and not led
        ):
            chunks[at] = replace(chunk, role=WordRole.ADVERB, twist=None)


def _from_start_to_stop(chunks: list[Chunk]) -> None:
    """As "started algebra at 6pm and stopped at 7:15": what lies between."""
    at = next((at for at, chunk in enumerate(chunks) if chunk.plain in _STARTED), None)
    stop = next((to for to, chunk in enumerate(chunks) if at is not None and to > at and chunk.plain in _STOPPED), None)
    if at is None or stop is None:
        return
    first, last = (
        [chunk for chunk in part if chunk.role is WordRole.TIME and chunk.from_minute is not None]
        for part in (chunks[at:stop], chunks[stop:])
    )
    if len(first) != 1 or len(last) != 1:
        return
    minutes = ((last[0].from_minute or 0) - (first[0].from_minute or 0)) % 720
    if 0 < minutes <= LONGEST:
        chunks[at] = replace(chunks[at], role=WordRole.DID, twist=None)
        chunks[stop] = replace(chunks[stop], role=WordRole.ADVERB, twist=None)
        place = chunks.index(first[0])
        chunks[place] = replace(first[0], role=WordRole.AMOUNT_CLOCK, minutes=minutes, until=last[0].until)
        for number in range(at + 1, stop):
            if chunks[number].role is WordRole.AND or chunks[number].role is WordRole.COMMA:
                chunks[number] = replace(chunks[number], role=WordRole.ADVERB)


def _amounts_told_more(chunks: list[Chunk]) -> None:
    """As "90 minutes total", "40 minutos tranquilos con ...": what only says more of an amount."""
    for at in range(1, len(chunks)):
        chunk, before = chunks[at], chunks[at - 1]
        if before.role not in (WordRole.AMOUNT, WordRole.AMOUNT_SHORT):
            continue
        ends = at + 1 == len(chunks) or chunks[at + 1].role.value in PAUSES + "PFi"
        agrees = chunk.role is WordRole.CONTENT and chunk.plain.endswith(("os", "as")) and len(chunk.plain) > LEAST_PAST
        if ends and (agrees or chunk.plain in _ALL_TOLD):
            chunks[at] = replace(chunk, role=WordRole.ADVERB, twist=None)


def _for_a_day(chunks: list[Chunk]) -> None:
    """As "para el lunes 45 minutos de guitarra": still to come; "log 20 min for monday" is not."""
    if any(chunk.role is WordRole.LOG for chunk in chunks):
        return
    for at, chunk in enumerate(chunks):
        if chunk.plain in {"for", "para"} and re.match("T?y", letters_of(chunks, at + 1, at + 3)):
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.FUTURE)


def _time_that_is_there(chunks: list[Chunk]) -> None:
    """As "I only have 20 minutes for guitar": not done yet. And "guitar x 30 min" is no third of it."""
    for at, chunk in enumerate(chunks[:-1]):
        if chunk.role is WordRole.HAVE and re.match("J*F?[Dd][FP]T?[SjGf]", letters_of(chunks, at + 1, at + 7)):
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.FUTURE)
        if chunk.plain in _SIGNS and at and chunks[at - 1].role is WordRole.SKILL and chunks[at + 1].role.value in "Dd":
            chunks[at] = replace(chunk, role=WordRole.ADVERB, twist=None)


def _was_so_long(chunks: list[Chunk]) -> None:
    """As "yesterday's guitar was 35 minutes", "hoy el dibujo me llevó 55 minutos": so long was it."""
    if not any(chunk.role is WordRole.DAY for chunk in chunks):
        return
    said = letters_of(chunks, 0, len(chunks))
    for at, chunk in enumerate(chunks):
        practice = chunk.plain in _LASTED and "p" in said[:at]  # "my flute practice lasted 50 minutes"
        if (
            (chunk.plain in _CAME_TO or practice)
            and re.search("(?:S|(?:^|[TY])k)p*[YP]*x?$", said[:at])
            and re.match("P?F?[Dda][YKJ.O]*(?:P[TwJp]*)?[.O]*$", said[at + 1 :])
        ):
            chunks[at] = replace(chunk, role=WordRole.ADVERB, twist=None)
            if chunks[at - 1].twist is Twist.SELF:
                chunks[at - 1] = replace(chunks[at - 1], role=WordRole.ADVERB, twist=None)


def cut_amounts(chunks: list[Chunk]) -> None:
    """Amounts beside a number or a fraction that none of them took ("two hours and a third") are no clear ones."""
    for at, chunk in enumerate(chunks):
        if chunk.role in _AMOUNTS and (_is_cut(chunks, at, -1) or _is_cut(chunks, at, 1)):
            chunks[at] = replace(chunk, role=WordRole.AMOUNT_VAGUE, twist=Twist.DOUBT)


IN_ALL = frozenset(["total", "totals", "altogether", "overall", "totaling", "totalling", "sumando", "sumado"])
"""Behind an amount: it says again what stands before."""


def _is_summed(chunks: Sequence[Chunk], at: int) -> bool:
    """As the last of "piano 20 min, guitar 30 min, 50 minutes in total"."""
    return any(not IN_ALL.isdisjoint(chunk.plain.split()) for chunk in chunks[at + 1 : at + 1 + MAX_BETWEEN])


def _is_cut(chunks: Sequence[Chunk], at: int, step: int) -> bool:
    """Whether such a number or fraction stands on this side of an amount."""
    for far in range(1, MAX_BETWEEN + 1):
        place = at + far * step
        if not 0 <= place < len(chunks) or (chunks[place].role in _ENTRY and chunks[place].plain != "punto"):
            return False
        chunk = chunks[place]
        says_how = chunk.role is WordRole.AMOUNT_VAGUE and letters_of(chunks, place + 1, place + 2) == WordRole.CONTENT
        if far == 2 and chunks[at + step].plain == "," and (says_how or chunk.plain in _LITTLE):
            return False  # "15 min, poco pero algo", "an hour, a bit rusty"
        if chunk.role in _AMOUNTS and _is_summed(chunks, max(at, place)):
            return False
        if (
            not _FRACTIONS.isdisjoint(chunk.plain.split())
            or chunk.role in _AMOUNTS
            or chunk.role is WordRole.AMOUNT_VAGUE
        ):
            return True
        if chunk.role is WordRole.NUMBER:
            return _is_of_amount(chunks, at, place)
        comma = chunk.plain == "," and far == 1 and step > 0
        if not comma and chunk.plain not in _ADDS:
            return False
    return False


def _is_of_amount(chunks: Sequence[Chunk], at: int, number: int) -> bool:
    """Whether a number belongs to an amount: not in "45 min, 3 songs", nor in "guitar 4 an hr"."""
    if number < at:
        return number + 1 < at or chunks[number].plain != "4" or _OF_HOUR.search(chunks[at].plain) is not None
    things = chunks[number + 1 : number + 2]
    return not things or things[0].role not in _COUNTS or things[0].plain in _FRACTIONS


def _an_hour_long(chunks: list[Chunk]) -> None:
    """As "hour-long Spanish conversation": an amount without a number."""
    for at, chunk in enumerate(chunks[:-1]):
        behind = [each.plain for each in chunks[at + 1 : at + 3]]
        if chunk.plain == "hour" and chunk.role is WordRole.OTHER and (behind[0] == "long" or behind == ["-", "long"]):
            chunks[at] = replace(chunk, role=WordRole.AMOUNT, minutes=60, unit=60, twist=None)


NUMBERS_FIRST = (
    _an_hour_long, _it_was,
    _after_it, _hours_between, _numbers_behind_amounts, _paired_numbers, _each_day, _from_start_to_stop
)  # fmt: skip
AMOUNTS_THEN = (_for_a_day, _took_so_long, _amounts_told_more, _time_that_is_there, _was_so_long)
"""In this order, words of other kinds between them: see `contexts`."""
