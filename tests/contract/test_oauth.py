"""OAuth with PKCE against a server on loopback: codes, renewals, and odd answers."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

import aiohttp
import pytest

from agent.credentials import Credential, CredentialKind
from gateway.credentials.config import OAuthConfig
from gateway.credentials.oauth import NotExchanged, authorize_url, exchange, renew
from tests.fakes.oauth_server import CLIENT, OAuthServer

VERIFIER, STATE = "v" * 64, "s" * 43


@pytest.fixture
async def server() -> AsyncIterator[OAuthServer]:
    async with OAuthServer() as server:
        yield server


def config_of(server: OAuthServer, **more: object) -> OAuthConfig:
    given = {
        "authorize_url": f"{server.url}/authorize",
        "token_url": f"{server.url}/token",
        "client_id": CLIENT,
        "redirect_url": "https://bot.example/oauth/callback",
        "scopes": ["chat", "models"],
    }
    return OAuthConfig.model_validate(given | more)


async def agree(config: OAuthConfig) -> str:
    url = authorize_url(config, STATE, VERIFIER)
    async with aiohttp.ClientSession() as browser, browser.get(url, allow_redirects=False) as answer:
        back = dict(parse_qsl(urlsplit(answer.headers["Location"]).query))
    assert STATE == back["state"]
    return back["code"]


@pytest.mark.parametrize("encoding", ["form", "json"])
@pytest.mark.parametrize("send_state", [True, False])
async def test_a_code_is_exchanged_and_renewed(server: OAuthServer, encoding: str, send_state: bool) -> None:
    config = config_of(server, token_encoding=encoding, send_state=send_state, headers={"x-beta": "on"})
    code = await agree(config)
    first = await exchange(config, code, STATE, VERIFIER)
    second = await renew(config, first)
    assert CredentialKind.OAUTH is first.kind
    assert first.expires_at is not None
    assert abs(first.expires_at - datetime.now(UTC) - timedelta(hours=1)) < timedelta(minutes=5)
    assert [first.secret, first.refresh_token, second.secret, second.refresh_token] == server.given[1:]
    assert (send_state, ["on", "on"]) == ("state" in server.requests[0], [one["x-beta"] for one in server.headers])
    content = "application/json" if encoding == "json" else "application/x-www-form-urlencoded"
    assert {content} == {one["Content-Type"].partition(";")[0] for one in server.headers}
    for again in (exchange(config, code, STATE, VERIFIER), renew(config, first)):
        with pytest.raises(NotExchanged, match="invalid_grant"):
            await again


async def test_another_verifier_gets_nothing(server: OAuthServer) -> None:
    config = config_of(server)
    with pytest.raises(NotExchanged, match="invalid_grant"):
        await exchange(config, await agree(config), STATE, "w" * 64)


async def test_what_is_no_token_is_said_without_what_was_sent(server: OAuthServer) -> None:
    config, old = config_of(server), Credential("canary", CredentialKind.OAUTH, None, "canary-refresh")
    server.html = True
    with pytest.raises(NotExchanged, match="does not answer with JSON") as refusal:
        await renew(config, old)
    assert "canary" not in str(refusal.value)
    server.html, server.fails = False, 503
    with pytest.raises(NotExchanged, match="no usable answer"):
        await renew(config, old)
    with pytest.raises(NotExchanged, match="no usable answer"):
        await renew(config.model_copy(update={"token_url": "http://127.0.0.1:9/token"}), old)
    server.fails = 0
    with pytest.raises(NotExchanged, match="invalid_client"):
        await renew(config.model_copy(update={"client_id": "other"}), old)
