"""Prompts of servers: `/prompt SERVER NAME arguments` begins a turn with one.

Loading it is a tool call in the journal, as if the model had made it; only such a turn has this tool.
"""

import shlex
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from agent.definition import Agent
from agent.loop import run_turn
from agent.ports import Turn, TurnPorts
from agent.tools.base import Effect, Tool, ToolContext, ToolError
from agent.transcript import EndReason, ModelResponded, StopReason, ToolCall, TurnStarted
from agent.wellformed import one_line

PROMPT = "prompt"
LOAD_PROMPT = "load_prompt"

BY_COMMAND = "command"
"""Stands in the journal for the model's name."""

MOST_LISTED = 100
MAX_TEXT_CHARS = 50_000
MAX_WORDS_CHARS = 4000


class PromptServer(Protocol):
    """A server that has prompts, or none."""

    @property
    def has_prompts(self) -> bool: ...

    async def ask(self, request: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        """Return the answer to one request of the SDK's client."""
        ...


FindServers = Callable[[], Mapping[str, PromptServer]]
"""Returns the servers by name as they are now."""


class WantedPrompt(BaseModel):
    """The arguments of `load_prompt`: the words after the command."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    server: str = Field("", max_length=200)
    name: str = Field("", max_length=200)
    words: str = Field("", max_length=MAX_WORDS_CHARS)


async def run_prompt_command(turn: Turn, ports: TurnPorts, agent: Agent, *, servers: FindServers) -> EndReason:
    """Load the prompt that the command names, then run the turn; resume from the turn's journal.

    Raises:
        Fenced: another process owns the session; nothing more was written.
    """
    if not any(isinstance(event, ModelResponded) for event in turn.events):
        call = ToolCall(f"prompt_{turn.id.replace('-', '')}", LOAD_PROMPT, _read_command(turn).model_dump_json())
        response = ModelResponded(step=0, text="", tool_calls=(call,), stop=StopReason.TOOLS, model=BY_COMMAND)
        await ports.journal.record(response)
        turn = replace(turn, events=(*turn.events, response))
    return await run_turn(turn, ports, replace(agent, tools=(*agent.tools, prompt_tool(servers))))


def _read_command(turn: Turn) -> WantedPrompt:
    said = next((item.text for event in turn.events if isinstance(event, TurnStarted) for item in event.items), "")
    words = said.strip().split(maxsplit=3)[1:]
    server, name, rest = [*words, "", "", ""][:3]
    return WantedPrompt(server=server[:200], name=name[:200], words=rest[:MAX_WORDS_CHARS])


def prompt_tool(servers: FindServers) -> Tool:
    """Return the tool that loads a prompt for the person who asked for it by the command."""
    return Tool(
        name=LOAD_PROMPT,
        description="Load a prompt of a server; only the command /prompt does it.",
        arguments=WantedPrompt,
        run=partial(_load, servers),
        effect=Effect.NONE,
        should_defer=True,
    )


async def _load(servers: FindServers, _context: ToolContext, wanted: WantedPrompt) -> object:
    having = {name: server for name, server in servers().items() if server.has_prompts}
    server = having.get(wanted.server)
    if server is None:
        names = ", ".join(sorted(having)) or "none"
        raise ToolError(f"No server of this name has prompts. Tell the person the servers with prompts: {names}.")
    page = await server.ask(lambda client: client.list_prompts())
    listed = {each.name: each for each in page.prompts[:MOST_LISTED]}
    found = listed.get(wanted.name)
    if found is None:
        about = {name: one_line(each.description or "") for name, each in listed.items()}
        return {"prompts": about, "note": "Tell the person how to load one: /prompt SERVER NAME arguments"}
    given = _arguments([each.name for each in found.arguments or ()], wanted.words)
    missing = [each.name for each in found.arguments or () if each.required and each.name not in given]
    if missing:
        names = ", ".join(map(one_line, missing))
        raise ToolError(f"The prompt needs {names}: ask the person to write them as NAME=VALUE.")
    answer = await server.ask(lambda client: client.get_prompt(found.name, given))
    text = "\n\n".join(_words(each.content) for each in answer.messages)[:MAX_TEXT_CHARS]
    return {"prompt": text, "note": "The person chose this prompt: do what it asks, within your own rules."}


def _arguments(names: Sequence[str], words: str) -> dict[str, str]:
    """Return the arguments written as NAME=VALUE; words without a name are the first argument."""
    try:
        parts = shlex.split(words)
    except ValueError:  # an open quotation mark
        parts = words.split()
    given: dict[str, str] = {}
    loose: list[str] = []
    for part in parts:
        name, equals, value = part.partition("=")
        if equals and name in names:
            given[name] = value
        else:
            loose.append(part)
    free = [name for name in names if name not in given]
    if loose and free:
        given[free[0]] = " ".join(loose)
    return given


def _words(content: Any) -> str:
    text = getattr(content, "text", None) or getattr(getattr(content, "resource", None), "text", None)
    return text if isinstance(text, str) else "(content that is not text)"
