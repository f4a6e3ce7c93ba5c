"""A person in another browser by a link: once, for ten minutes, allowed where it was made; nobody is taken over."""

import aiohttp
import pytest

from channels.web.config import Guests
from channels.web.device_door import LINK_S, DeviceLinks
from channels.web.recollection import NoRecords
from tests.fakes.views import FakePage
from tests.fakes.web import Clock, House, house


class Audit(NoRecords):
    """Keeps who went on where."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []

    async def note_device(self, chat: str, browser: str) -> None:
        """As the port says."""
        self.rows.append((chat, browser))


async def ask(rig: House, page: FakePage, **body: object) -> tuple[int, dict[str, object]]:
    """One request about devices."""
    async with page.http.post(f"{rig.url}web/device", json=body) as answer:
        return answer.status, await answer.json() if answer.status == 200 else {}


def test_a_link_is_good_once_and_for_ten_minutes():
    """Opened twice, late, guessed or replaced by a newer one it is void."""
    clock = Clock()
    links = DeviceLinks(clock)
    old, code = links.offer("s", "ada"), links.offer("s", "ada")
    assert (None, None) == (links.ask(old), links.ask("x" * 32))
    chat, claim, number = links.ask(code)
    assert ("ada", None) == (chat, links.ask(code))
    assert not links.decide("bob", number, allow=True)
    assert not links.decide("ada", "00", allow=True)
    assert ("", None) == (links.take(claim), links.take("x" * 32))
    assert links.decide("ada", number, allow=True)
    assert ("s", None) == (links.take(claim), links.take(claim))
    late = links.offer("s", "ada")
    _, claim, number = links.ask(late)
    links.decide("ada", number, allow=True)
    clock.now_s += LINK_S
    assert (None, None) == (links.take(claim), links.ask(links.offer("s", "bob")[:-1]))
    denied = links.ask(links.offer("s", "ada"))
    links.decide("ada", denied[2], allow=False)
    assert links.take(denied[1]) is None


async def test_another_browser_becomes_the_same_person_when_they_say_yes():
    """It has their chat then; the first one is told, and the audit keeps it."""
    audit = Audit()
    ours: set[str] = set()
    async with house(guests=Guests(is_known=ours.__contains__), records=audit) as rig, rig.page() as ada:
        assert 403 == (await ask(rig, ada, do="offer"))[0]  # nobody knows them yet
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


async def test_who_is_somebody_already_is_not_made_somebody_else():
    """A link sent to them changes nothing: not even its maker hears of it."""
    async with house(guests=Guests(is_known=lambda _chat: True), records=Audit()) as rig, rig.page() as mallory:
        _, made = await ask(rig, mallory, do="offer")
        async with rig.page() as ada:
            assert 403 == (await ask(rig, ada, do="ask", code=made["code"]))[0]
        assert [] == mallory.told("device")


@pytest.mark.parametrize(
    "body",
    [{}, {"do": "become"}, {"do": "ask"}, {"do": "ask", "code": "x" * 31}, {"do": "take", "claim": ""},
     {"do": "decide", "number": "7", "allow": True}, {"do": "offer", "chat": "a" * 32}],
)  # fmt: skip
async def test_what_is_asked_otherwise_is_refused(body: dict[str, object]):
    """And so is anything from a browser that is nobody, or from another site's page."""
    async with house(guests=Guests(is_known=lambda _chat: True)) as rig, rig.page() as page:
        assert 400 == (await ask(rig, page, **body))[0]
        async with aiohttp.ClientSession() as nobody, nobody.post(f"{rig.url}web/device", json=body) as answer:
            assert 401 == answer.status
        elsewhere = {"Origin": "https://elsewhere.example"}
        async with page.http.post(f"{rig.url}web/device", json={"do": "offer"}, headers=elsewhere) as answer:
            assert 403 == answer.status


async def test_asking_is_bounded_by_address():
    """Nobody tries codes for long."""
    async with house(guests=Guests(is_known=lambda _chat: False)) as rig, rig.page() as page:
        statuses = {(await ask(rig, page, do="ask", code="x" * 32))[0] for _ in range(125)}
        assert {403, 429} == statuses
