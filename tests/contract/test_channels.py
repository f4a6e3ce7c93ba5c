"""What holds for every channel, whatever it speaks: one class over all of them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from channels.base import ChannelState, EditsMessages, HasButtons, Reacts, ShowsTyping, Sign
from channels.errors import ChannelError, Permanent, Retryable, Unknown
from gateway.store.engine import Store
from tests.contract.channel_rigs import RIGS, Rig, Trouble
from tests.fakes.spine import quick_store

EXAMPLE = Path(__file__).with_name("example_channel")
ERRORS = {Trouble.RETRYABLE: Retryable, Trouble.PERMANENT: Permanent, Trouble.UNKNOWN: Unknown}


@pytest.fixture(params=RIGS, ids=lambda rig: rig.name)
async def rig(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rig]:
    """Each channel in turn, running."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    make: Callable[[Store, Path], Rig] = request.param
    store = await quick_store(tmp_path / "tenk.db")
    directory = tmp_path / "rig"
    directory.mkdir()
    try:
        async with make(store, directory).alive() as made:
            yield made
    finally:
        await store.aclose()


class TestIn:
    """From people to the inbox."""

    async def test_burst_keeps_its_order(self, rig: Rig):
        """Forty messages of one person, said without a breath, become forty rows in that order."""
        said = [f"message {number}" for number in range(40)]
        await rig.people_say(said)
        assert said == await rig.sink.until_texts(40)

    async def test_redelivery_four_times_is_one_row(self, rig: Rig):
        """Handed over again and again, a message stays one (P2)."""
        await rig.people_say(["once"])
        await rig.sink.until_texts(1)
        for _ in range(4):
            await rig.redeliver()
        await rig.people_say(["after"])
        assert ["once", "after"] == await rig.sink.until_texts(2)

    async def test_redelivery_after_a_restart_is_one_row(self, rig: Rig):
        """The process that knew of it is gone; the inbox knows."""
        await rig.people_say(["once"])
        await rig.sink.until_texts(1)
        await rig.restart()
        await rig.redeliver()
        await rig.people_say(["after"])
        assert ["once", "after"] == await rig.sink.until_texts(2)

    async def test_what_was_not_persisted_is_not_acknowledged_and_comes_again(self, rig: Rig):
        """NotPersisted twice: the platform keeps the message all the while, and it is a row in the end (F64)."""
        kept: list[int] = []
        rig.sink.on_refusal = lambda: kept.append(rig.unacknowledged())
        rig.sink.refusals = 2
        await rig.people_say(["keep me"])
        assert ["keep me"] == await rig.sink.until_texts(1)
        assert [1, 1] == kept
        async with asyncio.timeout(5):
            while rig.unacknowledged():
                await asyncio.sleep(0.01)

    async def test_killed_before_the_commit_loses_nothing(self, rig: Rig):
        """A process that ends inside `receive` has acknowledged nothing: the next one is given it again."""
        await _met(rig)
        rig.sink.open.clear()
        rig.sink.arriving.clear()
        await rig.people_say(["survivor"])
        await asyncio.wait_for(rig.sink.arriving.wait(), 5)
        await rig.stop()
        rig.sink.open.set()
        await rig.start()
        assert ["hello", "survivor"] == await rig.sink.until_texts(2)

    async def test_health_is_told(self, rig: Rig):
        """A channel that is heard from says so."""
        await rig.people_say(["hello"])
        await rig.sink.until_texts(1)
        assert ChannelState.READY in rig.sink.states


class TestOut:
    """From a part to people."""

    async def test_send_gives_a_receipt_and_is_seen(self, rig: Rig):
        """One part, one message."""
        await _met(rig)
        receipt = await rig.channel.send(rig.part("hello"))
        assert receipt.platform_id
        assert ["hello"] == rig.sent_texts()

    async def test_parts_are_seen_in_their_order(self, rig: Rig):
        """Each send ends before the next begins; so do they stand."""
        await _met(rig)
        for number in range(5):
            await rig.channel.send(rig.part(f"part {number}", f"key-{number}"))
        assert [f"part {number}" for number in range(5)] == rig.sent_texts()

    async def test_repeated_key_is_said_once_where_that_is_promised(self, rig: Rig):
        """`idempotent_sends` is a promise: the same key gives the same message."""
        await _met(rig)
        if not rig.channel.limits.idempotent_sends:
            pytest.skip("the platform does not know repeated sends")
        first = await rig.channel.send(rig.part("said"))
        assert first == await rig.channel.send(rig.part("said"))
        assert ["said"] == rig.sent_texts()

    @pytest.mark.parametrize("trouble", list(Trouble))
    async def test_each_kind_of_failure_is_told_apart(self, rig: Rig, trouble: Trouble):
        """Retryable, permanent, unknown; and afterwards the channel sends as before."""
        await _met(rig)
        await rig.fail_next(trouble)
        with pytest.raises(ChannelError) as failed:
            await rig.channel.send(rig.part("lost?"))
        assert ERRORS[trouble] is type(failed.value)
        await rig.mend()
        await rig.channel.send(rig.part("found", "another-key"))
        assert "found" == rig.sent_texts()[-1]

    async def test_edit_replaces_and_bears_repetition(self, rig: Rig):
        """Twice the same edit is one message with the new words."""
        await _met(rig)
        if not isinstance(rig.channel, EditsMessages):
            pytest.skip("the channel does not edit")
        receipt = await rig.channel.send(rig.part("…"))
        for _ in range(2):
            assert receipt == await rig.channel.edit(rig.part("the answer", "key-2"), receipt.platform_id)
        assert ["the answer"] == rig.sent_texts()

    async def test_signs_do_no_harm(self, rig: Rig):
        """Typing, reactions and closed buttons change nothing of what was said."""
        await _met(rig)
        receipt = await rig.channel.send(rig.part("answer"))
        if isinstance(rig.channel, ShowsTyping):
            await rig.channel.show_typing(rig.address)
        if isinstance(rig.channel, Reacts):
            await rig.channel.react(rig.address, await rig.sink.last_message_id(), Sign.WORKING)
            await rig.channel.react(rig.address, await rig.sink.last_message_id(), None)
        if isinstance(rig.channel, HasButtons):
            await rig.channel.close_buttons(rig.address, receipt.platform_id)
        assert ["answer"] == rig.sent_texts()

    async def test_send_after_a_restart_is_seen(self, rig: Rig):
        """The next process reaches the same person."""
        await _met(rig)
        await rig.restart()
        await _met(rig, 2)
        await rig.channel.send(rig.part("still here"))
        assert "still here" == rig.sent_texts()[-1]


class TestEnd:
    """Letting go."""

    async def test_aclose_bears_repetition(self, rig: Rig):
        """Closing what is closed does nothing."""
        await rig.stop()
        await rig.channel.aclose()
        await rig.start()

    async def test_cancelled_run_ends_at_once(self, rig: Rig):
        """Nothing holds up a graceful stop."""
        await _met(rig)
        async with asyncio.timeout(2):
            await rig.stop()
        await rig.start()


async def _met(rig: Rig, messages: int = 1) -> None:
    """The person has said something, so that there is a chat to send to."""
    await rig.people_say(["hello"])
    await rig.sink.until_texts(messages)
