"""The channel's own behaviour over a real homeserver."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from channels.base import ChannelState
from channels.chat.probing import Asker
from channels.errors import ConfigRefused, Permanent, PermanentKind, Retryable, Unknown
from channels.messages import Attachment, AttachmentKind, ChatKind, OutboundMedia, OutboundPart, Rendered
from channels.registry import account_model
from distributions.matrix.tests.homeserver import Homeserver
from distributions.matrix.tests.matrix_rig import MatrixRig, running
from tenk_matrix.probe import probe

pytestmark = [pytest.mark.matrix, pytest.mark.timeout(90)]


@pytest.fixture
async def rig(tmp_path: Path, homeserver: Homeserver) -> AsyncIterator[MatrixRig]:
    async with running(tmp_path, homeserver) as made:
        yield made


async def test_what_was_said_while_the_gateway_was_away_is_read_back(rig: MatrixRig):
    await rig.meet()
    await rig.stop()
    said = [f"message {number}" for number in range(160)]
    for text in said:
        rig.ada.say(rig.room, text)
    await rig.start()
    assert ["hello", *said] == await rig.sink.until_texts(161)


async def test_what_was_said_with_an_invitation_is_read_and_nothing_before_it(rig: MatrixRig):
    room = rig.ada.make_room()
    rig.ada.say(room, "among ourselves")
    await rig.stop()
    rig.ada.call("POST", "rooms", room, "invite", body={"user_id": rig.bot.user})
    rig.ada.say(room, "hello bot")
    await rig.start()
    assert ["hello bot"] == await rig.sink.until_texts(1)


async def test_an_invitation_is_accepted_though_the_homeserver_fails_at_first(rig: MatrixRig):
    rig.tap.answer_next("/join", 429, {"errcode": "M_LIMIT_EXCEEDED", "error": "later", "retry_after_ms": 10})
    room = rig.ada.make_room(rig.bot)
    await rig.sink.until(lambda: rig.bot.user in rig.ada.members(room))


async def test_a_room_becomes_a_group_when_a_third_person_joins_and_direct_when_they_leave(rig: MatrixRig):
    bob = rig.server.register("Bob")
    await rig.meet()
    rig.ada.call("POST", "rooms", rig.room, "invite", body={"user_id": bob.user})
    for change, messages in (("join", 2), ("leave", 3)):
        bob.call("POST", "rooms", rig.room, change, body={})
        await rig.meet(messages)
    assert [ChatKind.DIRECT, ChatKind.GROUP, ChatKind.DIRECT] == [said.kind for said in await rig.sink.messages()]
    assert 1 == sum(call.endswith("/joined_members") for call in rig.tap.calls)


async def test_a_room_with_too_many_members_to_be_read_is_a_group(rig: MatrixRig):
    await rig.meet()
    await rig.stop()
    rig.tap.answer_next("/joined_members", 200, {"joined": {"@a:b": {"display_name": "x" * 17_000_000}}})
    await rig.start()
    await rig.meet(2)
    assert [ChatKind.DIRECT, ChatKind.GROUP] == [said.kind for said in await rig.sink.messages()]


async def test_people_see_that_they_were_read(rig: MatrixRig):
    await rig.meet()
    await rig.sink.until(lambda: any("/receipt/m.read/" in call for call in rig.tap.calls))


async def test_an_encrypted_room_is_told_once_that_it_cannot_be_read(rig: MatrixRig):
    secret = {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "x", "session_id": "x"}
    await rig.meet()
    rig.ada.send(rig.room, secret, "m.room.encrypted")
    await rig.sink.until(lambda: len(rig.sent_texts()) == 1)
    await rig.restart()
    rig.ada.send(rig.room, secret, "m.room.encrypted")
    await rig.meet(2)
    (told,) = rig.sent_texts()
    assert "cannot read encrypted messages" in told


async def test_a_file_goes_both_ways(rig: MatrixRig):
    await rig.meet()
    media = OutboundMedia(AttachmentKind.PHOTO, "a b.png", "image/png", b"picture")
    rendered = Rendered("look")
    part = OutboundPart(address=rig.address, rendered=rendered, idem_key="picture", media=(media, media))
    first = await rig.channel.send(part)
    assert first == await rig.channel.send(part)
    shown = rig.ada.seen(rig.room, rig.bot)
    assert ["look", "a b.png"] == [content["body"] for content in shown]
    handle = shown[0]["url"]
    file = Attachment(AttachmentKind.PHOTO, handle)
    assert b"picture" == await rig.channel.fetch(file, 100)
    with pytest.raises(Permanent) as refused:
        await rig.channel.fetch(file, 3)
    assert PermanentKind.TOO_LARGE is refused.value.kind


async def test_a_deleted_message_is_seen_no_more(rig: MatrixRig):
    await rig.meet()
    sent = await rig.channel.send(rig.part("secret"))
    await rig.channel.delete(rig.address, sent.platform_id)
    assert [] == rig.sent_texts()


async def test_nothing_is_sent_to_a_room_that_put_us_out(rig: MatrixRig):
    await rig.meet()
    rig.ada.call("POST", "rooms", rig.room, "kick", body={"user_id": rig.bot.user})
    with pytest.raises(Permanent) as refused:
        await rig.channel.send(rig.part("hello?"))
    assert PermanentKind.BLOCKED is refused.value.kind


async def test_a_text_that_is_too_long_for_an_event_is_refused_as_such(rig: MatrixRig):
    await rig.meet()
    with pytest.raises(Permanent) as refused:
        await rig.channel.send(rig.part("x" * 70_000))
    assert PermanentKind.TOO_LARGE is refused.value.kind


async def test_a_refused_token_ends_the_channel_and_keeps_what_is_to_be_sent(rig: MatrixRig):
    await rig.meet()
    await rig.stop()
    rig.bot.call("POST", "logout")
    refused = await rig.make()
    with pytest.raises(ConfigRefused, match="M_UNKNOWN_TOKEN"):
        await refused.run(rig.sink)
    await refused.aclose()
    assert ChannelState.FAILED is rig.sink.states[-1]
    with pytest.raises(Retryable, match="M_UNKNOWN_TOKEN"):
        await rig.channel.send(rig.part("later"))


async def test_an_outage_is_told_and_ends_by_itself(rig: MatrixRig):
    await rig.meet()
    rig.tap.answer_next("/sync", 502, {"error": "bad gateway"})
    await rig.meet(2)
    await rig.meet(3)
    assert ChannelState.DEGRADED in rig.sink.states


async def test_the_doctor_tries_the_token(rig: MatrixRig):
    given = {"api_base": rig.tap.url, "access_token": rig.bot.token}
    async with Asker() as asker:
        (fine,) = await probe(account_model("matrix").model_validate(given), asker)
        (bad,) = await probe(account_model("matrix").model_validate(given | {"access_token": "wrong"}), asker)
    assert ("", f"the access token is {rig.bot.user}'s") == (fine.to_do, fine.words)
    assert ("channels", "matrix", "main", "access_token") == bad.key


async def test_an_edit_whose_answer_was_lost_is_shown_once(rig: MatrixRig):
    await rig.meet()
    sent = await rig.channel.send(rig.part("…"))
    rig.tap.cut_next("/send/")
    with pytest.raises(Unknown):
        await rig.channel.edit(rig.part("done", "key-2"), sent.platform_id)
    await rig.channel.edit(rig.part("done", "key-2"), sent.platform_id)
    assert ["done"] == rig.sent_texts()
    assert 1 == sum("m.new_content" in event["content"] for event in rig.ada.events(rig.room))
