"""The words of which amounts are made, in English and Spanish: numbers, units, halves. Data, no rules."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AmountWords:
    """The words of one language, case-folded."""

    numbers: Mapping[str, int]
    ones: frozenset[str]  # a, an, un: one, before a unit only
    hours: frozenset[str]
    minutes: frozenset[str]
    half: frozenset[str]
    quarter: frozenset[str]
    conjunctions: frozenset[str]  # between hours and minutes


ENGLISH_AMOUNTS = AmountWords(
    numbers={
        "one": 1,
        "two": 2,
        "three": 3,
        "four": 4,
        "five": 5,
        "six": 6,
        "seven": 7,
        "eight": 8,
        "nine": 9,
        "ten": 10,
        "eleven": 11,
        "twelve": 12,
        "thirteen": 13,
        "fourteen": 14,
        "fifteen": 15,
        "sixteen": 16,
        "seventeen": 17,
        "eighteen": 18,
        "nineteen": 19,
        "twenty": 20,
        "thirty": 30,
        "forty": 40,
        "fifty": 50,
        "sixty": 60,
        "seventy": 70,
        "eighty": 80,
        "ninety": 90,
        "fourty": 40,
        "fourtyfive": 45,
        "hundred": 100,
        "zero": 0,
    },
    ones=frozenset(["a", "an", "one"]),
    hours=frozenset(["h", "hour", "hour's", "hours", "hours'", "hr", "hrs"]),
    minutes=frozenset(
        [
            "m",
            "min",
            "minites",
            "mins",
            "mintues",
            "minuets",
            "minuets'",
            "minute",
            "minutes",
            "minutes'",
            "minutess",
            "minuts",
        ]
    ),
    half=frozenset(["half"]),
    quarter=frozenset(["quarter", "quarters"]),
    conjunctions=frozenset(["&", "and", "n"]),
)

SPANISH_AMOUNTS = AmountWords(
    numbers={
        "uno": 1,
        "dos": 2,
        "tres": 3,
        "cuatro": 4,
        "cinco": 5,
        "seis": 6,
        "siete": 7,
        "ocho": 8,
        "nueve": 9,
        "diez": 10,
        "once": 11,
        "doce": 12,
        "trece": 13,
        "catorce": 14,
        "quince": 15,
        "dieciséis": 16,
        "diecisiete": 17,
        "dieciocho": 18,
        "diecinueve": 19,
        "veinte": 20,
        "veintiuno": 21,
        "veintidós": 22,
        "veintitrés": 23,
        "veinticuatro": 24,
        "veinticinco": 25,
        "veintiséis": 26,
        "veintisiete": 27,
        "veintiocho": 28,
        "veintinueve": 29,
        "treinta": 30,
        "cuarenta": 40,
        "cincuenta": 50,
        "sesenta": 60,
        "setenta": 70,
        "ochenta": 80,
        "noventa": 90,
        "cien": 100,
        "ciento": 100,
        "cero": 0,
        "veintiun": 21,
        "veintiún": 21,
    },
    ones=frozenset(["un", "una"]),
    hours=frozenset(["hora", "horas", "horaz", "horita", "horitas", "hs"]),
    minutes=frozenset(["mimutos", "minitos", "minuticos", "minutito", "minutitos", "minuto", "minutos"]),
    half=frozenset(["media", "medio"]),
    quarter=frozenset(["cuartito", "cuarto", "cuartos"]),
    conjunctions=frozenset(["con", "y"]),
)
