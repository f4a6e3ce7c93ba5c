"""Slack's refusals of a stream: a table, one row a script, with the real SDK."""

from contextlib import nullcontext
from dataclasses import dataclass, field

import pytest

from channels.errors import Permanent, Retryable, Unknown
from channels.simulators.shared.faults import Fault
from tests.fakes.slack import slack
from tests.fakes.slack_thread import FIRST, WHOLE, fault, thread


@dataclass(frozen=True)
class Script:
    name: str
    faults: tuple[Fault, ...] = field(default=())
    raises: type[Exception] | None = None
    stream: bool = False  # it is one
    next_stream: bool = True  # the one after it is
    elsewhere: bool = True  # one in another chat is


SCRIPTS = [
    Script("nothing is wrong", stream=True),
    Script("429", (fault("startStream", "error", error="ratelimited", retry_after_s=5),), None, False, False, False),
    Script("429 without a word of when", (fault("startStream", "status", status=429),), None, False, False, False),
    Script("not here", (fault("startStream", "error", error="channel_type_not_supported"),), None, False, False, True),
    Script("no such method", (fault("startStream", "error", error="unknown_method"),), None, False, False, False),
    Script("not switched on", (fault("startStream", "error", error="feature_not_enabled"),), None, False, False, False),
    Script("a refusal nobody knows", (fault("startStream", "error", error="as_user_not_ok"),)),
    Script("no recipient of theirs", (fault("startStream", "error", error="missing_recipient_user_id"),)),
    Script("internal_error may have happened", (fault("startStream", "error", error="internal_error"),), Unknown),
    Script("500 may have happened", (fault("startStream", "status"),), Unknown),
    Script("a page is no answer", (fault("startStream", "html", status=200),), Unknown),
    Script("a late answer may have happened", (fault("startStream", "delay", delay_s=5, applied=True),), Unknown),
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
async def test_a_start(script: Script):
    is_late = any(fault.kind == "delay" for fault in script.faults)
    async with slack(call_timeout_s=1.0 if is_late else 30.0) as rig:
        place, other = thread(rig), thread(rig, "C2")
        rig.simulator.faults.script(*script.faults)
        if script.raises is not None:
            with pytest.raises(script.raises):
                await place.begin()
            return
        await place.begin()
        assert [script.stream] == [one.streamed for one in place.shown]
        await place.begin(key="next")
        await other.begin()
        assert (script.next_stream, script.elsewhere) == (place.shown[1].streamed, other.shown[0].streamed)


async def test_after_a_429_streams_come_back():
    now_s = [1_000.0]
    async with slack(now_s=lambda: now_s[0]) as rig:
        place = thread(rig)
        rig.simulator.faults.script(fault("startStream", "error", error="ratelimited", retry_after_s=5))
        for later_s, key in ((0, "p1"), (4, "p2"), (6, "p3")):
            now_s[0] = 1_000.0 + later_s
            await place.begin(key=key)
        assert [False, False, True] == [one.streamed for one in place.shown]
        assert 2 == sum(one.method == "chat.startStream" for one in rig.simulator.history())


@pytest.mark.parametrize(
    ("method", "error", "raises"),
    [
        ("appendStream", "ratelimited", Retryable),
        ("appendStream", "internal_error", Unknown),
        ("appendStream", "msg_too_long", None),
        ("appendStream", "stopped_by_user", None),
        ("stopStream", "ratelimited", Retryable),
        ("stopStream", "fatal_error", Unknown),
        ("stopStream", "invalid_blocks", None),
        ("stopStream", "invalid_metadata_format", None),
    ],
)
async def test_a_refused_change_is_made_otherwise_or_again(method: str, error: str, raises: type[Exception] | None):
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        rig.simulator.faults.script(fault(method, "error", error=error))
        for change in (place.show, place.end):
            failing = raises is not None and (change == place.end) == (method == "stopStream")
            with pytest.raises(raises) if failing else nullcontext():
                await change(FIRST if change == place.show else WHOLE, begun)
        await place.end(WHOLE, begun)
        place.holds()


async def test_a_piece_refused_by_429_is_appended_later():
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        rig.simulator.faults.script(fault("appendStream", "error", error="ratelimited", retry_after_s=3))
        with pytest.raises(Retryable) as refusal:
            await place.show(FIRST, begun)
        assert 3 == refusal.value.retry_after_s
        await place.show(FIRST, begun)
        await place.end(WHOLE, begun)
        place.holds()
        assert ["startStream", "appendStream", "stopStream"] == place.calls()


async def test_a_chat_we_were_thrown_out_of_is_unreachable_for_a_stream_too():
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        rig.simulator.world.chat("C1").archived = True
        with pytest.raises(Permanent, match="is_archived"):
            await place.end(WHOLE, begun)
