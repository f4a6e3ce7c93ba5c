"""`tenk mcp serve`: it passes lines between an editor and the running gateway, which speaks the protocol."""

import asyncio
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp

from gateway.cli.client import DEFAULT_HOME, home_of
from gateway.errors import GatewayError
from gateway.operators.client import short_name
from gateway.safety.private_files import check_home

PATH = "/mcp"
KEY = "TENK_API_KEY"
MAX_LINE_BYTES = 1_000_000


def serve_stdio(config_path: Path | None) -> None:
    """Serve standard input and output until one of them, or the gateway, is closed.

    Raises:
        GatewayError: there is no key or no gateway, or it refuses the key; the message says what to do.
    """
    key = os.environ.get(KEY, "").strip()
    if not key:
        raise GatewayError(f"set {KEY} to an API key; `tenk keys create NAME --for SENDER` makes one for a person")
    home = home_of(config_path, os.environ) or DEFAULT_HOME
    check_home(home)
    asyncio.run(_pass_lines(home / "control.sock", key))


async def _pass_lines(socket: Path, key: str) -> None:
    async with AsyncExitStack() as held:
        peer = await _connect(socket, key, held)
        lines = asyncio.StreamReader(limit=MAX_LINE_BYTES)
        try:
            await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        except ValueError:
            raise GatewayError("standard input has to be a pipe: an MCP client starts this command itself") from None
        async with asyncio.TaskGroup() as tasks:
            sending = tasks.create_task(_send_lines(lines, peer))
            await _write_answers(peer)
            was_left = lines.at_eof()
            sending.cancel()
    if not was_left:
        raise GatewayError("the gateway ended the connection: it stops, or the key was revoked; see `tenk status`")


async def _connect(socket: Path, key: str, held: AsyncExitStack) -> aiohttp.ClientWebSocketResponse:
    """Return a WebSocket to the running gateway, which `held` closes.

    Raises:
        GatewayError: no gateway listens, or it refuses; the message says why.
    """
    connector = aiohttp.UnixConnector(held.enter_context(short_name(socket)))
    session = await held.enter_async_context(aiohttp.ClientSession(connector=connector))
    try:
        return await held.enter_async_context(
            session.ws_connect(
                f"http://localhost{PATH}",
                headers={"Authorization": f"Bearer {key}"},
                max_msg_size=0,
                timeout=aiohttp.ClientWSTimeout(ws_close=1.0),
            )
        )
    except aiohttp.WSServerHandshakeError as refused:
        why = {
            401: f"the key in {KEY} does not exist or was revoked; see `tenk keys list`",
            404: "the gateway does not serve MCP: set channels.api.mcp = true and start it again",
        }
        raise GatewayError(why.get(refused.status, f"the gateway refused (HTTP {refused.status})")) from None
    except (aiohttp.ClientError, OSError) as error:
        raise GatewayError(f"no gateway answers on {socket}; start it with `tenk run` ({error})") from None


async def _send_lines(lines: asyncio.StreamReader, peer: aiohttp.ClientWebSocketResponse) -> None:
    while line := await lines.readline():
        if line.strip():
            await peer.send_str(line.decode(errors="replace"))
    await peer.close()


async def _write_answers(peer: aiohttp.ClientWebSocketResponse) -> None:
    async for message in peer:
        if message.type is not aiohttp.WSMsgType.TEXT:
            break
        sys.stdout.write(f"{message.data}\n")
        sys.stdout.flush()
