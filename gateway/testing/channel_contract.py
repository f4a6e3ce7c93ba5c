"""The contract of every channel, for the tests of one of your own.

Describe your channel as a `gateway.testing.channel_rig.Rig`, return it from a fixture `rig`, and collect the three
classes:

    from gateway.testing.channel_contract import EndContract, InContract, OutContract

    class TestIn(InContract): ...
    class TestOut(OutContract): ...
    class TestEnd(EndContract): ...
"""

import asyncio
import re

import pytest

from channels.base import ChannelState, EditsMessages, HasButtons, Reaction, Reacts, ShowsTyping
from channels.errors import ChannelError, Permanent, Retryable, Unknown
from channels.messages import OutboundPart
from gateway.delivery.splitter import split
from gateway.testing.channel_rig import Rig, Trouble

ERRORS = {Trouble.RETRYABLE: Retryable, Trouble.PERMANENT: Permanent, Trouble.UNKNOWN: Unknown}


def _skip_if_no_send_fails(rig: Rig) -> None:
    if rig.delivers_by_commit:
        pytest.skip("a message is delivered when it is stored")


class InContract:
    """Receiving: order, redelivery, persistence before acknowledgement."""

    async def test_burst_keeps_its_order(self, rig: Rig) -> None:
        said = [f"message {number}" for number in range(40)]
        await rig.people_say(said)
        assert said == await rig.sink.until_texts(40)

    async def test_redelivery_four_times_is_one_row(self, rig: Rig) -> None:
        await rig.people_say(["once"])
        await rig.sink.until_texts(1)
        for _ in range(4):
            await rig.redeliver()
        await rig.people_say(["after"])
        assert ["once", "after"] == await rig.sink.until_texts(2)

    async def test_redelivery_after_a_restart_is_one_row(self, rig: Rig) -> None:
        await rig.people_say(["once"])
        await rig.sink.until_texts(1)
        await rig.restart()
        await rig.redeliver()
        await rig.people_say(["after"])
        assert ["once", "after"] == await rig.sink.until_texts(2)

    async def test_what_was_not_persisted_is_not_acknowledged_and_comes_again(self, rig: Rig) -> None:
        kept: list[int] = []
        rig.sink.on_refusal = lambda: kept.append(rig.count_unacknowledged())
        rig.sink.refusals = 2
        await rig.people_say(["keep me"])
        assert ["keep me"] == await rig.sink.until_texts(1)
        assert [1, 1] == kept
        async with asyncio.timeout(30):
            while rig.count_unacknowledged():
                await asyncio.sleep(0.01)

    async def test_slow_store_holds_people_up_and_loses_nothing(self, rig: Rig) -> None:
        await rig.meet()
        rig.sink.open.clear()
        rig.sink.arriving.clear()
        said = [f"message {number}" for number in range(30)]
        await rig.people_say(said)
        await asyncio.wait_for(rig.sink.arriving.wait(), 30)
        await asyncio.sleep(0.2)
        assert (30, 1) == (rig.count_unacknowledged(), len(await rig.sink.texts()))
        rig.sink.open.set()
        assert ["hello", *said] == await rig.sink.until_texts(31)

    async def test_killed_before_the_commit_loses_nothing(self, rig: Rig) -> None:
        await rig.meet()
        rig.sink.open.clear()
        rig.sink.arriving.clear()
        await rig.people_say(["survivor"])
        await asyncio.wait_for(rig.sink.arriving.wait(), 30)
        await rig.stop()
        rig.sink.open.set()
        await rig.start()
        assert ["hello", "survivor"] == await rig.sink.until_texts(2)

    async def test_health_is_told(self, rig: Rig) -> None:
        await rig.people_say(["hello"])
        await rig.sink.until_texts(1)
        assert ChannelState.READY in rig.sink.states


class OutContract:
    """Sending: receipts, kinds of failure, repeated keys, edits."""

    async def test_send_gives_a_receipt_and_is_seen(self, rig: Rig) -> None:
        await rig.meet()
        receipt = await rig.channel.send(rig.part("hello"))
        assert receipt.platform_id
        assert ["hello"] == await rig.until_sent()

    async def test_parts_are_seen_in_their_order(self, rig: Rig) -> None:
        await rig.meet()
        for number in range(5):
            await rig.channel.send(rig.part(f"part {number}", f"key-{number}"))
        assert [f"part {number}" for number in range(5)] == await rig.until_sent()

    async def test_answer_too_long_for_one_message_is_seen_whole(self, rig: Rig) -> None:
        await rig.meet()
        words = [f"word{number}" for number in range(rig.channel.limits.max_text // 3)]
        parts = split("**Begin.** " + " ".join(words), rig.channel.renderer, rig.channel.limits)
        assert 2 <= len(parts) <= 4
        for number, split_part in enumerate(parts):
            await rig.channel.send(
                OutboundPart(address=rig.address, rendered=split_part.rendered, idem_key=f"key-{number}")
            )
        assert len(parts) == len(await rig.until_sent())
        assert words == re.findall(r"word\d+", " ".join(await rig.until_sent()))

    async def test_retryable_failure_says_when_to_come_again_and_is_said_once(self, rig: Rig) -> None:
        _skip_if_no_send_fails(rig)
        await rig.meet()
        await rig.fail_next(Trouble.RETRYABLE)
        with pytest.raises(Retryable) as failed:
            await rig.channel.send(rig.part("once"))
        assert 0 < (failed.value.retry_after_s or 0)
        assert [] == await rig.until_sent()
        await rig.mend()
        await rig.channel.send(rig.part("once"))
        assert ["once"] == await rig.until_sent()

    async def test_repeated_key_is_said_once_where_that_is_promised(self, rig: Rig) -> None:
        await rig.meet()
        if not rig.channel.limits.idempotent_sends:
            pytest.skip("the platform does not know repeated sends")
        first = await rig.channel.send(rig.part("said"))
        assert first == await rig.channel.send(rig.part("said"))
        assert ["said"] == await rig.until_sent()

    @pytest.mark.parametrize("trouble", list(Trouble))
    async def test_each_kind_of_failure_is_told_apart(self, rig: Rig, trouble: Trouble) -> None:
        _skip_if_no_send_fails(rig)
        await rig.meet()
        await rig.fail_next(trouble)
        with pytest.raises(ChannelError) as failed:
            await rig.channel.send(rig.part("lost?"))
        assert ERRORS[trouble] is type(failed.value)
        await rig.mend()
        await rig.channel.send(rig.part("found", "another-key"))
        assert "found" == (await rig.until_sent())[-1]

    async def test_edit_replaces_and_bears_repetition(self, rig: Rig) -> None:
        await rig.meet()
        if not isinstance(rig.channel, EditsMessages):
            pytest.skip("the channel does not edit")
        receipt = await rig.channel.send(rig.part("…"))
        for _ in range(2):
            assert receipt == await rig.channel.edit(rig.part("the answer", "key-2"), receipt.platform_id)
        assert ["the answer"] == await rig.until_sent()

    async def test_signs_do_no_harm(self, rig: Rig) -> None:
        await rig.meet()
        receipt = await rig.channel.send(rig.part("answer"))
        if isinstance(rig.channel, ShowsTyping):
            await rig.channel.show_typing(rig.address)
        if isinstance(rig.channel, Reacts):
            await rig.channel.react(rig.address, await rig.sink.last_message_id(), Reaction.WORKING)
            await rig.channel.react(rig.address, await rig.sink.last_message_id(), None)
        if isinstance(rig.channel, HasButtons):
            await rig.channel.close_buttons(rig.address, receipt.platform_id)
        assert ["answer"] == await rig.until_sent()

    async def test_send_after_a_restart_is_seen(self, rig: Rig) -> None:
        await rig.meet()
        await rig.restart()
        await rig.meet(2)
        await rig.channel.send(rig.part("still here"))
        assert "still here" == (await rig.until_sent())[-1]


class EndContract:
    """The end of a channel."""

    async def test_aclose_bears_repetition(self, rig: Rig) -> None:
        await rig.stop()
        await rig.channel.aclose()
        await rig.start()

    async def test_cancelled_run_ends_at_once(self, rig: Rig) -> None:
        await rig.meet()
        async with asyncio.timeout(10):
            await rig.stop()
        await rig.start()
