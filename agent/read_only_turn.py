"""Turns with read-only tools, for requests that must not change anything."""

from dataclasses import replace

from agent.definition import Agent
from agent.loop import run_turn
from agent.ports import Turn, TurnPorts
from agent.tools.base import Effect
from agent.transcript import EndReason

ONLY_READS = """\
This request can change nothing: tools that write are not offered. A program may have sent it by itself (for a title, \
tags or suggestions), or it asks for another answer to what was said before. Answer what is asked. If the person wants \
something logged or changed that is not yet, ask them to say it in a new message."""


async def run_read_only(turn: Turn, ports: TurnPorts, agent: Agent) -> EndReason:
    """Run a turn that changes nothing, and return how it ended.

    Raises:
        Fenced: another process owns the session; nothing more was written.
    """
    readers = [tool for tool in agent.tools if tool.effect is Effect.NONE]
    hints = "\n\n".join(filter(None, (turn.hints, ONLY_READS)))
    return await run_turn(replace(turn, hints=hints), ports, replace(agent, tools=readers))
