"""Browsers of the chat page as rows, on every engine."""

from datetime import timedelta
from functools import partial

from gateway.store import web_devices
from gateway.store.engine import Store
from tests.fakes.people import NOON


async def test_a_browser_is_seen_signed_out_and_forgotten(store: Store) -> None:
    for hours, (chat, device) in enumerate([("ada", "d1"), ("ada", "d2"), ("bob", "d1"), ("ada", "d1")]):
        see = partial(web_devices.note_seen, tenant="default", chat=chat, device=device, browser=f"of {chat}")
        await store.commit(see, now=NOON + timedelta(hours=hours))
    listed = partial(web_devices.list_devices, tenant="default", chat="ada")
    assert ["d1", "d2"] == [each.device for each in await store.read(listed)]
    out = partial(
        web_devices.sign_out, tenant="default", chat="ada", devices=["d2", "d3"], now=NOON + timedelta(hours=4)
    )
    assert ["", "d2"] == sorted(await store.commit(out))
    assert [] == await store.commit(out)
    assert ["d1"] == [each.device for each in await store.read(listed)]
    signed_out = partial(web_devices.signed_out, tenant="default")
    assert [("ada", ""), ("ada", "d2")] == sorted(await store.read(signed_out))
    late = NOON + web_devices.KEPT_FOR + timedelta(hours=2, minutes=30)
    await store.commit(web_devices.note_seen, tenant="default", chat="bob", device="d9", browser="", now=late)
    assert ["d1"] == [each.device for each in await store.read(listed)]  # seen at three
    assert [("ada", "")] == await store.read(signed_out)
    await store.commit(web_devices.DEVICES.delete, chat=["ada"])
    assert [] == [*await store.read(listed), *await store.read(signed_out)]
