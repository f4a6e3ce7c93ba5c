"""A small shop's assistant as a pure function: each framework's scripted model answers by it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

LONG = " ".join(f"word{number}" for number in range(1200))
"""More than a message of Telegram."""


@dataclass(frozen=True, slots=True)
class Say:
    """An answer in pieces; afterwards the model hangs or breaks, if it has trouble."""

    pieces: tuple[str, ...]
    trouble: str = ""  # hang | break


@dataclass(frozen=True, slots=True)
class Use:
    """A call of the tool `price`, `order` or `stock` about a thing."""

    tool: str
    item: str


def decide(heard: Sequence[str], result: str | None = None, pictures: int = 0) -> Say | Use:
    """Return what the model says or calls after these messages of the person.

    `result` is that of its last call, `pictures` the number of those in the last message.
    """
    last = heard[-1].strip().lower()
    if result is not None:
        return Say(("The shop says: ", result))
    if (named := re.fullmatch(r"(price|order|stock) (?:of )?(\w+)", last)) is not None:
        return Use(named[1], named[2])
    if last.startswith("look"):
        return Say((f"I see {pictures} pictures.",))
    if last == "count":
        return Say((f"I have heard {len(heard)} messages.",))
    if last == "long":
        return Say(tuple(LONG[at : at + 1000] for at in range(0, len(LONG), 1000)))
    if last in ("hang", "break"):
        return Say(("One ", "moment"), last)
    return Say(("You said: ", heard[-1]))
