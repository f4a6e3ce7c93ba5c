"""Dates that mean nothing later, such as "tomorrow", in the text of a memory."""

import re

_RELATIVE = re.compile(
    r"\b(today|tonight|tomorrow|yesterday"
    r"|(?:next|last|this|coming)\s+(?:week|weekend|month|year|spring|summer|autumn|fall|winter"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|in\s+\w+\s+(?:days?|weeks?|months?)|\w+\s+(?:days?|weeks?|months?)\s+ago"
    r"|hoy|ayer|anoche|pasado\s+mañana|(?<!la\s)(?<!las\s)mañana"
    r"|(?:próxima|pasada)\s+semana|(?:próximo|pasado)\s+mes|semana\s+(?:que\s+viene|pasada)|mes\s+(?:que\s+viene|pasado)"
    r"|hace\s+\w+\s+(?:días?|semanas?|mes(?:es)?)|dentro\s+de\s+\w+\s+(?:días?|semanas?|mes(?:es)?))\b",
    re.IGNORECASE,
)


def find_relative_date(text: str) -> str | None:
    """Return the first words that name a date relative to the day on which they are read, or None."""
    found = _RELATIVE.search(text)
    return None if found is None else found[0]
