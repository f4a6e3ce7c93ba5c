"""Shards: their servers, their resume points when their number changes, and the IDENTIFY limit."""

import pytest

from channels.discord.cursor import Cursor, GatewaySession, read_cursor, write_cursor
from channels.discord.sharding import (
    SOLE,
    GatewayInfo,
    IdentifyPace,
    Shard,
    lay_out,
    to_gateway_info,
)

GUILD = 197_038_439_483_310_086  # of Discord's documentation
URL = "wss://gateway.discord.gg"


def _cursor(last: int, shards: int, gap: bool = False, behind: int = 0) -> str:
    return write_cursor(Cursor(GatewaySession("s", URL, 7), last, gap, behind, shards))


@pytest.mark.parametrize("count", [1, 2, 4, 16, 1000])
def test_each_server_is_told_of_to_one_shard_and_direct_messages_to_the_first(count: int):
    """Discord's formula is (guild_id >> 22) % count."""
    shards = [Shard(number, count) for number in range(count)]
    assert [(GUILD >> 22) % count] == [shard.number for shard in shards if shard.receives(str(GUILD))]
    assert [0] == [shard.number for shard in shards if shard.receives(None)]


def test_words_name_the_shard_only_where_there_are_several():
    assert ("lost", "shard 2 of 4: lost") == (SOLE.name("lost"), Shard(2, 4).name("lost"))


def test_an_old_resume_point_is_one_of_a_single_shard():
    old = '{"session":{"id":"s","url":"wss://g","seq":5},"last":9,"gap":false,"behind":0}'
    assert 1 == read_cursor(old).shards
    assert {} == lay_out({0: old}, 1)


def test_a_first_start_and_a_count_that_stays_change_nothing():
    assert {} == lay_out({}, 4)
    assert {} == lay_out({number: _cursor(100 + number, 2) for number in range(2)}, 2)


@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 1), (4, 2), (2, 3), (3, 2)])
def test_another_count_drops_the_sessions_and_reads_on_from_the_least(before: int, after: int):
    known = {number: _cursor(500 - number, before) for number in range(before)}
    changed = lay_out(known, after)
    fresh = Cursor(None, 500 - before + 1, shards=after)
    assert [fresh] * after == [read_cursor(changed[number]) for number in range(after)]
    assert [None] * max(0, before - after) == [changed[number] for number in range(after, before)]
    after_that = {number: text for number, text in (known | dict(changed)).items() if text is not None}
    assert {} == lay_out(after_that, after)


def test_a_gap_that_was_open_goes_along():
    known = {0: _cursor(500, 2, gap=True, behind=90), 1: _cursor(400, 2)}
    assert 90 == read_cursor(lay_out(known, 3)[2]).last


def test_a_shard_that_begins_later_than_the_others_misses_nothing():
    changed = lay_out({0: _cursor(500, 4)}, 4)
    assert dict.fromkeys((1, 2, 3), 500) == {number: read_cursor(text).last for number, text in changed.items()}


def test_what_cannot_be_read_is_no_resume_point():
    assert {} == lay_out({0: "garbage"}, 1)
    changed = lay_out({0: "{}", 1: _cursor(7, 2)}, 1)
    assert (7, None) == (read_cursor(changed[0]).last, changed[1])


def test_shards_of_one_bucket_are_5_s_apart_and_those_of_others_go_at_once():
    pace = IdentifyPace(max_concurrency=4)
    for number in range(4):
        assert 0.0 == pace.wait_s(Shard(number, 8), 100.0)
        pace.note(Shard(number, 8), 100.0)
    assert [5.0] * 4 == [pace.wait_s(Shard(number, 8), 100.0) for number in range(4, 8)]
    assert [2.0] * 4 == [pace.wait_s(Shard(number, 8), 103.0) for number in range(4, 8)]
    assert 0.0 == pace.wait_s(Shard(5, 8), 105.0)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, GatewayInfo(URL)),
        ({"url": URL, "shards": 0}, GatewayInfo(URL)),
        ({"shards": "9", "session_start_limit": []}, GatewayInfo(URL, 9)),
        (
            {
                "shards": 9,
                "session_start_limit": {"total": 1, "remaining": 0, "reset_after": 1500, "max_concurrency": 1},
            },
            GatewayInfo(URL, 9, 1, 0, 1.5),
        ),
        (
            {"session_start_limit": {"reset_after": 10**12, "max_concurrency": 10**9}},
            GatewayInfo(URL, 1, 1000, None, 86_400.0),
        ),
        ({"session_start_limit": {"reset_after": "NaN", "max_concurrency": -4, "remaining": []}}, GatewayInfo(URL)),
    ],
)
def test_what_discord_says_of_its_gateway_is_taken_as_far_as_it_is_sane(answer: object, told: GatewayInfo):
    assert told == to_gateway_info(URL, answer)


@pytest.mark.parametrize(
    ("left", "at_once", "used_up"), [(None, 1, False), (0, 1, True), (1, 1, False), (15, 16, True)]
)
def test_no_session_is_opened_with_the_last_of_the_day(left: int | None, at_once: int, used_up: bool):
    assert used_up is GatewayInfo(URL, 1, at_once, left).is_used_up
