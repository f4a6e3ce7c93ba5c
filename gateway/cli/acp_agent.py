"""The agent as an editor sees it: its sessions are conversations over the gateway's API."""

import asyncio
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import acp
import structlog
from acp.exceptions import RequestError
from acp.schema import (
    AgentCapabilities,
    AgentThoughtChunk,
    AllowedOutcome,
    ClientCapabilities,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    SessionCapabilities,
    SessionInfo,
    SessionListCapabilities,
)

from gateway.cli.acp_client import EditorClient, EditorMessage, GatewayRefusal, NotReached, Patience
from gateway.cli.acp_updates import (
    STOP_REASONS,
    AnswerText,
    PromptBlock,
    ShownCalls,
    past_updates,
    permission_options,
    refusal,
    to_commands,
    to_message,
    without_numbers,
)
from gateway.cli.client import terminal_locale
from gateway.cli.mcp_serve import KEY
from gateway.errors import GatewayError

MAX_LINE_BYTES = 8_000_000
MOST_SESSIONS = 100
MOST_PROMPTS = 8  # of one session at once; they are answered one after the other
MOST_TURNS = 200  # of a conversation that is shown again
LOOK_EVERY_S = 2.0  # while the person is asked
RUNNING = ("queued", "running")

SESSION_ID = re.compile(r"[A-Za-z0-9._-]{1,48}")

log = structlog.get_logger()


async def serve_editor(socket: Path, environ: Mapping[str, str]) -> None:
    """Serve an editor on standard input and output until it closes them.

    Raises:
        GatewayError: the editor sends something else than the protocol.
    """
    key = environ.get(KEY, "").strip()
    async with EditorClient(socket, key, terminal_locale(environ)) as client:
        agent = EditorAgent(client, has_key=bool(key))
        try:
            # The protocol class also has methods that an agent may leave out.
            await acp.run_agent(cast("acp.Agent", agent), stdio_buffer_limit_bytes=MAX_LINE_BYTES)
        except (AttributeError, ValueError) as error:
            raise GatewayError(
                f"an editor starts this itself, and sends JSON-RPC messages through pipes ({error})"
            ) from error


@dataclass(slots=True)
class EditorSession:
    """One conversation."""

    id: str
    turns: asyncio.Lock = field(default_factory=asyncio.Lock)
    prompts: int = 0  # that run or wait
    stopped: asyncio.Event = field(default_factory=asyncio.Event)


class EditorAgent:
    """The agent's side of the protocol."""

    def __init__(self, client: EditorClient, *, has_key: bool) -> None:
        self._client = client
        self._has_key = has_key
        self._sessions: dict[str, EditorSession] = {}
        self._editor: acp.Client

    def on_connect(self, conn: acp.Client) -> None:
        """Take the editor's side."""
        self._editor = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: Any,
    ) -> InitializeResponse:
        """Return the one version of the protocol that there is here."""
        return InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(embedded_context=True),
                session_capabilities=SessionCapabilities(list=SessionListCapabilities()),
            ),
            agent_info=Implementation(name="tenk", title="TenK", version=version("tenk-gateway")),
            auth_methods=[],
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        """Begin a conversation; it is stored with its first message.

        Raises:
            RequestError: there is no key, or there are too many sessions.
        """
        session = self._open(f"acp-{secrets.token_hex(8)}")
        await self._tell_commands(session)
        return NewSessionResponse(session_id=session.id)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        """Continue a conversation, and show it again.

        Raises:
            RequestError: there is none with this id, there is no key, or the gateway cannot be asked.
        """
        if SESSION_ID.fullmatch(session_id) is None:
            raise _no_session(session_id)
        session = self._open(session_id)
        try:
            found = await self._client.get("sessions", session_id, "turns", limit=MOST_TURNS)
        except GatewayError as error:
            raise _to_error(error) from None
        if not found["turns"]:
            del self._sessions[session_id]
            raise _no_session(session_id)
        for update in past_updates(found["turns"]):
            await self._editor.session_update(session_id, update)
        await self._tell_commands(session)
        return LoadSessionResponse()

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        """Return the conversations of the key's person; a conversation has no folder, so each is in the one asked for.

        Raises:
            RequestError: there is no key, or the gateway cannot be asked.
        """
        self._check_key()
        try:
            found = await self._client.get("sessions", limit=MOST_TURNS)
        except GatewayError as error:
            raise _to_error(error) from None
        here = cwd or str(Path.cwd())
        return ListSessionsResponse(
            sessions=[
                SessionInfo(session_id=each["session"], cwd=here, updated_at=each["heard_at"])
                for each in found["sessions"]
            ]
        )

    async def prompt(self, session_id: str, prompt: Sequence[PromptBlock], **_: Any) -> PromptResponse:
        """Send a message and pass on what happens until its answer is whole.

        Raises:
            RequestError: it cannot be sent, or the gateway refused it or was away too long.
        """
        session = self._sessions.get(session_id)
        if session is None:
            raise _no_session(session_id)
        text = to_message(prompt)
        if session.prompts >= MOST_PROMPTS:
            raise refusal(f"{MOST_PROMPTS} prompts of this session wait already: wait for an answer")
        session.prompts += 1
        try:
            async with session.turns:
                session.stopped.clear()
                return await EditorTurn(self._client, self._editor, session).run(text)
        except GatewayError as error:
            raise _to_error(error) from None
        finally:
            session.prompts -= 1

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop the session's turn."""
        session = self._sessions.get(session_id)
        if session is not None:
            session.stopped.set()
            await stop(self._client, session)

    def _open(self, session_id: str) -> EditorSession:
        self._check_key()
        if len(self._sessions) >= MOST_SESSIONS:
            raise refusal(f"{MOST_SESSIONS} sessions are open: start the agent again")
        return self._sessions.setdefault(session_id, EditorSession(session_id))

    def _check_key(self) -> None:
        if not self._has_key:
            raise RequestError(
                -32000, f'set {KEY} in the editor\'s settings to a key; `tenk keys create "my editor"` makes one'
            )

    async def _tell_commands(self, session: EditorSession) -> None:
        """Tell the editor the commands; without a gateway there are none yet."""
        try:
            found = await self._client.get("commands")
        except GatewayError as error:
            log.warning("commands_not_told", error=str(error))
        else:
            await self._editor.session_update(session.id, to_commands(found["commands"]))


class EditorTurn:
    """One message of an editor until its answer is whole."""

    def __init__(self, client: EditorClient, editor: acp.Client, session: EditorSession) -> None:
        self._client = client
        self._editor = editor
        self._session = session
        self._once = secrets.token_hex(16)
        self._text = AnswerText()
        self._calls = ShownCalls()

    async def run(self, text: str) -> PromptResponse:
        """Send the message, put the agent's questions to the person, and return how it ended.

        Raises:
            GatewayError: the gateway refused it or was away too long.
        """
        said = EditorMessage(session=self._session.id, text=text, once=self._once)
        turn = await self._follow(said)
        while turn is not None and turn["state"] == "waiting" and (question := turn["question"]) is not None:
            answer = await self._ask(turn, question)
            if answer is not None:
                once = f"{self._once}-{question['question']}"
                turn = await self._follow(EditorMessage(session=self._session.id, text=answer, once=once))
            else:
                turn = await self._follow(said)
        return PromptResponse(stop_reason="cancelled" if turn is None else STOP_REASONS.get(turn["state"], "end_turn"))

    async def _follow(self, said: EditorMessage) -> Mapping[str, Any] | None:
        """Return the settled turn; None: the editor cancelled while the gateway was away.

        Raises:
            GatewayError: the gateway refused it or was away too long.
        """
        patience = Patience()

        async def hear(name: str, event: Mapping[str, Any]) -> None:
            patience.note_answer()
            await self._hear(name, event)

        while True:
            self._text.begin_stream()
            try:
                turn = await self._client.follow(said, hear)
            except NotReached as lost:
                is_first = patience.begun_s is None
                wait_s = patience.next_wait_s(asyncio.get_running_loop().time(), lost)
                if is_first:
                    log.warning("gateway_away", error=str(lost), again_after_s=wait_s)
                    await self._tell_lost()
                if await _is_set_within(self._session.stopped, wait_s):
                    return None
            else:
                if turn["state"] not in RUNNING:
                    return turn

    async def _hear(self, name: str, event: Mapping[str, Any]) -> None:
        match name:
            case "turn" if self._session.stopped.is_set():  # the editor cancelled before the message was stored
                await stop(self._client, self._session)
            case "delta" | "replace":
                await self._tell_text()
                self._text.take(name, event["text"])
            case "tool_call":
                await self._tell_text()
                for update in self._calls.start(event):
                    await self._editor.session_update(self._session.id, update)
            case "tool_result":
                await self._tell_text()
                await self._editor.session_update(self._session.id, self._calls.end(event))
            case "done" if event["state"] != "waiting":  # else the text is the question, which is put in its own way
                await self._tell_text()

    async def _tell_text(self) -> None:
        if (news := self._text.news()) is not None:
            await self._editor.session_update(self._session.id, news)

    async def _tell_lost(self) -> None:
        words = "The gateway does not answer. Your message waits until it does; `tenk run` starts it.\n"
        thought = AgentThoughtChunk(session_update="agent_thought_chunk", content=acp.text_block(words))
        await self._editor.session_update(self._session.id, thought)

    async def _ask(self, turn: Mapping[str, Any], question: Mapping[str, Any]) -> str | None:
        """Return the message that answers a question; None: it was answered elsewhere, withdrawn, or timed out."""
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(self._ask_editor(turn, question))
            watching = tasks.create_task(self._until_over(turn))
            await asyncio.wait([asking, watching], return_when=asyncio.FIRST_COMPLETED)
            asking.cancel()
            watching.cancel()
        return None if asking.cancelled() else asking.result()

    async def _ask_editor(self, turn: Mapping[str, Any], question: Mapping[str, Any]) -> str | None:
        options = permission_options(question)
        call = self._calls.ask(question, without_numbers(turn["answer"]))
        try:
            answer = await self._editor.request_permission(self._session.id, call, options)
        except (RequestError, ConnectionError) as error:
            log.warning("question_not_put", error=str(error))
            return str(options[-1].option_id)  # the last one denies
        chosen = answer.outcome.option_id if isinstance(answer.outcome, AllowedOutcome) else None
        if chosen not in {option.option_id for option in options}:
            await stop(self._client, self._session)
            return None
        return chosen

    async def _until_over(self, turn: Mapping[str, Any]) -> None:
        """Return once the turn waits no more."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                now = await self._client.get("sessions", self._session.id, "turns", turn["turn"])
            except NotReached:
                continue
            except GatewayRefusal:  # the turn is asked for again, which says why
                return
            if now["state"] != "waiting":
                return


async def stop(client: EditorClient, session: EditorSession) -> None:
    """Stop the session's turn, if the gateway can be reached."""
    try:
        await client.say(EditorMessage(session=session.id, text="/stop", once=secrets.token_hex(16)))
    except GatewayError as error:
        log.warning("turn_not_stopped", error=str(error))


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def _no_session(session_id: str) -> RequestError:
    return RequestError(-32002, f"there is no session {session_id[:60]!r} here: begin a new one, or load one")


def _to_error(error: GatewayError) -> RequestError:
    is_key = isinstance(error, GatewayRefusal) and error.status == 401
    return RequestError(-32000 if is_key else -32603, f"{error}; see `tenk keys list`" if is_key else str(error))
