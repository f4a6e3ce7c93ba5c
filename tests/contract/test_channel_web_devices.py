"""A second browser by a link: once, within ten minutes, confirmed in the first."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import aiohttp
import pytest

from channels.web.config import Guests
from channels.web.device_routes import LINK_S, DeviceLinks
from channels.web.past_messages import SeenDevice
from channels.web.visitor import COOKIE, Identities, Identity
from tests.fakes.views import FakePage
from tests.fakes.web import KEY, Clock, FakeRecords, House, house

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


class Audit(FakeRecords):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[str, str]] = []

    async def note_device(self, chat: str, browser: str) -> None:
        self.rows.append((chat, browser))


async def ask(rig: House, page: FakePage, **body: object) -> tuple[int, dict[str, object]]:
    async with page.http.post(f"{rig.url}web/device", json=body) as answer:
        return answer.status, await answer.json() if answer.status == 200 else {}


def test_a_link_is_good_once_and_for_ten_minutes():
    clock = Clock()
    links = DeviceLinks(clock)
    old, code = links.offer("s", "ada"), links.offer("s", "ada")
    assert (None, None) == (links.ask(old), links.ask("x" * 32))
    chat, claim, number = links.ask(code)
    assert ("ada", None) == (chat, links.ask(code))
    assert not links.decide("bob", number, allow=True)
    assert not links.decide("ada", "00", allow=True)
    assert ("", None) == (links.redeem(claim), links.redeem("x" * 32))
    assert links.decide("ada", number, allow=True)
    assert ("s", None) == (links.redeem(claim), links.redeem(claim))
    late = links.offer("s", "ada")
    _, claim, number = links.ask(late)
    links.decide("ada", number, allow=True)
    clock.now_s += LINK_S
    assert (None, None) == (links.redeem(claim), links.ask(links.offer("s", "bob")[:-1]))
    denied = links.ask(links.offer("s", "ada"))
    links.decide("ada", denied[2], allow=False)
    assert links.redeem(denied[1]) is None


async def test_another_browser_becomes_the_same_person_when_they_say_yes():
    audit = Audit()
    ours: set[str] = set()
    async with house(guests=Guests(is_known=ours.__contains__), records=audit) as rig, rig.page() as ada:
        assert 403 == (await ask(rig, ada, do="offer"))[0]  # the gateway does not know them yet
        ours.add(ada.chat)
        _, made = await ask(rig, ada, do="offer")
        async with rig.page() as phone:
            _, asked = await ask(rig, phone, do="ask", code=made["code"])
            assert 403 == (await ask(rig, phone, do="ask", code=made["code"]))[0]
            assert {"waits": True} == (await ask(rig, phone, do="take", claim=asked["claim"]))[1]
            assert 403 == (await ask(rig, phone, do="decide", number=asked["number"], allow=True))[0]
            await ada.until(lambda: bool(ada.told("device")))
            assert asked["number"] == ada.told("device")[0]["number"]
            await ask(rig, ada, do="decide", number=asked["number"], allow=True)
            assert {"chat": ada.chat} == (await ask(rig, phone, do="take", claim=asked["claim"]))[1]
            assert 403 == (await ask(rig, phone, do="take", claim=asked["claim"]))[0]
            await phone.leave()
            phone.wanted.set()
            await phone.until(lambda: phone.chat == ada.chat)
        assert [ada.chat] == [chat for chat, _ in audit.rows]


async def test_a_known_browser_does_not_become_another_person():
    async with house(guests=Guests(is_known=lambda _chat: True), records=Audit()) as rig, rig.page() as mallory:
        _, made = await ask(rig, mallory, do="offer")
        async with rig.page() as ada:
            assert 403 == (await ask(rig, ada, do="ask", code=made["code"]))[0]
        assert [] == mallory.told("device")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"do": "become"},
        {"do": "ask"},
        {"do": "ask", "code": "x" * 31},
        {"do": "take", "claim": ""},
        {"do": "decide", "number": "7", "allow": True},
        {"do": "offer", "chat": "a" * 32},
    ],
)
async def test_what_is_asked_otherwise_is_refused(body: dict[str, object]):
    async with house(guests=Guests(is_known=lambda _chat: True)) as rig, rig.page() as page:
        assert 400 == (await ask(rig, page, **body))[0]
        async with aiohttp.ClientSession() as stranger, stranger.post(f"{rig.url}web/device", json=body) as answer:
            assert 401 == answer.status
        elsewhere = {"Origin": "https://elsewhere.example"}
        async with page.http.post(f"{rig.url}web/device", json={"do": "offer"}, headers=elsewhere) as answer:
            assert 403 == answer.status


async def test_asking_is_bounded_by_address():
    async with (
        house(guests=Guests(is_known=lambda _chat: False), address_messages_per_min=99) as rig,
        rig.page() as page,
    ):
        statuses = {(await ask(rig, page, do="ask", code="x" * 32))[0] for _ in range(125)}
        assert {403, 429} == statuses


class Devices(Audit):
    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, str] = {}
        self.out: set[tuple[str, str]] = set()

    async def see_device(self, _chat: str, device: str, browser: str) -> None:
        self.known[device] = browser

    async def devices(self, chat: str) -> list[SeenDevice]:
        return [SeenDevice(id_, name, NOON) for id_, name in self.known.items() if (chat, id_) not in self.out]

    async def sign_out(self, chat: str, devices: Sequence[str]) -> Sequence[str]:
        self.out.update((chat, each) for each in ("", *devices))
        return ["", *devices]

    async def signed_out(self) -> Sequence[tuple[str, str]]:
        return sorted(self.out)


@asynccontextmanager
async def two_browsers(records: Devices) -> AsyncIterator[tuple[House, FakePage, FakePage]]:
    ours: set[str] = set()
    async with house(guests=Guests(is_known=ours.__contains__), records=records) as rig, rig.page() as ada:
        ours.add(ada.chat)
        _, made = await ask(rig, ada, do="offer")
        async with rig.page() as phone:
            _, asked = await ask(rig, phone, do="ask", code=made["code"])
            await ask(rig, ada, do="decide", number=asked["number"], allow=True)
            await ask(rig, phone, do="take", claim=asked["claim"])
            await phone.leave()
            phone.wanted.set()
            await phone.until(lambda: phone.chat == ada.chat)
            yield rig, ada, phone


def cookie_of(page: FakePage) -> str:
    return "; ".join(f"{cookie.key}={cookie.value}" for cookie in page.http.cookie_jar)


async def stays_out(rig: House, cookie: str, chat: str) -> None:
    async with aiohttp.ClientSession(headers={"Cookie": cookie}, cookie_jar=aiohttp.DummyCookieJar()) as thief:
        for method, path in [
            ("GET", "web/ws"),
            ("GET", "web/events"),
            ("POST", "web/messages"),
            ("POST", "web/device"),
            ("GET", "web/conversations"),
            ("GET", "web/file"),
            ("POST", "web/upload"),
        ]:
            async with thief.request(method, rig.url + path) as answer:
                assert 401 == answer.status, path
        async with thief.post(f"{rig.url}web/session") as answer:
            told = await answer.json()
    assert told["signed_out"]
    assert chat != told["chat"]


async def test_all_others_are_signed_out_at_once_and_cookies_without_a_number_with_them():
    async with two_browsers(Devices()) as (rig, ada, phone):
        stolen, chat = cookie_of(phone), ada.chat
        secret = stolen.partition("=")[2].partition(".")[0]
        unnumbered = Identities(KEY, lambda _: True).value_of(Identity(secret, fresh=False))
        assert {"out": 1} == (await ask(rig, ada, do="out", device=None))[1]
        await phone.until(lambda: phone.chat != chat)
        await stays_out(rig, stolen, chat)
        await stays_out(rig, f"{COOKIE}={unnumbered}", chat)
        assert 200 == (await ask(rig, ada, do="list"))[0]


async def test_an_old_request_is_given_a_number():
    secret, records = "ada-ada-ada-ada-ada-a_", Devices()
    old = Identity(secret, fresh=False)
    cookie = f"{COOKIE}={Identities(KEY, lambda _: True).value_of(old)}"
    browser = aiohttp.ClientSession(headers={"Cookie": cookie}, cookie_jar=aiohttp.DummyCookieJar())
    async with house(guests=Guests(is_known=lambda _: True), records=records) as rig, browser:
        answer = await browser.post(f"{rig.url}web/session")
        given = answer.headers["Set-Cookie"].partition(";")[0]
        assert old.chat == (await answer.json())["chat"]
    assert [given.split(".")[1]] == list(records.known)
