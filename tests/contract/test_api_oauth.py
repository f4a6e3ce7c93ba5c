"""OAuth over `/v1`: a program connects its person to a provider, whose tokens then pay for that person alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import aiohttp

from gateway.access.api_keys import id_of
from tests.fakes.api import ApiHouse, ApiProgram, api_house
from tests.fakes.oauth_server import CLIENT, OAuthServer

CONFIG = """
[model]
provider = "acme"
[connect.acme]
title = "Acme"
[connect.acme.oauth]
authorize_url = "{url}/authorize"
token_url = "{url}/token"
client_id = "{client}"
redirect_url = "https://bot.example/oauth/callback"
"""

INIT, EXCHANGE, STATUS = "/v1/oauth/init", "/v1/oauth/exchange", "/v1/oauth/status"


@asynccontextmanager
async def oauth_house(directory: Path) -> AsyncIterator[tuple[ApiHouse, OAuthServer]]:
    async with (
        OAuthServer() as server,
        api_house(directory, config=CONFIG.format(url=server.url, client=CLIENT)) as here,
    ):
        yield here, server


async def agree(program: ApiProgram, **whose: str) -> dict[str, str]:
    status, begun = await program.ask("POST", INIT, json={"provider": "acme", **whose})
    assert 200 == status, begun
    url = begun["authorize_url"]
    async with aiohttp.ClientSession() as browser, browser.get(url, allow_redirects=False) as answer:
        back = dict(parse_qsl(urlsplit(answer.headers["Location"]).query))
    assert back["state"] == begun["state"]
    assert timedelta() < datetime.fromisoformat(begun["expires_at"]) - datetime.now(UTC) <= timedelta(minutes=10)
    return back


async def status_of(program: ApiProgram, query: str = "") -> Any:
    (found,) = (await program.get(STATUS + query))["providers"]
    return found


async def test_a_program_connects_its_person_by_oauth(tmp_path: Path) -> None:
    async with oauth_house(tmp_path) as (here, server):
        program = await here.program()
        before = await status_of(program)
        exchanged, connected = await program.ask("POST", EXCHANGE, json=await agree(program))
        after = await status_of(program)
        await program.say("hello")
        await program.say("hello", user="ana")
        used = [request.headers["Authorization"] for request in here.model.requests]
    assert ("acme", "Acme", True, False, None) == tuple(
        before[name] for name in ("provider", "title", "oauth", "connected", "expires_at")
    )
    assert (200, connected) == (exchanged, after)
    assert (True, "oauth", True) == (after["connected"], after["kind"], after["renews"])
    assert timedelta(minutes=50) < datetime.fromisoformat(after["expires_at"]) - datetime.now(UTC) < timedelta(hours=2)
    assert [f"Bearer {server.given[1]}", "Bearer sk-api-test"] == used
    assert [] == [secret for secret in server.given if secret in f"{connected}{after}"]


async def test_a_state_is_its_persons_and_good_once(tmp_path: Path) -> None:
    async with oauth_house(tmp_path) as (here, server):
        program, other = await here.program(), await here.program()
        back = await agree(program, user="ana")
        tried = [
            await program.ask("POST", EXCHANGE, json={**back, "user": "bob"}),
            await other.ask("POST", EXCHANGE, json={**back, "user": "ana"}),
        ]
        assert [] == server.requests
        good, _ = await program.ask("POST", EXCHANGE, json={**back, "user": "ana"})
        tried.append(await program.ask("POST", EXCHANGE, json={**back, "user": "ana"}))
        theirs = [await status_of(program, "?user=bob"), await status_of(other, "?user=ana")]
    assert 200 == good
    assert [(409, "refused")] * 3 == [(status, problem["error"]["code"]) for status, problem in tried]
    assert [False, False] == [status["connected"] for status in theirs]


async def test_a_key_for_one_person_connects_only_them(tmp_path: Path) -> None:
    async with oauth_house(tmp_path) as (here, _):
        program = await here.program()
        await program.say("hello")
        bound = await here.program(who=f"api:{id_of(program.key)}:main")
        await bound.ask("POST", EXCHANGE, json=await agree(bound))
        mine = await status_of(program)
        others = [
            await bound.ask("POST", INIT, json={"provider": "acme", "user": "ana"}),
            await bound.ask("POST", EXCHANGE, json={"code": "c", "state": "s", "user": "ana"}),
            await bound.ask("GET", f"{STATUS}?user=ana"),
        ]
        reading = await here.program("read")
        closed, problem = await reading.ask("GET", STATUS)
    assert mine["connected"]
    assert [(403, "user_not_yours")] * 3 == [(status, each["error"]["code"]) for status, each in others]
    assert (403, "scope_missing") == (closed, problem["error"]["code"])


async def test_what_cannot_be_connected_says_why(tmp_path: Path) -> None:
    async with oauth_house(tmp_path) as (here, _):
        program = await here.program()
        unknown, missing = await program.ask("POST", INIT, json={"provider": "nobody"})
        back = {**await agree(program), "code": "canary-code"}
        refused, problem = await program.ask("POST", EXCHANGE, json=back)
        status = await status_of(program)
    assert (404, "not_found", "provider") == (unknown, missing["error"]["code"], missing["error"]["param"])
    assert (409, "refused") == (refused, problem["error"]["code"])
    assert "invalid_grant" in problem["error"]["message"] and "canary" not in str(problem)
    assert not status["connected"]
