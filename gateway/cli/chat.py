"""`tenk chat`: a conversation in this terminal, with the running gateway or one started for it."""

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from http import HTTPStatus
from pathlib import Path

import aiohttp
import click

from agent.permission_rules import PermissionRule
from channels.api.config import ApiAccount
from channels.console.client import ConsoleClient
from channels.console.limits import PATH
from channels.console.text import printable
from channels.viewers.viewer_frames import MAX_SAID_CHARS
from channels.viewers.viewer_socket import COME_LATER
from channels.web.config import WebAccount
from gateway.app import serve
from gateway.cli.client import terminal_locale
from gateway.cli.flags import flag_options
from gateway.cli.local import finish_erasures
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.cli.terminal import Face, PlainFace, TerminalFace
from gateway.command_set import check_commands
from gateway.config.settings import ChannelsConfig, Settings, read_sources
from gateway.errors import AlreadyRunning, GatewayError
from gateway.http.config import HttpConfig
from gateway.operators.client import call, path_of, short_name
from gateway.product import check_flags, check_names

ANSWER_S = 300.0  # longest wait for an answer to print
ACCEPT_S = 2.0  # longest wait for the gateway to accept the last message
START_S = 30.0  # longest start of a gateway
DRAIN_S = 3.0  # time for a gateway started here to finish its turns
POLL_S = 0.02  # between two attempts to connect to a starting gateway
CLOSE_S = 1.0  # time for the closing handshake
NOT_LISTENING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ECONNREFUSED})
RECONNECT_S = 0.5  # between two attempts to reconnect

GREETING = (
    "Write a message and press Return. /help lists commands; Ctrl-D ends. "
    "You can write while an answer is growing: the bot takes your message into account. "
    "What the bot sent after your last message is shown once more."
)


@click.command("chat")
@click.option("--print", "text", metavar="TEXT", help="Send TEXT, print the answer and exit.")
@click.option(
    "--resume", metavar="ID", help="Resume an earlier conversation of this terminal (see `tenk sessions list`)."
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
        GatewayError: no gateway can be reached; the message says what to do.
    """
    async with AsyncExitStack() as held:
        peer = await _connect(settings, held)
        if peer is not None and own:
            raise GatewayError(
                "a gateway with its own model and rules is running here: stop it, or use `tenk config set`"
            )
        if peer is not None:
            await _talk(settings, held, peer, text, await _to_resume(settings, resume), own=False)
            return
    check_names(settings, read_sources(config_path, os.environ))
    check_commands(settings)
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(_serve(settings, flags))
        try:
            async with AsyncExitStack() as held:
                peer = await _connect_to_own(settings, held)
                await _talk(settings, held, peer, text, await _to_resume(settings, resume), own=True)
        finally:
            if not serving.done():
                signal.raise_signal(signal.SIGTERM)  # the normal shutdown, which lets turns finish
    await finish_erasures(settings)


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


async def _to_resume(settings: Settings, id_end: str | None) -> str | None:
    """Return the chat command that resumes this conversation.

    Raises:
        GatewayError: no conversation has this id, or it belongs to another channel.
    """
    if id_end is None:
        return None
    found = await call(settings.control_path, f"GET {path_of('all-sessions', id_end)}", {"turns": 1})
    session = found["session"]
    if ":console:" not in session["key"]:
        raise GatewayError("that conversation belongs to another channel: resume it there with `/sessions`")
    return f"/sessions {session['id']}"


async def _talk(
    settings: Settings,
    held: AsyncExitStack,
    peer: aiohttp.ClientWebSocketResponse,
    text: str | None,
    before: str | None,
    *,
    own: bool,
) -> None:
    """Send lines and show answers, `before` first, until the input ends. Reconnect to a restarted gateway.

    Raises:
        GatewayError: the gateway went away and there is no terminal, or too many terminals are open.
    """
    if text is not None and (too_long := _excess(text)):
        raise GatewayError(too_long)
    watched = text is None and sys.stdin.isatty() and sys.stdout.isatty()
    face: Face = TerminalFace() if watched else PlainFace(text)
    untaken: list[str] = []
    try:
        async with face:
            if watched:
                face.notice(GREETING)
            while True:
                client = ConsoleClient(peer, face.show, terminal_locale(os.environ), recall=watched)
                stayed = await _carry(client, _say(client, face, untaken, before, watched=watched))
                untaken, before = client.untaken, None
                if stayed or own:  # a gateway started here ends on a signal, and this with it
                    return
                peer = await _meet_again(settings, held, face, peer, watched=watched)
    finally:
        _tell_untaken(untaken)


async def _carry(client: ConsoleClient, saying: Coroutine[None, None, None]) -> bool:
    """Receive and send at once. Return False if the gateway went away before the input ended."""
    async with asyncio.TaskGroup() as tasks:
        hearing = tasks.create_task(client.run())
        talking = tasks.create_task(saying)
        await asyncio.wait([hearing, talking], return_when=asyncio.FIRST_COMPLETED)
        stayed = talking.done()
        hearing.cancel()
        talking.cancel()
    return stayed


async def _meet_again(
    settings: Settings, held: AsyncExitStack, face: Face, peer: aiohttp.ClientWebSocketResponse, *, watched: bool
) -> aiohttp.ClientWebSocketResponse:
    if peer.close_code == COME_LATER:
        raise GatewayError("too many terminals are open")
    if not watched:
        raise GatewayError("the gateway went away; see `tenk status`")
    face.notice("The gateway went away. This reconnects when it is back; Ctrl-C ends it.")
    while (again := await _connect(settings, held)) is None:
        await asyncio.sleep(RECONNECT_S)
    face.notice("It is back.")
    return again


async def _say(client: ConsoleClient, face: Face, untaken: Sequence[str], before: str | None, *, watched: bool) -> None:
    """Send the lines that an earlier gateway did not accept, then `before`, then the input."""
    now_s = asyncio.get_running_loop().time
    for line in untaken:
        client.say(line)
    if before is not None:
        client.say(before)
        await _is_met(lambda: client.is_answered(now_s()), ANSWER_S)
    while (said := await face.lines.get()) is not None:
        if too_long := _excess(said):
            face.notice(too_long)
        elif said.strip():
            client.say(said)
            if not watched and not await _is_met(lambda: not client.untaken, ANSWER_S):
                break
    if watched:
        await _is_met(lambda: not client.untaken, ACCEPT_S)
    elif not await _is_met(lambda: client.is_answered(now_s()), ANSWER_S):
        raise GatewayError(f"no answer within {ANSWER_S:g} s; see `tenk status`")


def _excess(text: str) -> str:
    """Return why a text is too long to send; "" if it is not."""
    much = len(text)
    return f"not sent: {much} characters; a message may have {MAX_SAID_CHARS}" if much > MAX_SAID_CHARS else ""


async def _is_met(met: Callable[[], bool], limit_s: float) -> bool:
    """Wait for a condition. Return False if it does not hold within the limit."""
    try:
        async with asyncio.timeout(limit_s):
            while not met():
                await asyncio.sleep(0.01)
    except TimeoutError:
        return False
    return True


def _tell_untaken(untaken: list[str]) -> None:
    for text in untaken:
        sys.stderr.write(f"not accepted by the gateway: {printable(text)}\n")
