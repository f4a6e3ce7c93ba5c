"""A turn that a person starts with the command of a skill: `/practice_session guitar` begins by loading that skill.

The load is a call of the tool `skill` in the journal, as if the model had made it.
"""

import json
from dataclasses import replace

from agent.definition import Agent
from agent.loop import run_turn
from agent.ports import Turn, TurnPorts
from agent.skills.skill import MAX_ARGUMENTS_CHARS
from agent.skills.tools import SKILL, LibraryOf, RunInFork, run_in_no_fork, with_started
from agent.transcript import EndReason, ModelResponded, StopReason, ToolCall, TurnStarted

BY_COMMAND = "command"
"""Stands in the journal for the model's name."""


async def run_skill_command(
    turn: Turn, ports: TurnPorts, agent: Agent, *, library_of: LibraryOf, run_in_fork: RunInFork = run_in_no_fork
) -> EndReason:
    """Load the skill that the command names, then run the turn; resume from the turn's journal.

    Raises:
        Fenced: another process owns the session; nothing more was written.
    """
    command, arguments = _words_of(turn)
    found = library_of(turn.principal).find(command)
    name = command if found is None else found.name
    if not any(isinstance(event, ModelResponded) for event in turn.events):
        given = json.dumps({"name": name[:64], "arguments": arguments[:MAX_ARGUMENTS_CHARS]}, ensure_ascii=False)
        call = ToolCall(f"skill_{turn.id.replace('-', '')}", SKILL, given)
        response = ModelResponded(step=0, text="", tool_calls=(call,), stop=StopReason.TOOLS, model=BY_COMMAND)
        await ports.journal.record(response)
        turn = replace(turn, events=(*turn.events, response))
    return await run_turn(turn, ports, replace(agent, tools=with_started(agent.tools, library_of, name, run_in_fork)))


def _words_of(turn: Turn) -> tuple[str, str]:
    """Return the command without its slash, and its arguments."""
    said = next((item.text for event in turn.events if isinstance(event, TurnStarted) for item in event.items), "")
    command, *rest = said.strip().removeprefix("/").split(maxsplit=1) or [""]
    return command.lower(), "".join(rest).strip()
