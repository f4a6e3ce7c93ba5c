"""Spells minutes as people read them. Pure; how long a text says is `vocabulary.amounts`' to read."""


def spell_minutes(minutes: int) -> str:
    """Minutes as "45 min", "2 h" or "12 h 15 min": the same in every language, thousands apart by a thin space."""
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    spaced = f"{hours:,}".replace(",", "\u202f")
    return f"{spaced} h {rest} min" if rest else f"{spaced} h"
