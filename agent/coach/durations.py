"""Minutes as people read them. Pure."""


def spell_minutes(minutes: int) -> str:
    """Return "45 min", "2 h" or "12 h 15 min": the same in every language, with a thin space in thousands."""
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    spaced = f"{hours:,}".replace(",", "\u202f")
    return f"{spaced} h {rest} min" if rest else f"{spaced} h"
