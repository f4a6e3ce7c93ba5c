"""Changes that the coach's commands make, each in the commit of its command, and the answers to them."""

from collections.abc import Sequence

from agent.calendar import today_of
from agent.catalogue import language_of
from agent.coach.changes import change_text, read_change
from agent.ports import Change, LocalEffect
from agent.tools.base import ToolError
from gateway.commands.base import Invocation, Reply, Write
from gateway.store.engine import Connection


def change_practice(asked: Invocation, *effects: LocalEffect, more: str = "") -> Write:
    """Make these changes and answer with the result of each, and `more` below."""
    return Write(_change_and_say, asked, effects, more)


def _change_and_say(connection: Connection, asked: Invocation, effects: Sequence[LocalEffect], more: str) -> Reply:
    language, today = language_of(asked.principal.locale), today_of(asked.principal, asked.now)
    results = [_run(connection, asked, index, effect) for index, effect in enumerate(effects)]
    changes = [read_change(result) for result in results if isinstance(result, dict)]
    said = [change_text(language, change, today) for change in changes if change is not None]
    return Reply("\n\n".join([*said, *([more] if more else [])]))


def _run(connection: Connection, asked: Invocation, index: int, effect: LocalEffect) -> object:
    """Make a change; return its result, or the data of its refusal. A refusal is raised before anything is written."""
    try:
        return effect.run(Change(connection, asked.principal, f"{asked.key}/{index}", asked.now))
    except ToolError as refused:
        return refused.data
