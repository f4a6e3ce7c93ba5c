"""What a tool does, in the words and the language of whoever waits; when they are shown is `live_answer`'s matter."""

from agent.catalogue import Catalogue
from agent.turn_progress import ToolProgress, ToolStarted

MAX_CHARS = 120
"""What is done is said in a line."""


def tool_words(texts: Catalogue, locale: str | None, event: ToolStarted | ToolProgress) -> str:
    """What is said of it: in the tool's own words, else by its name."""
    if isinstance(event, ToolProgress):
        words = texts.text(locale, event.words, **event.values)
    elif event.words:
        words = texts.text(locale, event.words)
    else:
        words = texts.text(locale, "answer.tool_runs", tool=event.name.replace("_", " "))
    return " ".join(words[:MAX_CHARS].split())
