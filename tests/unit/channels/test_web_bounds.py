"""The buckets of the web chat: a minute's worth at once, then by and by; memory for who is active."""

import pytest

from channels.web.bounds import SWEEP_EVERY, Bounds, address_of
from channels.web.config import WebAccount
from channels.web.history import CHARS_OF_CHAT
from tests.fakes.web import Clock


def bounds(clock: Clock, **config: int) -> Bounds:
    return Bounds(WebAccount.model_validate(config), clock)


def test_a_minutes_worth_goes_at_once_then_as_time_passes():
    """Sixty a minute: sixty now, then none for five seconds, then five."""
    clock = Clock()
    made = bounds(clock)
    assert [0] * 60 + [5, 5] == [made.say("ada", "1.2.3.4") for _ in range(62)]
    clock.now_s += 4.5
    assert 1 == made.say("ada", "1.2.3.4")
    clock.now_s += 0.5
    assert [0] * 5 + [5] == [made.say("ada", "1.2.3.4") for _ in range(6)]


def test_a_refused_person_takes_nothing_from_their_address():
    """Whoever hammers leaves room for their neighbours."""
    clock = Clock()
    made = bounds(clock, messages_per_min=1, address_messages_per_min=3)
    assert 0 == made.say("ada", "1.2.3.4")
    assert [60] * 50 == [made.say("ada", "1.2.3.4") for _ in range(50)]
    assert [0, 0, 20] == [made.say(chat, "1.2.3.4") for chat in ("bob", "cid", "dan")]


def test_what_came_to_nothing_is_given_back():
    """As if it had not been said; never more than there ever was."""
    made = bounds(Clock(), messages_per_min=2)
    for _ in range(10):
        assert 0 == made.say("ada", "1.2.3.4")
        made.unsay("ada", "1.2.3.4", 1)
    assert [0, 0, 30] == [made.say("ada", "1.2.3.4") for _ in range(3)]


def test_what_is_told_again_is_counted_by_its_length():
    """Four whole histories at once, or a thousand empty ones; the rest of a minute's worth comes with the minute."""
    clock = Clock()
    made = bounds(clock)
    whole = CHARS_OF_CHAT + 50_000
    assert [0, 0, 0, 0] == [made.replay("ada", "1.2.3.4", whole) for _ in range(4)]
    assert 0 < made.replay("ada", "1.2.3.4", whole) <= 14
    assert 0 == made.replay("bob", "1.2.3.4", whole)
    assert [0] * 1000 == [made.replay("cid", "1.2.3.4", 0) for _ in range(1000)]
    assert 0 < made.replay("cid", "1.2.3.4", 0)


def test_everybody_at_one_address_is_told_again_so_much():
    """Cookies are cheap, also for that."""
    made = bounds(Clock())
    waits = [made.replay(f"chat-{number}", "1.2.3.4", CHARS_OF_CHAT) for number in range(100)]
    assert 20 > waits.count(0)
    assert 0 == made.replay("elsewhere", "5.6.7.8", CHARS_OF_CHAT)


def test_frames_are_counted_whatever_they_are():
    """Also those that cost nobody anything but the work to look at them."""
    clock = Clock()
    made = bounds(clock)
    assert [0, 0, 0, 20] == [made.hear("ada", "1.2.3.4", 1000) for _ in range(4)]
    clock.now_s += 60
    assert 0 == made.hear("ada", "1.2.3.4", 1000)


def test_the_idle_are_forgotten():
    """Ten thousand strangers of an hour ago are no memory of ours."""
    clock = Clock()
    made = bounds(clock, address_messages_per_min=60_000)
    for number in range(10_000):
        made.say(f"chat-{number}", "1.2.3.4")
    clock.now_s += 3600
    for _ in range(SWEEP_EVERY):
        made.say("ada", "1.2.3.4")
    assert len(made) <= 2


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:0:0:1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        (None, ""),
        ("unix:", ""),
    ],
)
def test_an_address_is_what_one_customer_has(remote: str | None, address: str):
    """A whole network of IPv6 is one, and IPv4 in its clothes is itself."""
    assert address == address_of(remote)
