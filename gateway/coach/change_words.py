"""Words the changes that a command of the coach's made."""

from agent.calendar import today_of
from agent.coach.changes import change_text, read_change
from agent.language import language_of
from gateway.commands.base import Invocation, Results


def change_words(asked: Invocation, results: Results) -> str:
    """Return what became of each change."""
    language, today = language_of(asked.principal.locale), today_of(asked.principal, asked.now)
    changes = (read_change(result) for result in results if isinstance(result, dict))
    return "\n\n".join(change_text(language, change, today) for change in changes if change is not None)
