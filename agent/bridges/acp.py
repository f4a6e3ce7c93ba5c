"""Coding agents that speak the Agent Client Protocol: a program for each answer, which goes on with its session."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import structlog
from acp import PROTOCOL_VERSION, RequestError
from acp.client.connection import ClientSideConnection
from acp.helpers import image_block, text_block
from acp.schema import (
    ClientCapabilities,
    ImageContentBlock,
    Implementation,
    InitializeResponse,
    PromptResponse,
    TextContentBlock,
)
from pydantic import JsonValue, ValidationError

from agent.bounded import beside
from agent.bridges.acp_calls import PromptProgress, asked_calls
from agent.bridges.acp_client import AcpClient
from agent.bridges.notes import as_note, conversation_note, to_lines
from agent.bridges.port import Exchange, ForeignEvent
from agent.bridges.table import command_of
from agent.child_process import bare_environment
from agent.errors import FailureKind
from agent.models.failures import clean, failure
from agent.models.openai_format import spoken_text
from agent.peer_process import PeerProcess, run_peer
from agent.pictures import Unseen, without_pictures
from agent.ports import ModelFailure
from agent.transcript import AssistantItem, Item, ToolCall
from agent.wellformed import one_line

log = structlog.get_logger()

OPEN_S = 60.0
"""Seconds in which a program must start and open a session; `npx` may download it first."""

AUTH_REQUIRED = -32000


def connect(name: str, place: str) -> "AcpAgent":
    """Return the agent that this command starts.

    Raises:
        UnusableAgent: there is no such program.
    """
    return AcpAgent(name, command_of(place))


class AcpAgent:
    """A command that speaks ACP over its pipes."""

    title = ""
    steers = True
    keeps_state = False

    def __init__(self, name: str, argv: Sequence[str], *, open_s: float = OPEN_S) -> None:
        self.name = name
        self._argv = argv
        self._open_s = open_s

    async def run(self, exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        """Yield what the agent reports of a prompt; see `ForeignAgent`. If the turn ends before, it is cancelled."""
        try:
            async with run_peer(self._argv, bare_environment({})) as peer:
                try:
                    async with aclosing(self._answer(peer, exchange)) as events:
                        async for event in events:
                            yield event
                finally:
                    if peer.last_words:
                        log.info("acp_agent_stderr", agent=self.name, text=peer.last_words)
        except OSError as problem:
            words = f"the program {self._argv[0]} cannot be started ({problem.strerror})"
            raise failure(FailureKind.BAD_REQUEST, words) from problem

    async def _answer(self, peer: PeerProcess, exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        client = AcpClient(peer)
        connection = ClientSideConnection(cast("Any", client), client)
        try:
            async with asyncio.timeout(self._open_s):
                agent = await self._initialize(connection)
                session, is_new = await self._open_session(connection, agent, exchange)
            seen = exchange if _sees(agent) else replace(exchange, items=without_pictures(exchange.items, Unseen.BLIND))
            prompt: list[Any] = [*prompt_of(seen, is_new=is_new)]
            about = {"tenk-gateway": {"key": exchange.key, **exchange.about}}
            async with beside(client.ask(session, connection.prompt(session, prompt, **about))) as asking:
                progress = PromptProgress(exchange, {"session": session})
                try:
                    async for event in _events(client, progress):
                        yield event
                finally:
                    if not asking.done():
                        await client.cancel(connection, asking)
        except (RequestError, ConnectionError, TimeoutError, ValidationError) as problem:
            await connection.close()
            raise await _failure(peer, problem) from problem
        finally:
            await connection.close()

    async def _initialize(self, connection: ClientSideConnection) -> InitializeResponse:
        named = Implementation(name="tenk-gateway", version=version("tenk-gateway"))
        agent = await connection.initialize(PROTOCOL_VERSION, ClientCapabilities(), named)
        if agent.protocol_version != PROTOCOL_VERSION:
            words = f"it speaks version {agent.protocol_version} of ACP; the gateway speaks {PROTOCOL_VERSION}"
            raise failure(FailureKind.BAD_REQUEST, words)
        return agent

    async def _open_session(
        self, connection: ClientSideConnection, agent: InitializeResponse, exchange: Exchange
    ) -> tuple[str, bool]:
        """Return the id of the conversation's session, and True if it is new."""
        try:
            kept = _session_in(exchange.state(self.name))
            if kept and await _resume(connection, agent, kept):
                return kept, False
            return (await connection.new_session(str(Path.cwd()))).session_id, True
        except RequestError as refused:
            if refused.code != AUTH_REQUIRED:
                raise
            methods = ", ".join(f'"{each.name}"' for each in agent.auth_methods or ()) or "it names no method"
            said = f"it wants a login ({methods}) and says: {one_line(refused)}"
            advice = "log in with its own command, as the user that runs the gateway"
            raise failure(FailureKind.AUTH, f"{said}; {advice}") from refused


async def _events(client: AcpClient, progress: PromptProgress) -> AsyncGenerator[ForeignEvent, None]:
    """Yield what the agent reports, until it answers or asks."""
    while not progress.asks:
        match await client.heard.get():
            case Exception() as problem:
                raise problem
            case PromptResponse() as ended:
                for event in progress.finish(ended):
                    yield event
                return
            case reported:
                for event in progress.take(reported):
                    yield event


def _sees(agent: InitializeResponse) -> bool:
    able = agent.agent_capabilities and agent.agent_capabilities.prompt_capabilities
    return bool(able and able.image)


async def _resume(connection: ClientSideConnection, agent: InitializeResponse, session: str) -> bool:
    """Go on with a session; return False if the agent cannot, or has lost it."""
    able = agent.agent_capabilities
    try:
        if able and able.session_capabilities and able.session_capabilities.resume:
            await connection.resume_session(session, str(Path.cwd()))
        elif able and able.load_session:
            await connection.load_session(str(Path.cwd()), session)
        else:
            return False
    except RequestError as refused:
        if refused.code == AUTH_REQUIRED:
            raise
        return False
    return True


def _session_in(state: JsonValue) -> str:
    return str(state.get("session", "")) if isinstance(state, dict) else ""


async def _failure(peer: PeerProcess, problem: Exception) -> ModelFailure:
    kind, words = FailureKind.NETWORK, ""
    match problem:
        case RequestError():
            kind = FailureKind.AUTH if problem.code == AUTH_REQUIRED else FailureKind.SERVER
            words = one_line(f"it says: {problem} {json.dumps(problem.data) if problem.data else ''}")
        case TimeoutError():
            kind, words = FailureKind.TIMEOUT, "it opened no session in time"
        case ValidationError():
            words = f"its answer is not ACP: no {problem.title}"
        case _:
            await peer.stop()  # its exit code says more
    return failure(kind, clean(peer.explain(words), ""))


# ---------------------------------------------------------------- what the agent is told


def prompt_of(exchange: Exchange, *, is_new: bool) -> list[TextContentBlock | ImageContentBlock]:
    """Return the blocks of a prompt: notes about what the session cannot know, and the messages to answer."""
    new, notes = exchange.unanswered, []
    if is_new:
        notes = [*(as_note(known) for known in (exchange.hints, exchange.memory) if known), conversation_note(exchange)]
    if not new:
        notes.append(as_note(_go_on(exchange)))
    blocks: list[TextContentBlock | ImageContentBlock] = [text_block(note) for note in notes if note]
    for item in new:
        blocks += [image_block(b64encode(content).decode(), mime) for mime, content in exchange.pictures_of(item)]
        blocks.append(text_block(spoken_text(item)))
    return blocks


def _go_on(exchange: Exchange) -> str:
    """Return words that make a session go on with this turn's messages, which it has heard before."""
    asked = "\n".join(map(spoken_text, exchange.said))
    if answers := [_answer_words(call, exchange.consents[call.id]) for call in asked_calls(exchange)]:
        return "\n".join((f"You stopped to ask, while you answered: {asked}", *answers, "Go on."))
    return "\n".join((f"You were interrupted while you answered: {asked}", *_last_results(exchange.items), "Go on."))


def _answer_words(call: ToolCall, allowed: bool) -> str:
    said = "The person allows this once, so call it again" if allowed else "The person does not allow this"
    return f"{said}: {call.name} {call.arguments}"


def _last_results(items: Sequence[Item]) -> list[str]:
    """Return the results after the last response as text."""
    at = max((at for at, item in enumerate(items) if isinstance(item, AssistantItem)), default=len(items))
    return to_lines(items[at + 1 :])
