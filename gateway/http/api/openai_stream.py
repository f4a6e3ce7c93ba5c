"""Streaming for OpenAI's clients: one loop for both protocols, whose `StreamForm`s write the bytes."""

import asyncio
from typing import Protocol

from aiohttp import web

from gateway.http.api.answer_format import in_form, wish_of
from gateway.http.api.chat import raise_problem
from gateway.http.api.conversations import Asked, Conversations, Tell
from gateway.http.api.openai_format import ResponseFormat
from gateway.http.api.problems import ApiProblem, ApiRefusal
from gateway.http.api.routes import ApiRequest
from gateway.http.api.sse import EventStream
from gateway.http.api.turns import TurnAnswer

LONGEST_S = 600.0
"""Default timeout of OpenAI's clients (openai 3.51, `DEFAULT_TIMEOUT`)."""


class StreamForm(Protocol):
    """A writer of one answer as the events of a protocol."""

    def begin(self) -> bytes:
        """Return the bytes before the first text."""
        ...

    def more(self, text: str) -> bytes:
        """Return the bytes for a new piece of the answer."""
        ...

    def end(self, answer: TurnAnswer, told: str) -> bytes:
        """Return the bytes that end the stream; `told` is the whole text sent."""
        ...

    def fail(self, problem: ApiProblem) -> bytes:
        """Return the bytes that report a failed answer."""
        ...


async def stream_answer(
    call: ApiRequest, conversations: Conversations, asked: Asked, wanted: ResponseFormat | None, form: StreamForm
) -> web.StreamResponse:
    """Send the answer piece by piece as it grows.

    Raises:
        ApiRefusal: there is no answer, and nothing was sent yet, so the client gets an error status.
    """
    stream = EventStream(call.stream, asyncio.get_running_loop().time)
    pieces: list[str] = []
    last = ""  # the last text passed on
    is_checked = bool(wish_of(wanted))

    async def tell(text: str) -> None:
        nonlocal last
        # The format is checked before anything is sent; or there is no new text, perhaps after a retry of the model.
        if is_checked or last.startswith(text):
            await stream.stay_alive()
            return
        # A stream cannot take text back, so a restarted answer follows the first one.
        pieces.append(text[len(last) :] if text.startswith(last) else f"\n\n{text}")
        last = text
        await stream.write((form.begin() if len(pieces) == 1 else b"") + form.more(pieces[-1]))

    try:
        answer = await wait_settled(conversations, asked, tell)
        text = in_form(wanted, answer.answer)
    except ApiRefusal as refusal:
        if not stream.has_begun:
            raise
        await stream.write(form.fail(refusal.problem))
        return await stream.begin()
    is_checked = False
    await tell(text)
    await stream.write((b"" if pieces else form.begin()) + form.end(answer, "".join(pieces)))
    return await stream.begin()


async def wait_settled(conversations: Conversations, asked: Asked, tell: Tell | None = None) -> TurnAnswer:
    """Return the answer. Pass it to `tell` while it grows.

    Raises:
        ApiRefusal: there is no answer, or none yet.
    """
    answer = await conversations.wait(asked, LONGEST_S, tell)
    raise_problem(answer)
    if not answer.is_settled:
        raise _late(asked)
    return answer


def _late(asked: Asked) -> ApiRefusal:
    return ApiRefusal(
        504,
        "turn_not_done",
        "the agent still works on it",
        "Fetch it from /v1/sessions/{session}/turns/{turn}.",
        turn=asked.handle,
    )
