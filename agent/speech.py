"""A wire sends what a person said as one text: who speaks, their words, and behind them what came with the words.

Framing what came with the words is the gateway's work; the format around the text is the wire's.
"""

from agent.transcript import UserItem

MAX_NAME_CHARS = 64


def spoken_text(item: UserItem) -> str:
    """The item for a model. A name cannot be mistaken for words, nor another member's words for the person's own."""
    words = "\n".join(part for part in (item.text, item.data) if part)
    name = _in_one_line(item.sender or "")
    if not item.own:
        return f"[{name or 'Somebody'}, another person here and not the one you answer now:] {words}"
    return f"{name}: {words}" if name else words


def _in_one_line(name: str) -> str:
    shown = "".join(character if character.isprintable() else " " for character in name.replace(":", " "))
    return " ".join(shown.translate(_BRACKETS).split())[:MAX_NAME_CHARS]


_BRACKETS = str.maketrans("[]", "()")
