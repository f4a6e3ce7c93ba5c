"""What tools found or did is told to the person when the model can no longer say it: nothing is added to it.

An agent may put its own results into words; what it has none for stands in a plain list.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from agent.catalogue import Catalogue
from agent.transcript import WITHHELD, CallOutcome, JournalEvent, ModelResponded, ToolResultRewritten, ToolReturned

TellResult = Callable[[str, object, str | None, date], str | None]
"""(tool, its data, locale, the person's day) to what a person reads; "" says nothing, None leaves it to the list."""

MAX_RESULTS = 10
MAX_LINE_CHARS = 300
MAX_CHARS = 3000


def found_text(
    texts: Catalogue, events: Iterable[JournalEvent], tell: TellResult | None, locale: str | None, today: date
) -> str:
    """What the calls since the turn's last answer came to, oldest first; "" where there is nothing to tell."""
    told: dict[str, None] = {}  # in order, each once
    for returned in _unsaid(events)[-MAX_RESULTS:]:
        data = _data(returned.content)
        words = None if tell is None else tell(returned.name, data, locale, today)
        told[_line(returned.name, data) if words is None else words] = None
    body = "\n\n".join(words for words in told if words.strip())
    if not body:
        return ""
    if len(body) > MAX_CHARS:
        body = f"{body[:MAX_CHARS].rstrip()} …"
    return f"{texts.text(locale, 'answer.found')}\n\n{body}"


def _unsaid(events: Iterable[JournalEvent]) -> Sequence[ToolReturned]:
    """The results that worked and that no answer of the turn has followed."""
    found: list[ToolReturned] = []
    for event in events:
        match event:
            case ToolReturned(outcome=CallOutcome.DONE):
                found.append(event if event.ran_with is None else replace(event, content=WITHHELD))
            case ToolResultRewritten(is_cut=False):  # what a hook took out nobody is told
                key, content = event.call_key, event.content
                found = [replace(each, content=content) if each.call_key == key else each for each in found]
            case ModelResponded(tool_calls=()) if event.text.strip():
                found.clear()
            case _:
                pass
    return found


def _data(content: str) -> object:
    try:
        read = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return read.get("data") if isinstance(read, dict) else None


def _line(tool: str, data: object) -> str:
    """One line of a plain list: the tool's name and the plain values of its data, by their names."""
    said = ", ".join(_values(data))
    if not said:
        return ""
    return f"• {tool}: {said}" if len(said) <= MAX_LINE_CHARS else f"• {tool}: {said[:MAX_LINE_CHARS].rstrip()} …"


def _values(data: object, name: str = "", depth: int = 0) -> Iterator[str]:
    match data:
        case None | "":
            return
        case dict() if depth < 3:
            yield from _inner(data, depth)
        case list() if depth < 3:
            for inner in data[:MAX_RESULTS]:
                yield from _values(inner, name, depth + 1)
        case dict() | list():
            return
        case _:
            spelled = " ".join(str(data).split())[: MAX_LINE_CHARS + 1]
            yield f"{name.replace('_', ' ')} {spelled}" if name else spelled


def _inner(data: Mapping[str, object], depth: int) -> Iterator[str]:
    for name, inner in data.items():
        if not name.endswith("id"):  # of no use to a person
            yield from _values(inner, name, depth + 1)
