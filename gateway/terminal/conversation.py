"""One conversation of a terminal, a pipe or a script with a gateway, over the connections that it takes."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import aiohttp

from channels.console.client import ConsoleClient
from channels.console.text import printable
from channels.viewers.viewer_frames import MAX_SAID_CHARS
from channels.viewers.viewer_socket import COME_LATER
from gateway.errors import GatewayError
from gateway.terminal.faces import Face

ANSWER_S = 300.0  # longest wait for an answer to print
ACCEPT_S = 2.0  # longest wait for the gateway to accept the last message

GREETING = (
    "Write a message and press Return; Alt-Return begins another line. /help lists commands, Tab completes them; "
    "Esc stops the answer; Ctrl-D ends. You can write while an answer is growing: the bot takes your message into "
    "account. What the bot sent after your last message is shown once more."
)

Peer = aiohttp.ClientWebSocketResponse
Reconnect = Callable[[], Coroutine[Any, Any, Peer]]

T = TypeVar("T")


async def converse(
    face: Face, peer: Peer, locale: str, *, before: str | None = None, reconnect: Reconnect | None = None
) -> ConsoleClient:
    """Send lines and show answers until the input ends; `before` is a command to send first. Return the client.

    `reconnect` returns a connection to a gateway that was restarted; None: it ends with this one.

    Raises:
        GatewayError: the gateway went away and there is no terminal, or too many terminals are open.
    """
    client = ConsoleClient(face, locale, recall=face.is_watched)
    await face.open(client)
    try:
        if face.is_watched:
            face.notice(GREETING)
        async with asyncio.TaskGroup() as tasks:
            talking = tasks.create_task(_say(client, face, before))
            try:
                await _keep_connected(client, face, peer, reconnect, talking)
            finally:
                talking.cancel()
    except BaseExceptionGroup as of_one:
        raise of_one.exceptions[0] from None
    finally:
        await face.close()
    return client


async def _keep_connected(
    client: ConsoleClient, face: Face, peer: Peer, reconnect: Reconnect | None, talking: "asyncio.Task[None]"
) -> None:
    """Serve one connection after the other until the input has ended, or the gateway if it is not to come back."""
    while True:
        await _unless_said(client.run(peer), talking)
        if talking.done() or reconnect is None:
            return
        if peer.close_code == COME_LATER:
            raise GatewayError("too many terminals are open")
        if not face.is_watched:
            raise GatewayError("the gateway went away; see `tenk status`")
        face.notice("The gateway went away. This reconnects when it is back; Ctrl-D ends it.")
        again = await _unless_said(reconnect(), talking)
        if again is None:
            return
        peer = again
        face.notice("It is back.")


async def _unless_said(work: Coroutine[Any, Any, T], talking: "asyncio.Task[None]") -> T | None:
    """Return the result of this work; None if the input has ended before."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work)
        await asyncio.wait([task, talking], return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
    return None if task.cancelled() else task.result()


async def _say(client: ConsoleClient, face: Face, before: str | None) -> None:
    """Send `before`, then the input."""
    now_s = asyncio.get_running_loop().time
    if before is not None:
        client.say(before)
        await _is_met(lambda: client.is_answered(now_s()), ANSWER_S)
    while (said := await face.lines.get()) is not None:
        if too_long := excess(said):
            face.notice(too_long)
        elif said.strip():
            client.say(said)
            if not face.is_watched and not await _is_met(lambda: not client.untaken, ANSWER_S):
                break
    if face.is_watched:
        await _is_met(lambda: not client.untaken, ACCEPT_S)
    elif not await _is_met(lambda: client.is_answered(now_s()), ANSWER_S):
        raise GatewayError(f"no answer within {ANSWER_S:g} s; see `tenk status`")


def excess(text: str) -> str:
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


def untaken_lines(client: ConsoleClient) -> list[str]:
    """Return a line for each message that the gateway has not accepted."""
    return [f"not accepted by the gateway: {printable(text)}\n" for text in client.untaken]
