"""`tenk chat`: a conversation in this terminal, with the gateway that runs here or with one started for the while."""

import asyncio
import errno
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from http import HTTPStatus
from pathlib import Path

import aiohttp
import click

from channels.api.config import ApiAccount
from channels.console.client import ConsoleClient
from channels.console.drawing import Drawing, printable
from channels.console.limits import PATH
from channels.viewers.viewer_frames import MAX_SAID_CHARS
from channels.viewers.viewer_socket import COME_LATER
from channels.web.config import WebAccount
from gateway.app import serve
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.config.settings import ChannelsConfig, Settings
from gateway.errors import AlreadyRunning, GatewayError
from gateway.http.config import HttpConfig
from gateway.ops import control_client
from gateway.ops.control_client import short_name

ANSWER_S = 300.0  # the longest wait for an answer that is to be printed
TAKEN_S = 2.0  # for what was said last to be taken, before the terminal ends
START_S = 30.0  # for a gateway started here to listen
DRAIN_S = 3.0  # for one started here to end
LOOK_S = 0.02  # between two looks whether one that starts listens by now
CLOSE_S = 1.0  # for the gateway to take leave
NOBODY_LISTENS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ECONNREFUSED})
STDIN = 0


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
            if not await _talk(peer, text, await _to_resume(settings, resume)):
                full = peer.close_code == COME_LATER
                raise GatewayError(
                    "too many terminals are open" if full else "the gateway went away; see `tenk status`"
                )
            return
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(_serve(settings))
        try:
            async with AsyncExitStack() as held:
                peer = await _connect_to_own(settings, held)
                await _talk(peer, text, await _to_resume(settings, resume))
        finally:
            if not serving.done():
                signal.raise_signal(signal.SIGTERM)  # its own way to end: what runs is let come to its end


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
    found = await control_client.call(settings.control_path, "sessions.show", {"id": id_end, "turns": 1})
    session = found["session"] if isinstance(found, dict) else None
    if not isinstance(session, dict) or ":console:" not in str(session["key"]):
        raise GatewayError("that conversation is held on another channel, and goes on there: `/sessions` in its chat")
    return f"/sessions {session['id']}"


async def _talk(peer: aiohttp.ClientWebSocketResponse, text: str | None, first: str | None) -> bool:
    """Carry words both ways, `first` before all others; False where the gateway went away first."""
    face = _Tty() if text is None and sys.stdin.isatty() and sys.stdout.isatty() else _Plain()
    client = ConsoleClient(peer, face.show, terminal_locale(os.environ))
    if text is None:
        face.begin()
    async with asyncio.TaskGroup() as tasks:
        hearing = tasks.create_task(client.run())
        talking = tasks.create_task(_say(client, face, text, first))
        await asyncio.wait([hearing, talking], return_when=asyncio.FIRST_COMPLETED)
        stayed = talking.done()
        hearing.cancel()
        talking.cancel()
    face.end(client.untaken)
    return stayed


def terminal_locale(environ: Mapping[str, str]) -> str:
    """The terminal's language as a BCP 47 tag, from "es_ES.UTF-8"; "" where it has none."""
    said = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    tag = said.partition(".")[0].partition("@")[0].replace("_", "-")
    return tag if tag not in {"C", "POSIX"} else ""


async def _say(client: ConsoleClient, face: "_Plain | _Tty", text: str | None, first: str | None) -> None:
    now_s = asyncio.get_running_loop().time
    if first is not None:
        client.say(first)
        await _is_met(lambda: client.is_answered(now_s()), ANSWER_S)
    if text is not None:
        if too_long := _excess(text):
            raise GatewayError(too_long)
        client.say(text)
    else:
        await _say_lines(client, face)
    if text is None and isinstance(face, _Tty):
        await _is_met(lambda: not client.untaken, TAKEN_S)
        return
    if not await _is_met(lambda: client.is_answered(now_s()), ANSWER_S):
        raise GatewayError(f"no answer within {ANSWER_S:g} s; see `tenk status`")


async def _say_lines(client: ConsoleClient, face: "_Plain | _Tty") -> None:
    """Say the lines of the input until it ends."""
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    with _Input(lines):
        while (line := await lines.get()) is not None:
            face.finish_line()
            if too_long := _excess(line):
                sys.stderr.write(f"{too_long}\n")
            elif line.strip():
                client.say(line)
                continue
            face.begin()


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


class _Input:
    """The lines of standard input, put into a queue as they come; None at its end. Bounded by what a person types."""

    def __init__(self, lines: asyncio.Queue[str | None]) -> None:
        self._lines = lines
        self._begun = b""
        self._watched = False

    def __enter__(self) -> None:
        try:
            asyncio.get_running_loop().add_reader(STDIN, self._read)
            self._watched = True
        except PermissionError:  # a file is always ready, and cannot be watched
            while self._read():
                pass

    def __exit__(self, *_: object) -> None:
        if self._watched:
            asyncio.get_running_loop().remove_reader(STDIN)

    def _read(self) -> bool:
        """Take what there is; whether there may be more."""
        chunk = os.read(STDIN, 65_536)
        *lines, self._begun = (self._begun + chunk).split(b"\n")
        for line in lines:
            self._lines.put_nowait(line.decode(errors="replace"))
        if chunk:
            return True
        if self._begun:
            self._lines.put_nowait(self._begun.decode(errors="replace"))
        self._lines.put_nowait(None)
        if self._watched:
            asyncio.get_running_loop().remove_reader(STDIN)
        return False


class _Plain:
    """Prints each message once, when it is complete."""

    def __init__(self) -> None:
        self._printed: dict[str, str] = {}

    def begin(self) -> None:
        """Nothing: nobody watches."""

    def finish_line(self) -> None:
        """Nothing: what was said is not repeated."""

    def show(self, message_id: str, text: str, live: bool) -> None:
        """Print it unless it goes on, or was printed as it is."""
        if not live and self._printed.get(message_id) != text:
            self._printed[message_id] = text
            _write(printable(text) + "\n")

    def end(self, untaken: list[str]) -> None:
        """Say what got lost on the way, if anything did."""
        _tell_untaken(untaken)


class _Tty:
    """Draws on a terminal; answers grow before one's eyes."""

    def __init__(self) -> None:
        size = shutil.get_terminal_size()
        self._drawing = Drawing(columns=size.columns, rows=size.lines)

    def begin(self) -> None:
        """Ask for words."""
        _write(self._drawing.prompt())

    def finish_line(self) -> None:
        """The person pressed return."""
        _write(self._drawing.finish_line())

    def show(self, message_id: str, text: str, live: bool) -> None:
        """Draw a message as it is now."""
        self._drawing.columns, self._drawing.rows = shutil.get_terminal_size()
        _write(self._drawing.message(message_id, text, live=live))

    def end(self, untaken: list[str]) -> None:
        """Leave the prompt's line."""
        _write("\n")
        _tell_untaken(untaken)


def _tell_untaken(untaken: list[str]) -> None:
    for text in untaken:
        sys.stderr.write(f"not taken by the gateway: {printable(text)}\n")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
