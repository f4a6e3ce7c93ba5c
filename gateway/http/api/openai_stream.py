"""An answer that OpenAI's clients read while it grows: one loop for both protocols, whose forms write the bytes."""

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
"""OpenAI's clients wait this long by default (openai 3.51, `DEFAULT_TIMEOUT`)."""


class StreamForm(Protocol):
    """Writes one answer as the events of a protocol."""

    def begin(self) -> bytes:
        """Return what stands before the first words."""
        ...

    def more(self, text: str) -> bytes:
        """Return more of the answer."""
        ...

    def end(self, answer: TurnAnswer, told: str) -> bytes:
        """Return the end; `told` is all that was written of the answer."""
        ...

    def fail(self, problem: ApiProblem) -> bytes:
        """Return the end of an answer that broke off."""
        ...


async def stream_answer(
    call: ApiRequest, conversations: Conversations, asked: Asked, wanted: ResponseFormat | None, form: StreamForm
) -> web.StreamResponse:
    """Send the answer piece by piece, as it is written.

    Raises:
        ApiRefusal: there is none, and nothing of it was written: the client gets the status that says so.
    """
    stream = EventStream(call.stream, asyncio.get_running_loop().time)
    pieces: list[str] = []
    last = ""  # the answer as it was told last
    is_checked = bool(wish_of(wanted))

    async def tell(text: str) -> None:
        nonlocal last
        # It is checked before it is told, or holds nothing new, also because the model was asked again.
        if is_checked or last.startswith(text):
            await stream.stay_alive()
            return
        # A stream takes nothing back: an answer that began anew stands under the first.
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
    """Return the answer; `tell` hears of it while it grows.

    Raises:
        ApiRefusal: there is none, or none yet.
    """
    answer = await conversations.wait(asked, LONGEST_S, tell)
    raise_problem(answer)
    if not answer.is_settled:
        raise _late(asked)
    return answer


def _late(asked: Asked) -> ApiRefusal:
    return ApiRefusal(
        504, "turn_not_done", "the agent still works on it", "Fetch it from /v1/sessions/{session}/turns/{turn}.",
        turn=asked.handle,
    )  # fmt: skip
