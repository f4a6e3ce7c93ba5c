"""`tenk chat`: a conversation in this terminal, with the running gateway or one started for it."""

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from http import HTTPStatus
from pathlib import Path

import aiohttp
import click

from agent.permission_rules import PermissionRule
from agent.transcript import EndReason
from channels.api.config import ApiAccount
from channels.console.client import ConsoleClient
from channels.console.limits import PATH
from channels.web.config import WebAccount
from gateway.app import serve
from gateway.cli.client import terminal_locale
from gateway.cli.flags import flag_options
from gateway.cli.local import finish_erasures
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.command_set import check_commands
from gateway.config.settings import ChannelsConfig, Settings, read_sources
from gateway.errors import AlreadyRunning, GatewayError
from gateway.http.config import HttpConfig
from gateway.operators.client import short_name
from gateway.product import check_flags, check_names
from gateway.terminal.conversation import Peer, converse, excess, untaken_lines
from gateway.terminal.faces import Face, JsonFace, PipeFace
from gateway.terminal.sessions import Sessions

START_S = 30.0  # longest start of a gateway
DRAIN_S = 3.0  # time for a gateway started here to finish its turns
POLL_S = 0.02  # between two attempts to connect to a starting gateway
CLOSE_S = 1.0  # time for the closing handshake
NOT_LISTENING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ECONNREFUSED})
RECONNECT_S = 0.5  # between two attempts to reconnect
HISTORY = "chat_history"


@click.command("chat")
@click.option(
    "--print",
    "text",
    metavar="TEXT",
    help="Send TEXT (-: the standard input), write what happens as lines of JSON, and exit; 1 if there is no answer.",
)
@click.option(
    "--resume",
    metavar="[ID]",
    is_flag=False,
    flag_value="",
    help="Resume an earlier conversation of this terminal (see `tenk sessions list`); without ID, choose one.",
)
@click.option(
    "--model", metavar="NAME", help="Use this model (openai:NAME, anthropic:NAME, offline). No gateway may be running."
)
@flag_options("--allow", "--deny")
@config_option
def command(
    text: str | None,
    resume: str | None,
    model: str | None,
    config_path: Path | None,
    allow: tuple[PermissionRule, ...],
    deny: tuple[PermissionRule, ...],
) -> None:
    """Talk to the bot in this terminal. If no gateway is running, this starts one until you leave.

    Without a terminal, it sends each line of standard input and prints the answers. `--allow` and `--deny` are for a
    gateway started here: no other may be running.
    """
    if model:
        os.environ["TENK_MODEL"] = model
    settings = prepare(config_path)
    if text == "-":
        text = sys.stdin.buffer.read().decode(errors="replace")
    try:
        check_flags(settings, (*allow, *deny))
        asyncio.run(chat(settings, text, resume, (*allow, *deny), config_path, own=bool(model or allow or deny)))
    except KeyboardInterrupt:
        sys.stdout.write("\n")


async def chat(
    settings: Settings,
    text: str | None,
    resume: str | None = None,
    flags: Sequence[PermissionRule] = (),
    config_path: Path | None = None,
    *,
    own: bool = False,
) -> None:
    """Talk until the input ends, or send `text` and return when it is answered.

    `resume` is the end of a conversation's id; with `own` no gateway may run already. `flags` are permission rules of a
    gateway that is started here.

    Raises:
        GatewayError: no gateway can be reached, or `text` was not answered; the message says what to do.
    """
    if text is not None and (why_not := excess(text) or ("" if text.strip() else "not sent: the text is empty")):
        raise GatewayError(why_not)
    async with AsyncExitStack() as held:
        peer = await _connect(settings, held)
        if peer is not None and own:
            raise GatewayError(
                "a gateway with its own model and rules is running here: stop it, or use `tenk config set`"
            )
        if peer is not None:
            await _talk(settings, held, peer, text, resume, own=False)
            return
    check_names(settings, read_sources(config_path, os.environ))
    check_commands(settings)
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(_serve(settings, flags))
        try:
            async with AsyncExitStack() as held:
                peer = await _connect_to_own(settings, held)
                await _talk(settings, held, peer, text, resume, own=True)
        finally:
            if not serving.done():
                signal.raise_signal(signal.SIGTERM)  # the normal shutdown, which lets turns finish
    await finish_erasures(settings)


async def _talk(
    settings: Settings, held: AsyncExitStack, peer: Peer, text: str | None, resume: str | None, *, own: bool
) -> None:
    """Send lines and show answers until the input ends; resume a conversation first.

    Raises:
        GatewayError: there is no such conversation, or `text` was not answered.
    """
    sessions = Sessions(settings.control_path)
    before = None if resume is None else await sessions.to_resume(resume)
    face = _face(settings, sessions, text)

    async def reconnect() -> Peer:
        while (again := await _connect(settings, held)) is None:
            await asyncio.sleep(RECONNECT_S)
        return again

    locale = terminal_locale(os.environ)
    client = await converse(face, peer, locale, before=before, reconnect=None if own else reconnect)
    sys.stderr.writelines(untaken_lines(client))
    if text is not None:
        _check_answer(client)


def _face(settings: Settings, sessions: Sessions, text: str | None) -> Face:
    if text is not None:
        return JsonFace(text)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return PipeFace(None)
    from gateway.terminal.screen import Screen  # noqa: PLC0415  0.2 s, for a person's terminal alone

    return Screen(settings.home / HISTORY, sessions)


def _check_answer(client: ConsoleClient) -> None:
    """Raise an error if a text that was sent has no answer.

    Raises:
        GatewayError: the agent asks for something first, failed, or was stopped.
    """
    if client.waits_for_person:
        raise GatewayError("the agent waits for your decision: answer it in `tenk chat`")
    if client.last_reason not in {"", EndReason.COMPLETED}:
        raise GatewayError(f"the agent did not answer ({client.last_reason}); see `tenk trace`")


async def _serve(settings: Settings, flags: Sequence[PermissionRule]) -> None:
    """Run a gateway that has only the console channel."""
    console_only = settings.model_copy(
        update={
            "channels": ChannelsConfig(web=WebAccount(enabled=False), api=ApiAccount(enabled=False)),
            "http": HttpConfig(listen="127.0.0.1:0"),
            "sessions": settings.sessions.model_copy(update={"drain_s": DRAIN_S}),
        }
    )
    try:
        await serve(console_only, flags=flags)
    except AlreadyRunning as running:
        raise GatewayError(
            f"the gateway does not answer: wait until it has started or stopped ({running})"
        ) from running


async def _connect(settings: Settings, held: AsyncExitStack) -> aiohttp.ClientWebSocketResponse | None:
    """Return a WebSocket to the running gateway, which `held` closes; None if no gateway listens.

    Raises:
        GatewayError: the socket cannot be used, or the gateway does not answer terminals.
    """
    path = settings.control_path
    try:
        async with asyncio.timeout(START_S):
            while True:
                try:
                    return await _open(path, held)
                except aiohttp.WSServerHandshakeError as refusal:
                    if refusal.status != HTTPStatus.SERVICE_UNAVAILABLE:
                        raise GatewayError(
                            f"the gateway on {settings.home} does not answer terminals: set channels.console.enabled = "
                            "true there and start it again"
                        ) from refusal
                await asyncio.sleep(POLL_S)  # it starts, or ends
    except TimeoutError:
        raise GatewayError(f"the gateway has not answered within {START_S:g} s; see `tenk status`") from None
    except (aiohttp.ClientError, OSError) as error:
        if isinstance(error, OSError) and error.errno in NOT_LISTENING:
            return None
        raise GatewayError(f"the control socket {path} cannot be used: {error}") from error


async def _connect_to_own(settings: Settings, held: AsyncExitStack) -> aiohttp.ClientWebSocketResponse:
    async with asyncio.timeout(START_S):
        while (peer := await _connect(settings, held)) is None:
            await asyncio.sleep(POLL_S)
    return peer


async def _open(path: Path, held: AsyncExitStack) -> aiohttp.ClientWebSocketResponse:
    async with AsyncExitStack() as undo:
        connector = aiohttp.UnixConnector(undo.enter_context(short_name(path)))
        session = await undo.enter_async_context(aiohttp.ClientSession(connector=connector))
        peer = await undo.enter_async_context(
            session.ws_connect(f"http://localhost{PATH}", timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_S))
        )
        held.push_async_exit(undo.pop_all())
    return peer
