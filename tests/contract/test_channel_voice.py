"""A voice message from each platform, with its length, and an answer by voice there, by the real SDK's calls."""

import pytest
import sqlalchemy as sa

from channels.messages import (
    INBOUND_EVENT,
    Attachment,
    AttachmentKind,
    InboundMessage,
    OutboundMedia,
    OutboundPart,
    Rendered,
)
from gateway.store.tables.traffic import inbox
from tests.contract.platform_rigs import DiscordRig, PlatformRig, SlackRig, TelegramRig
from tests.fakes.audio_server import OGG

SIDES = pytest.mark.parametrize("rig", [TelegramRig, DiscordRig, SlackRig], indirect=True, ids=lambda rig: rig.name)


async def heard(rig: PlatformRig) -> Attachment:
    await rig.meet()
    rig.side.send_voice(rig.chat, OGG, 4.0)
    assert ["hello", ""] == await rig.sink.until_texts(2)
    newest = sa.select(inbox.c.payload).order_by(inbox.c.id.desc()).limit(1)
    event = INBOUND_EVENT.validate_json(
        await rig.store.read(lambda connection: connection.execute(newest).scalar_one())
    )
    assert isinstance(event, InboundMessage)
    (attachment,) = event.attachments
    return attachment


@SIDES
async def test_a_voice_message_comes_with_its_length_and_can_be_fetched(rig: PlatformRig):
    voice = await heard(rig)
    assert (AttachmentKind.VOICE, len(OGG), 4.0) == (voice.kind, voice.size_bytes, voice.duration_s)
    assert OGG == await rig.channel.fetch(voice, 1_000)


@SIDES
async def test_an_answer_by_voice_is_a_voice_message_or_a_sound_file(rig: PlatformRig):
    await rig.meet()
    voice = OutboundMedia(AttachmentKind.VOICE, "answer.ogg", "audio/ogg", OGG)
    part = OutboundPart(address=rig.address, rendered=Rendered(""), idem_key="k1", media=(voice,))
    await rig.channel.send(part)
    (file,) = rig.side.answers(rig.chat)[-1].files
    kind = "voice" if rig.name == "telegram" else "document"
    assert (OGG, kind) == (file.content, file.kind)
    assert file.name in ("answer.ogg", "")  # Telegram's voice messages have no names
