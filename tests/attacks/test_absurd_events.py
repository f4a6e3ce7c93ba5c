"""Absurd events: readable ones are handled, the rest is quarantined, and no other person waits."""

import base64
import json
import os
from datetime import UTC, datetime

import pytest

from channels.foreign import EARLIEST, LATEST, MOST_ID
from channels.messages import InboundMessage, MembershipChanged
from tests.fakes import discord, slack, telegram
from tests.fakes.sink import RecordingSink

HUGE = 10**18
DEEP = "[" * 900 + "]" * 900

TELEGRAM = [
    {"update_id": MOST_ID},
    {"update_id": 2**64 - 1},
    {"update_id": -1},
    {"update_id": 10**30},
    {"update_id": "9" * 30},
    *[
        {"message": {"message_id": 1, "chat": {"id": 1, "type": "private"}, "text": "x"} | date}
        for date in ({"date": HUGE}, {"date": -HUGE}, {"date": "yesterday"}, {"date": None}, {})
    ],
    *[
        {"message": {"message_id": id_, "date": 1, "chat": {"id": id_, "type": "private"}, "text": "x"}}
        for id_ in (2**63, -(2**63) - 1, 10**30, "1", 1.5, True)
    ],
    {"message": {"message_id": 1, "date": 1, "chat": {"id": 1, "type": "private"}, "text": json.loads(DEEP)}},
    {"my_chat_member": {"chat": {"id": 1, "type": "private"}, "from": {"id": 1}, "date": HUGE}},
]


def said(sink: RecordingSink) -> list[str]:
    return [event.text for event in sink.events if isinstance(event, InboundMessage)]


async def test_impossible_telegram_updates_hold_up_no_others() -> None:
    async with telegram.telegram() as rig, rig.running():
        await rig.simulator.until(lambda: rig.simulator.world.bot().updates.polls > 0)
        for update in TELEGRAM:
            rig.simulator.world.bot().updates.push_raw(dict(update))
        rig.simulator.say(2, "is anybody there?", person=2)
        await rig.sink.until(lambda: "is anybody there?" in said(rig.sink))
        rig.simulator.say(2, "again", person=2)
        await rig.sink.until(lambda: "again" in said(rig.sink))
        assert len({one.event_id for one in rig.sink.rejected}) >= 12
        assert all(EARLIEST <= event.received_at <= LATEST for event in rig.sink.events)


async def test_a_telegram_file_of_a_size_that_cannot_be_is_a_file() -> None:
    body = {
        "message_id": 1,
        "date": 1_790_000_000,
        "chat": {"id": 1, "type": "private"},
        "from": {"id": 1},
        "document": {"file_id": "f", "file_size": 10**30},
    }
    async with telegram.telegram() as rig, rig.running():
        await rig.simulator.until(lambda: rig.simulator.world.bot().updates.polls > 0)
        rig.simulator.world.bot().updates.push_raw({"message": body})
        await rig.sink.until(lambda: bool(rig.sink.events))
        assert [None] == [one.size_bytes for one in rig.sink.events[0].attachments]


@pytest.mark.parametrize("committed", ["", "garbage", "-5", "9" * 40, "1e9", "{}"])
async def test_a_resume_point_that_is_none_is_a_first_start(committed: str) -> None:
    async with telegram.telegram() as one, slack.slack() as two:
        one.sink.committed = two.sink.committed = committed
        async with one.running(), two.running():
            one.simulator.say(1, "hello")
            two.simulator.say("D1", "hello")
            await one.sink.until(lambda: bool(one.sink.events))
            await two.sink.until(lambda: bool(two.sink.events))


def message(**changes: object) -> dict[str, object]:
    said = {"id": "1573854922774937600", "channel_id": "1", "content": "x", "author": {"id": "1", "username": "a"}}
    return said | {"type": 0} | changes


DISCORD = [
    *[("MESSAGE_CREATE", message(id=id_)) for id_ in ("9" * 20, "9" * 30, "²", "-1", 5, None)],
    *[
        ("MESSAGE_CREATE", message(id=str(number), timestamp=at))
        for number, at in enumerate(
            ("0001-01-01T00:00:00", "9999-12-31T23:59:59", "yesterday", HUGE), 1_573_854_922_774_937_700
        )
    ],
    *[("MESSAGE_UPDATE", message(edited_timestamp=at)) for at in ("0001-01-01T00:00:00", "9999-12-31T23:59:59-23:59")],
    *[("GUILD_CREATE", {"id": "7", "joined_at": at}) for at in ("0001-01-01T00:00:00", "9999-12-31T23:59:59", HUGE)],
    ("MESSAGE_CREATE", message(content=json.loads(DEEP))),
    ("MESSAGE_DELETE", {"id": {}, "channel_id": []}),
    ("INTERACTION_CREATE", {"id": "9" * 20, "type": 2, "token": "t"}),
    ("CHANNEL_CREATE", {"id": "5", "type": 10**30}),
    ("READY", {}),
    ("THREAD_LIST_SYNC", None),
]


async def test_impossible_discord_events_hold_up_no_others() -> None:
    async with discord.discord() as rig, rig.running():
        for event, data in DISCORD:
            if event != "READY":
                rig.simulator.inject(event, json.dumps(data).encode())
        rig.simulator.say(1, "is anybody there?")
        await rig.sink.until(lambda: "is anybody there?" in discord.texts(rig))
        assert all(EARLIEST <= event.received_at <= LATEST for event in rig.sink.events)
        assert json.loads(rig.sink.committed or "")["last"] < (int(datetime.now(UTC).timestamp()) + 90_000) * 1000 << 22


@pytest.mark.parametrize("content", [" " * 40_000_000, base64.b64encode(os.urandom(18_000_000)).decode()], ids=len)
async def test_a_discord_frame_beyond_measure_costs_its_session_and_nothing_else(content: str) -> None:
    async with discord.discord() as rig, rig.running():
        rig.simulator.say(1, "before")
        await rig.sink.until(lambda: "before" in discord.texts(rig))
        rig.simulator.inject("MESSAGE_CREATE", json.dumps(message(content=content)).encode())
        rig.simulator.say(1, "after")
        await rig.sink.until(lambda: "after" in discord.texts(rig))
        assert 2 == rig.sessions.identifies and {"before", "after"} == set(discord.texts(rig))


@pytest.mark.parametrize("sequence", ["1e400", "-1", "18446744073709551616", '"7"', "NaN", "[]"])
async def test_a_sequence_number_that_is_none_is_not_kept(sequence: str) -> None:
    async with discord.discord() as rig, rig.running():
        rig.simulator.frame(f'{{"op": 0, "t": "TYPING_START", "s": {sequence}, "d": {{}}}}'.encode())
        rig.simulator.say(1, "hello")
        await rig.sink.until(lambda: "hello" in discord.texts(rig))
        assert 0 <= json.loads(rig.sink.committed or "")["session"]["seq"] < 100


@pytest.mark.parametrize("interval", [0, -1, 10**12, 1e300, None, "soon", [], True])
async def test_heartbeats_neither_flood_nor_cease(interval: object) -> None:
    async with discord.discord() as rig:
        rig.simulator.gateway.heartbeat_ms = interval
        async with rig.running():
            rig.simulator.frame(b'{"op": 10, "d": {"heartbeat_interval": 0}}')
            rig.simulator.say(1, "hello")
            await rig.sink.until(lambda: "hello" in discord.texts(rig))
            assert 1 == rig.simulator.gateway.heartbeats


SLACK = (
    [
        {
            "type": "event_callback",
            "event_id": f"Ev{number}",
            "event_time": at,
            "event": {"type": "channel_left", "channel": "C1"},
        }
        for number, at in enumerate((10**15, -(10**15), 10**30, "x", None, 1e300, True, [1]))
    ]
    + [
        {
            "type": "event_callback",
            "event_id": "Ev9",
            "event": {"type": "message", "channel": "D1", "user": "U1", "ts": ts},
        }
        for ts in ("9" * 30, "1e400", "NaN", 5, None, "")
    ]
    + [
        {"type": "event_callback", "event_id": "Ev99", "event": json.loads(DEEP)},
        {"type": "event_callback", "event_id": {"a": 1}, "event": {"type": []}, "authorizations": [5], "team_id": [1]},
        {"type": "block_actions", "actions": [{"action_ts": HUGE}], "user": 5, "team": []},
    ]
)
"""Payloads of the Events API that cannot be."""


@pytest.mark.parametrize("by", [slack.slack, slack.slack_by_http])
async def test_impossible_slack_events_hold_up_no_others(by) -> None:
    async with by() as rig, rig.running():
        future = {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "ts": "99999999999.000001"}
        rig.simulator.event(future | {"text": "from far ahead"})
        delivered = [rig.simulator.inject(payload) for payload in SLACK]
        rig.simulator.say("D1", "is anybody there?")
        await rig.sink.until(lambda: "is anybody there?" in said(rig.sink))
        await rig.simulator.until(lambda: all(one.acked or 400 in getattr(one, "statuses", ()) for one in delivered))
        assert not any(500 in getattr(one, "statuses", ()) for one in delivered)
        assert 8 == len([event for event in rig.sink.events if isinstance(event, MembershipChanged)])
        assert all(EARLIEST <= event.received_at for event in rig.sink.events)
        assert float(json.loads(rig.sink.committed or "")["ts"]) < datetime.now(UTC).timestamp() + 90_000


async def test_slack_frames_that_are_none_leave_the_socket_open() -> None:
    frames = (
        '{"type": "hello", "debug_info": {"approximate_connection_time": 1e400}}',
        '{"envelope_id": 5}',
        DEEP,
        "NaN",
        '{"envelope_id": "a", "payload": [1]}',
        '{"envelope_id": "b", "type": "events_api", "payload": {"type": 5}}',
        '{"envelope_id": "c", "payload": {"command": [], "team_id": {}}, "retry_attempt": -1e400}',
    )
    async with slack.slack() as rig, rig.running():
        for frame in frames:
            rig.simulator.sockets.push_raw(frame)
        rig.simulator.say("D1", "hello")
        await rig.sink.until(lambda: bool(rig.sink.events))
        assert 1 == rig.simulator.sockets.connections
