"""Files that people send: their data, and downloads within bounds."""

import traceback
from dataclasses import replace

import pytest

from channels.errors import ChannelError, Permanent, Retryable
from channels.messages import Attachment, AttachmentKind, InboundMessage
from channels.simulators.shared.faults import Fault
from channels.simulators.shared.world import File
from tests.fakes.telegram import PNG, TOKEN, Rig, telegram

MB = 1_000_000


async def _heard(rig: Rig, count: int = 1) -> list[InboundMessage]:
    async with rig.running():
        await rig.sink.until(lambda: len(rig.sink.events) == count)
    return [event for event in rig.sink.events if isinstance(event, InboundMessage)]


async def _sent(rig: Rig, file: File, caption: str = "") -> Attachment:
    rig.simulator.send_file(1, file, caption=caption)
    (message,) = await _heard(rig)
    (attachment,) = message.attachments
    return attachment


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (File("photo", PNG), (AttachmentKind.PHOTO, None, "image/jpeg", len(PNG))),
        (
            File("document", b"abc", "log.csv", "text/csv"),
            (AttachmentKind.DOCUMENT, "log.csv", "text/csv", 3),
        ),
        (File("voice", b"ogg", mime="audio/ogg"), (AttachmentKind.VOICE, None, "audio/ogg", 3)),
        (
            File("document", b"abc", "../../x\x00.csv", "text/csv"),
            (AttachmentKind.DOCUMENT, "../../x.csv", "text/csv", 3),
        ),
    ],
    ids=lambda one: getattr(one, "kind", ""),
)
async def test_file_is_noted_and_can_be_fetched(file: File, told: tuple[object, ...]):
    """Cover A70."""
    async with telegram() as rig:
        attachment = await _sent(rig, file, "look")
        assert told == (attachment.kind, attachment.name, attachment.mime, attachment.size_bytes)
        assert file.content == await rig.channel.fetch(attachment, MB)


async def test_album_comes_as_messages_of_one_album():
    async with telegram() as rig:
        for n in range(3):
            rig.simulator.send_file(1, File("photo", PNG, album="al-1"), caption="three" if n == 0 else "")
        rig.simulator.send_file(1, File("photo", PNG))
        heard = await _heard(rig, 4)
        assert ["al-1", "al-1", "al-1", None] == [message.album for message in heard]
        assert ["three", "", "", ""] == [message.text for message in heard]


@pytest.mark.parametrize(
    ("size", "told", "limit", "calls"),
    [
        (2 * MB, 2 * MB, MB, []),  # known before anything is asked
        (2 * MB, 1, MB, ["getFile"]),  # found out while reading
        (MB + 1, MB, MB, ["getFile"]),
        (1, 21 * MB, 100 * MB, ["getFile"]),  # over Telegram's own bound
    ],
)
async def test_file_over_the_bound_is_refused(size: int, told: int, limit: int, calls: list[str]):
    """Cover A77."""
    async with telegram() as rig:
        attachment = await _sent(rig, File("document", b"x" * size, told_bytes=told))
        with pytest.raises(Permanent, match="MB"):
            await rig.channel.fetch(attachment, limit)
        assert calls == [call.method for call in rig.simulator.history()]


async def test_telegrams_own_bound_is_told_as_such():
    async with telegram() as rig:
        attachment = await _sent(rig, File("document", b"x", told_bytes=21 * MB))
        with pytest.raises(Permanent, match="up to 20 MB"):
            await rig.channel.fetch(attachment, 50 * MB)


async def test_exactly_the_bound_is_taken():
    async with telegram() as rig:
        attachment = await _sent(rig, File("document", b"x" * MB))
        assert MB == len(await rig.channel.fetch(attachment, MB))


@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        (Fault(kind="status", status=404, method="download"), Permanent),
        (Fault(kind="status", status=429, method="download"), Retryable),
        (Fault(kind="status", status=500, method="download"), Retryable),
        (Fault(kind="html", method="getFile"), Retryable),
        (Fault(kind="status", status=429, method="getFile"), Retryable),
        (Fault(kind="cut", method="getFile"), Retryable),
        (Fault(kind="cut", method="download"), Retryable),
        (Fault(kind="cut", method="download", applied=True), Retryable),
        (Fault(kind="delay", method="download", delay_s=5), Retryable),
        (Fault(kind="status", status=302, method="download"), Permanent),
    ],
    ids=lambda one: f"{one.method}-{one.kind}-{one.status}-{one.applied}" if isinstance(one, Fault) else one.__name__,
)
async def test_fetch_that_fails_is_permanent_or_may_be_repeated(fault: Fault, raises: type[ChannelError]):
    """Cover A92."""
    async with telegram(file_timeout_s=1.0) as rig:
        attachment = await _sent(rig, File("document", b"x" * 500_000))
        rig.simulator.faults.script(fault)
        with pytest.raises(raises) as caught:
            await rig.channel.fetch(attachment, MB)
        shown, error = "".join(traceback.format_exception(caught.value)), caught.value
        while error is not None:
            shown += f"{error!r} {vars(error)}"
            error = error.__cause__ or error.__context__
        assert TOKEN.partition(":")[2] not in shown
        rig.simulator.faults.clear()
        assert 500_000 == len(await rig.channel.fetch(attachment, MB))


async def test_missing_file_is_gone():
    async with telegram() as rig:
        with pytest.raises(Permanent, match="gone"):
            await rig.channel.fetch(Attachment(AttachmentKind.DOCUMENT, "no-such-file"), MB)


@pytest.mark.parametrize("path", ["../../etc/passwd", "/var/lib/files/x", "a b", "x?y=1", "http://elsewhere/x", "", 7])
async def test_path_that_is_none_is_not_asked_for(path: object):
    """Cover A71, A89."""
    async with telegram() as rig:
        attachment = await _sent(rig, File("document", b"x"))
        files = rig.simulator.world.bot().files
        files[attachment.handle] = replace(files[attachment.handle], path=path)
        with pytest.raises(Permanent):
            await rig.channel.fetch(attachment, MB)
