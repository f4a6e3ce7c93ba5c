"""The command `/retry`: ask again what the last turn could not answer, taken from the history."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from agent.definition import Agent
from agent.fallbacks import BY_RULES
from agent.loop import run_turn
from agent.ports import Turn, TurnPorts
from agent.tools.base import Effect
from agent.transcript import AssistantItem, EndReason, Item, NoteItem, ToolItem, TurnStarted, UserItem


async def run_retry_command(turn: Turn, ports: TurnPorts, agent: Agent) -> EndReason:
    """Run the turn as if it had begun with the earlier question; say so if there is none.

    Raises:
        Fenced: another process owns the session; nothing more was written.
    """
    if not _is_unanswered(turn.history):
        text = agent.texts.text(turn.principal.locale, "answer.nothing_to_retry")
        if await ports.journal.finish(EndReason.COMPLETED, text, None, text):
            return EndReason.COMPLETED
        return await run_turn(turn, ports, agent)
    readers = frozenset(tool.name for tool in agent.tools if tool.effect is Effect.NONE)
    return await run_turn(_as_asked_before(turn, readers), ports, agent)


def _is_unanswered(history: Sequence[Item]) -> bool:
    """Return True if the last turn ended without an answer of a model."""
    after = _behind_the_question(history)
    if after is None:
        return False
    if _is_by_rules(after):
        return True
    return isinstance(history[-1], NoteItem) or not any(
        isinstance(item, AssistantItem) and item.text.strip() and not item.tool_calls for item in after
    )


def _is_by_rules(after: Sequence[Item]) -> bool:
    return any(isinstance(item, NoteItem) and item.text == BY_RULES for item in after)


def _behind_the_question(history: Sequence[Item]) -> Sequence[Item] | None:
    """Return the items after the person's last message, or None if there is no message."""
    for place in range(len(history) - 1, -1, -1):
        item = history[place]
        if isinstance(item, UserItem) and item.own:
            return history[place + 1 :]
    return None


def _as_asked_before(turn: Turn, readers: Collection[str]) -> Turn:
    """Return the turn with the earlier question in place of `/retry`.

    If a model's tools have run, the turn continues from their results; tools run by rules do not count.
    """
    after = _behind_the_question(turn.history) or ()
    free = readers if _is_by_rules(after) else ()
    if any(isinstance(item, ToolItem) and item.name not in free for item in after):
        return turn
    end = begin = len(turn.history) - len(after)
    while begin and isinstance(said := turn.history[begin - 1], UserItem) and said.own:
        begin -= 1
    asked = tuple(item for item in turn.history[begin:end] if isinstance(item, UserItem))
    events = [replace(event, items=asked) if isinstance(event, TurnStarted) else event for event in turn.events]
    return replace(turn, history=turn.history[:begin], events=events, history_tokens=None)
