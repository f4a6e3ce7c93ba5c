"""The early connection to the model: a server that is away delays nothing."""

import asyncio
from contextlib import closing
from pathlib import Path
from socket import create_server

import pytest
from structlog.testing import capture_logs

from tests.fakes.api import WAIT_S, api_house


async def test_the_first_answer_comes_over_a_connection_that_was_opened_at_the_start(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        async with asyncio.timeout(WAIT_S):
            while not (here.model.asked and 1 == len(here.model.unasked)):  # asked: which models the server has
                await asyncio.sleep(0.01)
        early, before = here.model.unasked, list(here.model.requests)
        status, _ = await (await here.program()).say("hello")
    assert (200, []) == (status, before)
    assert early == {request.client for request in here.model.requests}


@pytest.mark.parametrize("listens", [False, True])
async def test_a_model_server_that_is_away_delays_no_start_and_is_no_error(tmp_path: Path, listens: bool) -> None:
    with closing(create_server(("127.0.0.1", 0))) as socket, capture_logs() as lines:
        scheme, port = ("https" if listens else "http"), socket.getsockname()[1]
        if not listens:
            socket.close()
        away = f'[model]\nprovider = "away"\nname = "openai:api"\nbase_url = "{scheme}://127.0.0.1:{port}/v1"\n'
        async with api_house(tmp_path, config=away, offline=True) as here:
            assert 200 == (await (await here.program()).say("/skills"))[0]
    assert [] == [line for line in lines if line["log_level"] in {"error", "critical"}]
