"""The gateway's side of a connection to an ACP agent.

The library's own transport gives the program more of the environment, reads a line of any length into memory, and
updates as fast as they come.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable
from contextlib import suppress
from typing import Any, cast

from acp import RequestError
from acp.client.connection import ClientSideConnection
from acp.schema import (
    PermissionOption,
    PromptResponse,
    RequestPermissionResponse,
    SessionNotification,
    ToolCallUpdate,
)
from pydantic import ValidationError

from agent.bridges.acp_calls import CANCELLED, PermissionAsked, SessionUpdate
from agent.peer_process import MAX_MESSAGE_BYTES, LongLine, PeerProcess
from agent.wellformed import read_object

CANCEL_S = 2.0
"""Seconds in which an agent must end a prompt that is cancelled."""

MOST_WAITING = 64
"""Updates that are read before the turn takes them, and requests of the agent that wait for an answer."""

_SHOWN = {"agent_message_chunk", "tool_call", "tool_call_update"}


class AcpClient:
    """Our side of a connection: its messages, read as the turn takes them, and the agent's questions."""

    def __init__(self, peer: PeerProcess) -> None:
        self.heard: asyncio.Queue[SessionUpdate | PermissionAsked | PromptResponse | Exception] = asyncio.Queue(
            MOST_WAITING
        )
        """The agent's reports of the prompt, at last its end."""
        self._peer = peer
        self._session = ""  # "": nothing is reported
        self._messages = self._read()
        self._writing = asyncio.Lock()
        self._requests = 0  # of the agent, without an answer
        self._questions: set[asyncio.Future[RequestPermissionResponse]] = set()

    async def ask(self, session: str, prompting: Awaitable[PromptResponse]) -> None:
        """Wait for the end of a prompt, and report it after all updates."""
        self._session = session
        try:
            ended: PromptResponse | Exception = await prompting
        except (RequestError, ConnectionError, ValidationError) as problem:
            ended = problem
        await self.heard.put(ended)

    async def cancel(self, connection: ClientSideConnection, asking: "asyncio.Task[None]") -> None:
        """End the prompt; the agent has a while to keep its session."""
        session, self._session = self._session, ""
        while not self.heard.empty():
            self.heard.get_nowait()
        for question in [*self._questions]:
            if not question.done():
                question.set_result(CANCELLED)
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(CANCEL_S):
                await connection.cancel(session)
                await asyncio.wait({asking})

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: object
    ) -> RequestPermissionResponse:
        """Answer the agent's question as the turn decides."""
        if session_id != self._session:
            return CANCELLED
        answer: asyncio.Future[RequestPermissionResponse] = asyncio.get_running_loop().create_future()
        self._questions.add(answer)
        answer.add_done_callback(self._questions.discard)
        await self.heard.put(PermissionAsked(tool_call, options, answer))
        return await answer

    # ---------------------------------------------------------------- a transport of the library

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message; an answer that the program does not read any more is dropped."""
        try:
            async with self._writing:
                await self._peer.write(f"{json.dumps(message)}\n".encode())
        except OSError:
            if "method" in message:
                raise
        self._requests -= "method" not in message

    async def receive(self) -> dict[str, Any] | None:
        """Return the next answer or request; None at the end, or after a fault."""
        return await anext(self._messages, None)

    async def close(self) -> None:
        """Do nothing: the program is stopped by `run_peer`."""

    async def _read(self) -> AsyncGenerator[dict[str, Any], None]:
        """Yield answers and requests; report notifications."""
        while (lines := await self._peer.read_lines()) is not None:
            for line in lines:
                if isinstance(line, LongLine):
                    self._peer.fault = f"it wrote a message of more than {MAX_MESSAGE_BYTES} bytes"
                elif (message := _message_in(line)) is None:
                    if line.strip():
                        self._peer.note_nonsense(line, "ACP")
                elif "id" not in message:
                    await self._report(message, line)
                else:
                    self._requests += "method" in message
                    if self._requests > MOST_WAITING:
                        self._peer.fault = f"it asks more than {MOST_WAITING} questions at once"
                    else:
                        yield message
                if self._peer.fault:
                    return

    async def _report(self, message: dict[str, Any], line: bytes) -> None:
        """Report an update of the session, if a turn needs it."""
        match message:
            case {"method": "session/update", "params": {"update": {"sessionUpdate": str(kind)}, **rest} as params}:
                if kind not in _SHOWN or not self._session or rest.get("sessionId") != self._session:
                    return
                try:
                    update = SessionNotification.model_validate(params).update
                except ValidationError:
                    self._peer.note_nonsense(line, "ACP")
                else:
                    await self.heard.put(cast("SessionUpdate", update))


def _message_in(line: bytes) -> dict[str, Any] | None:
    """Return the message in a line; None if there is none."""
    message = read_object(line.decode(errors="replace"))
    if message is None or isinstance(message.get("method"), str):
        return message
    is_answer = isinstance(message.get("id"), int) and isinstance(message.get("error"), dict | None)
    return message if is_answer else None
