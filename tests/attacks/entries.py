"""Which calls read text that somebody else wrote, and what need not be measured, with reasons.

To register a function: put one line `"module:what": Entry(lambda text: ...)` into the table of its package
(`text_of_gateway.py`, `text_of_agent.py`, `text_of_channels.py`). The call gets a hostile text and hands it to the real
function; it swallows only the errors that function says it raises. Functions it runs on its way are covered with it:
`tests/house/test_text_functions.py` finds text functions by itself and sees which ran.

To excuse one: `"module:Qualified.name": "why its text is never long or never foreign"` in `EXCUSED` of the same file;
a module's path with a slash at its end excuses everything below it.
"""

from dataclasses import dataclass

from tests.attacks.growth import Call


@dataclass(frozen=True, slots=True)
class Entry:
    """One call that reads foreign text."""

    call: Call
    most_chars: int | None = None  # how much of the text it looks at; None: all of it
