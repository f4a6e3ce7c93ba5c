"""Words the one change that a command of the coach's made."""

from agent.calendar import today_of
from agent.coach.changes import ChangeResult, change_text
from agent.language import language_of
from gateway.commands.base import Invocation, Results


def change_words(asked: Invocation, results: Results) -> str:
    """What became of the one change."""
    change = results[0]
    if not isinstance(change, ChangeResult):
        raise TypeError(f"a practice change gave a {type(change).__name__}")
    return change_text(language_of(asked.principal.locale), change, today_of(asked.principal, asked.now))
