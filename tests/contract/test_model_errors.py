"""Errors of OpenAI's own client beside our kinds of failure."""

from datetime import UTC, datetime

import openai
import pytest

from agent.config import ModelConfig
from agent.errors import FailureKind
from agent.models.failures import from_answer
from agent.models.openai import OpenAIModel
from agent.ports import ModelFailure, ModelRequest, SystemPrompt
from agent.transcript import UserItem
from gateway.testing.model import Fault
from tests.fakes.model_server import ModelServer

K = FailureKind
MESSAGES = [{"role": "user", "content": "hi"}]
REQUEST = ModelRequest(SystemPrompt(), (UserItem("hi"),))
BY_STATUS = {
    400: (openai.BadRequestError, K.BAD_REQUEST),
    401: (openai.AuthenticationError, K.AUTH),
    403: (openai.PermissionDeniedError, K.AUTH),
    404: (openai.NotFoundError, K.BAD_REQUEST),
    429: (openai.RateLimitError, K.RATE_LIMIT),
    500: (openai.InternalServerError, K.SERVER),
    503: (openai.InternalServerError, K.SERVER),
}
IN_STREAM = b'data: {"error": {"message": "no", "type": "server_error", "code": null}}\n\n'


async def ask_sdk(server, *, stream):
    async with openai.AsyncOpenAI(api_key="sk-x", base_url=server.base_url, max_retries=0) as client:
        got = await client.chat.completions.create(model="test", messages=MESSAGES, stream=stream)
        if stream:
            async for _ in got:
                pass


async def ask(server, *, stream):
    model = OpenAIModel("test", ModelConfig(base_url=server.base_url))
    try:
        await model.respond(ModelRequest(REQUEST.system, REQUEST.items, stream=stream), lambda _event: None)
    finally:
        await model.aclose()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("status", BY_STATUS)
async def test_an_error_status_means_the_same_to_both(status, stream):
    theirs, ours = BY_STATUS[status]
    async with ModelServer(reply=Fault(status, {"error": {"message": "no", "type": "t"}})) as server:
        with pytest.raises(theirs) as raised:
            await ask_sdk(server, stream=stream)
        with pytest.raises(ModelFailure) as caught:
            await ask(server, stream=stream)
    assert (raised.value.status_code, ours) == (caught.value.status, caught.value.kind)


@pytest.mark.parametrize(
    ("fault", "theirs", "ours"),
    [
        (Fault(200, IN_STREAM, content_type="text/event-stream"), openai.APIError, K.SERVER),
        (Fault(reset=True), openai.APIConnectionError, K.NETWORK),
    ],
    ids=["in the stream", "a cut connection"],
)
async def test_what_breaks_on_the_way_breaks_for_both(fault, theirs, ours):
    async with ModelServer(reply=fault) as server:
        with pytest.raises(theirs):
            await ask_sdk(server, stream=True)
        with pytest.raises(ModelFailure) as caught:
            await ask(server, stream=True)
    assert ours is caught.value.kind


@pytest.mark.parametrize(("says", "again"), [("true", (True, True)), ("false", (False, False)), ("so", (False, True))])
def test_a_provider_may_say_itself_whether_to_ask_again(says, again):
    headers, now = {"x-should-retry": says}, datetime(2026, 11, 2, tzinfo=UTC)
    assert again == tuple(from_answer(status, headers, "no", now).retryable for status in (400, 529))
