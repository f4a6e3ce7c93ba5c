"""A picture from a platform: fetched by the real SDK's calls, or reported as gone."""

from dataclasses import replace

import pytest
import sqlalchemy as sa

from agent.pictures import Picture, Unseen
from channels.errors import Permanent
from channels.messages import INBOUND_EVENT, Attachment, AttachmentKind, InboundMessage
from gateway.sessions.config import PicturesConfig
from gateway.sessions.pictures import PictureFetcher, Whose
from gateway.store.tables.traffic import inbox
from tests.contract.platform_rigs import DiscordRig, PlatformRig, SlackRig, TelegramRig
from tests.fakes.pictures import png

SIDES = pytest.mark.parametrize("rig", [TelegramRig, DiscordRig, SlackRig], indirect=True, ids=lambda rig: rig.name)


async def sent(rig: PlatformRig, content: bytes) -> Attachment:
    await rig.meet()
    rig.side.send_picture(rig.chat, content, "which key is this?")
    assert ["hello", "which key is this?"] == await rig.sink.until_texts(2)
    newest = sa.select(inbox.c.payload).order_by(inbox.c.id.desc()).limit(1)
    payload = await rig.store.read(lambda connection: connection.execute(newest).scalar_one())
    event = INBOUND_EVENT.validate_json(payload)
    assert isinstance(event, InboundMessage)
    (attachment,) = event.attachments
    return attachment


@SIDES
async def test_a_picture_comes_with_its_words_and_is_kept_until_the_platform_has_it_no_more(rig: PlatformRig):
    content = png(900, 600, padding=2_000)
    kept: dict[str, bytes] = {}

    async def keep(_tenant: str, id_: str, found: bytes, _came_with: str) -> None:
        kept[id_] = found

    async def fetch(**config: int) -> Picture:
        fetcher = PictureFetcher(PicturesConfig.model_validate(config), lambda: True, keep)
        (picture,) = await fetcher.fetch(rig.channel, [attachment], Whose("t", ""))
        return picture

    attachment = await sent(rig, content)
    assert AttachmentKind.PHOTO is attachment.kind
    seen = await fetch()
    assert ("image/png", len(content), 900, None) == (seen.mime, seen.size_bytes, seen.width, seen.unseen)
    assert {seen.id: content} == kept
    attachment = replace(attachment, size_bytes=None)  # not told: the download itself stops
    assert Unseen.TOO_LARGE is (await fetch(max_bytes=1_000)).unseen
    world = rig.simulator.world
    (world.bot() if rig.name == "telegram" else world).files.clear()
    assert Unseen.GONE is (await fetch()).unseen


@pytest.mark.parametrize("rig", [DiscordRig], indirect=True, ids=["discord"])
async def test_a_picture_elsewhere_than_on_the_platforms_host_is_not_asked_for(rig: PlatformRig):
    """Cover A89."""
    attachment = await sent(rig, png())
    message = rig.simulator.chat(int(rig.chat)).messages[int(attachment.handle.split("/")[1])]
    (file,) = message.files
    for url in (
        "http://169.254.169.254/latest/meta-data",
        "https://cdn.discordapp.com.evil.example/x.png",
        "https://cdn.discordapp.com@evil.example/x.png",
        "file:///etc/passwd",
        "//evil.example/x.png",
        "",
    ):
        message.files = [replace(file, path=url)]
        with pytest.raises(Permanent, match="CDN"):
            await rig.channel.fetch(attachment, 1_000)
