"""Every way a provider can be down, over real sockets on a clock that leaps: an answer within 3 s, which says so."""

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from agent.config import LinkConfig, ModelConfig
from agent.errors import FailureKind
from agent.models.offline import RuleAnswer
from agent.models.select import ModelDeps, build_model
from agent.ports import ModelRequest
from gateway.testing.model import Fault
from tests.fakes.model_chain import ask
from tests.fakes.model_server import ModelServer
from tests.fakes.ports import free_address
from tests.fakes.virtual_time import VirtualTimeLoop, run_virtually

WITHIN_S = 3.0
SOCKETS_S = 0.05
PAGE = Fault(body=b"<html>Sign in to the hotel network</html>", content_type="text/html")


class Rules:
    def answer(self, request: ModelRequest) -> RuleAnswer:
        return RuleAnswer("By the rules.")


def said(_locale: str | None, why: FailureKind) -> str:
    return f"(down: {why.value})"


@contextmanager
def black_hole() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        where = listener.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(where)
        try:
            yield f"http://127.0.0.1:{where[1]}/v1"
        finally:
            for each in waiting:
                each.close()


@asynccontextmanager
async def provider(how: str) -> AsyncIterator[str]:
    if how == "black hole":
        with black_hole() as url:
            yield url
    elif how == "refused":
        yield f"http://{free_address()}/v1"
    else:
        async with ModelServer(reply=PAGE if how == "HTML" else Fault(status=500, body=b"")) as server:
            yield server.base_url.replace("http:", "https:") if how == "TLS" else server.base_url


@pytest.mark.parametrize("how", ["refused", "black hole", "500", "HTML", "TLS"])
@pytest.mark.parametrize("links", [1, 2])
def test_the_answer_is_there_within_three_seconds(how: str, links: int) -> None:

    async def scene(loop: VirtualTimeLoop) -> None:
        loop.sockets_s = SOCKETS_S
        async with provider(how) as url:
            others = {f"other{n}": LinkConfig(name=f"openai:other{n}", base_url=url) for n in range(1, links)}
            config = ModelConfig(name="openai:main", base_url=url, fallback=others)
            model = build_model(config, ModelDeps(Rules(), said))
            response, _ = await ask(model)
            await model.aclose()
        assert "By the rules." in response.text
        assert response.text.startswith("(down: ")
        assert loop.elapsed_s < WITHIN_S

    run_virtually(scene)
