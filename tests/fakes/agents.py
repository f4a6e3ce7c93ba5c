"""Agents and tools for tests of the loop."""

from pydantic import BaseModel, ConfigDict

from agent.config import AgentConfig
from agent.context.sections import Section
from agent.loop import Agent
from agent.tools.base import Effect, Tool
from agent.transcript import ToolReturned
from gateway.texts import HARNESS
from tests.fakes.turn_port import NOW


class Number(BaseModel):
    """Arguments of most tools here."""

    model_config = ConfigDict(extra="forbid")
    n: int = 0


def a_tool(name, run, arguments=Number, effect=Effect.NONE, **flags):
    return Tool(name=name, description=name, arguments=arguments, run=run, effect=effect, **flags)


async def double(_context, arguments):
    return arguments.n * 2


def an_agent(model, *tools, **limits):
    return Agent(
        model=model,
        tools=tools,
        prompt=lambda *_: {Section.IDENTITY: "be kind"},
        texts=HARNESS,
        limits=AgentConfig(**limits),
        clock=lambda: NOW,
    )


def returned(port):
    return [event for event in port.events if isinstance(event, ToolReturned)]
