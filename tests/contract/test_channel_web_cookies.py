"""A browser's identity, over HTTP and behind a proxy that ends https."""

import aiohttp
import pytest

from channels.messages import InboundMessage
from channels.web.config import Guests
from channels.web.visitor import COOKIE, HOST_COOKIE, Identities, Identity, chat_of
from tests.fakes.http import Loaded, served
from tests.fakes.web import KEY, House, house

OURS = Identities(KEY, lambda _chat: False)
ADA = Identity("ada-ada-ada-ada-ada-a_", fresh=False)
EVE = Identity("eve-eve-eve-eve-eve-e_", fresh=False)
HTTPS = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}
PROXY = ("127.0.0.1",)


async def session(rig: House, cookie: str, **headers: str) -> tuple[str, str | None]:
    asked = headers | ({"Cookie": cookie} if cookie else {})
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as browser,
        browser.post(f"{rig.url}web/session", headers=asked) as answer,
    ):
        given = answer.headers.get("Set-Cookie")
        return (await answer.json())["chat"], given and given.partition("=")[0]


@pytest.mark.parametrize(
    "cookie",
    [
        "tenk_web=" + "x" * 22,
        "tenk_web=" + "x" * 22 + ".",
        "tenk_web=" + "x" * 22 + "." + "x" * 22,
        "tenk_web=" + OURS.value_of(ADA)[:-1],
        "tenk_web=" + OURS.value_of(ADA) + "x",
        "tenk_web=" + ADA.secret + "." + OURS.value_of(EVE).partition(".")[2],
        "tenk_web=" + ADA.secret + ".\u00e9",
        "tenk_web=" + Identities(b"of another gateway", lambda _chat: False).value_of(ADA),
        "__Host-tenk_web=" + OURS.value_of(ADA),
    ],
)
async def test_cookie_that_we_did_not_issue_identifies_no_person(cookie: str):
    async with house() as rig:
        chat, given = await session(rig, cookie)
        assert chat not in {chat_of("x" * 22), ADA.chat}
        assert COOKIE == given
        async with aiohttp.ClientSession(headers={"Cookie": cookie}) as browser:
            for method, path in [("GET", "web/ws"), ("GET", "web/events"), ("POST", "web/messages")]:
                async with browser.request(method, rig.url + path) as answer:
                    assert 401 == answer.status, path


async def test_cookie_of_an_earlier_process_still_identifies_its_person():
    async with house() as rig:
        assert (ADA.chat, None) == await session(rig, f"tenk_web={OURS.value_of(ADA)}")


async def test_over_https_no_other_host_of_the_domain_decides_who_a_browser_is():
    planted = OURS.value_of(EVE)
    async with house(trusted_proxies=PROXY) as rig:
        chat, given = await session(rig, f"tenk_web={planted}", **HTTPS)
        assert HOST_COOKIE == given
        assert chat != EVE.chat
        own = f"{HOST_COOKIE}={OURS.value_of(ADA)}"
        for cookie in (
            own,
            f"tenk_web={planted}; {own}",
            f"{own}; tenk_web={planted}",
            f"{own}; x=1 {HOST_COOKIE}={planted}",
            f"{own}; \u2003{HOST_COOKIE}={planted}",
        ):
            assert (ADA.chat, None) == await session(rig, cookie, **HTTPS), cookie


async def test_the_cookie_over_https_is_secure_and_of_this_host_alone():
    async with (
        house(trusted_proxies=PROXY) as rig,
        aiohttp.ClientSession(headers=HTTPS) as browser,
        browser.post(f"{rig.url}web/session") as answer,
    ):
        given = {part.strip().lower() for part in answer.headers["Set-Cookie"].split(";")[1:]}
    assert {"secure", "path=/", "httponly", "samesite=strict"} <= given
    assert [] == [part for part in given if part.startswith("domain")]


async def test_an_untrusted_proxy_decides_no_name():
    async with house() as rig:
        assert COOKIE == (await session(rig, "", **HTTPS))[1]


async def test_who_wrote_before_cookies_had_marks_stays_who_they_are():
    guests = Guests(is_known=lambda chat: chat == ADA.chat)
    async with house(guests, trusted_proxies=PROXY) as rig:
        assert (ADA.chat, COOKIE) == await session(rig, f"tenk_web={ADA.secret}")
        assert EVE.chat != (await session(rig, f"tenk_web={EVE.secret}"))[0]
        assert ADA.chat != (await session(rig, f"tenk_web={ADA.secret}", **HTTPS))[0]
        assert ADA.chat != (await session(rig, f"{HOST_COOKIE}={ADA.secret}", **HTTPS))[0]
        async with aiohttp.ClientSession(headers={"Cookie": f"tenk_web={ADA.secret}"}) as browser:
            say = [{"type": "say", "id": "12345678", "text": "still me"}]
            async with browser.post(f"{rig.url}web/messages", json=say) as answer:
                assert 200 == answer.status
        assert [ADA.chat] == [event.sender.id for event in rig.sink.events if isinstance(event, InboundMessage)]


async def test_visitors_behind_a_trusted_proxy_are_told_apart():
    async with house(trusted_proxies=PROXY, address_messages_per_min=2) as rig, aiohttp.ClientSession() as browser:
        statuses = []
        for listed in ["203.0.113.7", "6.6.6.6, 203.0.113.7", "7.7.7.7, 203.0.113.7", "203.0.113.8"]:
            headers = {"X-Forwarded-For": listed, "Cookie": ""}
            async with browser.post(f"{rig.url}web/session", headers=headers) as answer:
                statuses.append(answer.status)
            browser.cookie_jar.clear()
        assert [200, 200, 429, 200] == statuses


async def test_a_client_cannot_choose_its_address_without_a_trusted_proxy():
    """Cover A17."""
    async with house(address_messages_per_min=2) as rig, aiohttp.ClientSession() as browser:
        statuses = []
        for number in range(4):
            async with browser.post(
                f"{rig.url}web/session", headers={"X-Forwarded-For": f"6.6.6.{number}", "Forwarded": "for=7.7.7.7"}
            ) as answer:
                statuses.append(answer.status)
            browser.cookie_jar.clear()
        assert [200, 200, 429, 429] == statuses


@pytest.mark.parametrize("trusted", [(), PROXY])
async def test_without_a_key_a_proxy_is_told_no_figures(trusted: tuple[str, ...]):
    proxied = {"X-Forwarded-For": "127.0.0.1"}
    async with served(Loaded(), trusted_proxies=trusted) as url, aiohttp.ClientSession() as browser:
        async with browser.get(f"{url}metrics", headers=proxied) as answer:
            assert 401 == answer.status
        async with browser.get(f"{url}healthz", headers=proxied) as answer:
            assert '{"status": "alive"}' == await answer.text()
        async with browser.get(f"{url}healthz") as answer:
            assert "parts" in await answer.json()
