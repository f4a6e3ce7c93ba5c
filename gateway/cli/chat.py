"""`tenk chat`: a conversation in this terminal, with the gateway that runs here or with one started for the while."""

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from http import HTTPStatus
from pathlib import Path

import aiohttp
import click

from channels.api.config import ApiAccount
from channels.console.client import ConsoleClient
from channels.console.limits import PATH
from channels.console.text import printable
from channels.viewers.viewer_frames import MAX_SAID_CHARS
from channels.viewers.viewer_socket import COME_LATER
from channels.web.config import WebAccount
from gateway.app import serve
from gateway.cli.local import finish_erasures
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.cli.terminal import Face, PlainFace, TerminalFace
from gateway.config.settings import ChannelsConfig, Settings
from gateway.errors import AlreadyRunning, GatewayError
from gateway.http.config import HttpConfig
from gateway.operators.client import call, path_of, short_name

ANSWER_S = 300.0  # the longest wait for an answer that is to be printed
TAKEN_S = 2.0  # for what was said last to be taken, before the terminal ends
START_S = 30.0  # for a gateway started here to listen
DRAIN_S = 3.0  # for one started here to end
LOOK_S = 0.02  # between two looks whether one that starts listens by now
CLOSE_S = 1.0  # for the gateway to take leave
NOBODY_LISTENS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ECONNREFUSED})
AGAIN_S = 0.5  # between two looks whether the gateway is back

GREETING = (
    "Say something, or ask. /help lists what else there is; Return says it, Ctrl-D ends. "
    "What you type while an answer is written stays below it, and joins it."
)


@click.command("chat")
@click.option("--print", "text", metavar="TEXT", help="Say TEXT, print the answer, and end.")
@click.option(
    "--resume", metavar="ID", help="Go on with an earlier conversation of this terminal: `tenk sessions list`."
)
@click.option(
    "--model", metavar="NAME", help="Ask this model (openai:NAME, anthropic:NAME, offline); no gateway may run."
)
@config_option
def command(text: str | None, resume: str | None, model: str | None, config_path: Path | None) -> None:
    """Talk to the bot from here: to the gateway that runs on this home, else to one started for the while.

    Without a terminal the lines of the input are said and the answers printed.
    """
    if model:
        os.environ["TENK_MODEL"] = model
    settings = prepare(config_path)
    try:
        asyncio.run(chat(settings, text, resume, own=bool(model)))
    except KeyboardInterrupt:
        sys.stdout.write("\n")


async def chat(settings: Settings, text: str | None, resume: str | None = None, *, own: bool = False) -> None:
    """Talk until the input ends, or say `text` and return when it is answered.

    `resume` is the end of a conversation's id; with `own` no gateway may run already.

    Raises:
        GatewayError: nobody can be talked to; the message says what to do.
    """
    async with AsyncExitStack() as held:
        peer = await _connect(settings, held)
        if peer is not None and own:
            raise GatewayError(
                "a gateway runs here, with a model of its own: stop it, or `tenk config set model.name NAME`"
            )
        if peer is not None:
            await _talk(settings, held, peer, text, await _to_resume(settings, resume), own=False)
            return
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(_serve(settings))
        try:
            async with AsyncExitStack() as held:
                peer = await _connect_to_own(settings, held)
                await _talk(settings, held, peer, text, await _to_resume(settings, resume), own=True)
        finally:
            if not serving.done():
                signal.raise_signal(signal.SIGTERM)  # its own way to end: what runs is let come to its end
    await finish_erasures(settings)


async def _serve(settings: Settings) -> None:
    """A gateway with nothing but the console, for as long as this terminal talks."""
    alone = settings.model_copy(
        update={
            "channels": ChannelsConfig(web=WebAccount(enabled=False), api=ApiAccount(enabled=False)),
            "http": HttpConfig(listen="127.0.0.1:0"),
            "sessions": settings.sessions.model_copy(update={"drain_s": DRAIN_S}),
        }
    )
    try:
        await serve(alone)
    except AlreadyRunning as running:
        raise GatewayError(f"the gateway does not answer: wait until it has started, or ended ({running})") from running


async def _connect(settings: Settings, held: AsyncExitStack) -> aiohttp.ClientWebSocketResponse | None:
    """A WebSocket to the gateway that runs, good while `held` is; None where none listens.

    Raises:
        GatewayError: it cannot be used, or does not answer terminals.
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
                await asyncio.sleep(LOOK_S)  # it starts, or ends
    except TimeoutError:
        raise GatewayError(f"the gateway has not answered within {START_S:g} s; see `tenk status`") from None
    except (aiohttp.ClientError, OSError) as error:
        if isinstance(error, OSError) and error.errno in NOBODY_LISTENS:
            return None
        raise GatewayError(f"the control socket {path} cannot be used: {error}") from error


async def _connect_to_own(settings: Settings, held: AsyncExitStack) -> aiohttp.ClientWebSocketResponse:
    async with asyncio.timeout(START_S):
        while (peer := await _connect(settings, held)) is None:
            await asyncio.sleep(LOOK_S)
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
    """What goes back to the conversation, as the person would type it.

    Raises:
        GatewayError: there is none of this id, or it is held elsewhere.
    """
    if id_end is None:
        return None
    found = await call(settings.control_path, f"GET {path_of('all-sessions', id_end)}", {"turns": 1})
    session = found["session"]
    if ":console:" not in session["key"]:
        raise GatewayError("that conversation is held on another channel, and goes on there: `/sessions` in its chat")
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
    """Carry words both ways, `before` first, until the input ends; a gateway that starts again is waited for.

    Raises:
        GatewayError: it went away and nobody watches, or it has no room; what was not taken is told.
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
                if stayed or own:  # its own gateway ends when it is told to: so does this
                    return
                peer = await _meet_again(settings, held, face, peer, watched=watched)
    finally:
        _tell_untaken(untaken)


async def _carry(client: ConsoleClient, saying: Coroutine[None, None, None]) -> bool:
    """Hear and say at once; False where the gateway went away first."""
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
    face.notice("The gateway went away. As soon as it is back this goes on; Ctrl-C ends it.")
    while (again := await _connect(settings, held)) is None:
        await asyncio.sleep(AGAIN_S)
    face.notice("It is back.")
    return again


def terminal_locale(environ: Mapping[str, str]) -> str:
    """The terminal's language as a BCP 47 tag, from "es_ES.UTF-8"; "" where it has none."""
    said = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    tag = said.partition(".")[0].partition("@")[0].replace("_", "-")
    return tag if tag not in {"C", "POSIX"} else ""


async def _say(client: ConsoleClient, face: Face, untaken: Sequence[str], before: str | None, *, watched: bool) -> None:
    """Say what an earlier gateway did not take, then `before` to its answer, then the lines."""
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
    if watched:
        await _is_met(lambda: not client.untaken, TAKEN_S)
    elif not await _is_met(lambda: client.is_answered(now_s()), ANSWER_S):
        raise GatewayError(f"no answer within {ANSWER_S:g} s; see `tenk status`")


def _excess(text: str) -> str:
    """Why a text cannot be said; empty where it can."""
    much = len(text)
    return f"not said: {much} characters; {MAX_SAID_CHARS} can be said at once" if much > MAX_SAID_CHARS else ""


async def _is_met(met: Callable[[], bool], limit_s: float) -> bool:
    """Whether it is so within so many seconds."""
    try:
        async with asyncio.timeout(limit_s):
            while not met():
                await asyncio.sleep(0.05)
    except TimeoutError:
        return False
    return True


def _tell_untaken(untaken: list[str]) -> None:
    for text in untaken:
        sys.stderr.write(f"not taken by the gateway: {printable(text)}\n")
