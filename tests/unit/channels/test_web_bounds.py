"""The rate limits of the web chat: one a connection, one a person, one an address."""

import pytest

from channels.web.bounds import Bounds, address_of
from channels.web.config import WebAccount
from tests.fakes.web import Clock


def bounds(clock: Clock, **config: int) -> Bounds:
    return Bounds(WebAccount.model_validate(config), clock)


def test_a_minutes_worth_goes_at_once_then_as_time_passes():
    clock = Clock()
    made = bounds(clock)
    assert [0] * 60 + [5, 5] == [made.count_message("ada", "1.2.3.4") for _ in range(62)]
    clock.now_s += 4.5
    assert 1 == made.count_message("ada", "1.2.3.4")
    clock.now_s += 0.5
    assert [0] * 5 + [5] == [made.count_message("ada", "1.2.3.4") for _ in range(6)]


def test_a_refused_person_takes_nothing_from_their_address():
    clock = Clock()
    made = bounds(clock, messages_per_min=1, address_messages_per_min=3)
    assert 0 == made.count_message("ada", "1.2.3.4")
    assert [60] * 50 == [made.count_message("ada", "1.2.3.4") for _ in range(50)]
    assert [0, 0, 20] == [made.count_message(chat, "1.2.3.4") for chat in ("bob", "cid", "dan")]


def test_what_came_to_nothing_is_given_back():
    made = bounds(Clock(), messages_per_min=2)
    for _ in range(10):
        assert 0 == made.count_message("ada", "1.2.3.4")
        made.give_back("ada", "1.2.3.4", 1)
    assert [0, 0, 30] == [made.count_message("ada", "1.2.3.4") for _ in range(3)]


def test_a_file_costs_as_many_messages_as_it_is_large():
    clock = Clock()
    made = bounds(clock)
    assert [0] * 5 + [12] == [made.count_message("ada", "1.2.3.4", 12) for _ in range(6)]
    assert 0 == bounds(clock, messages_per_min=1).count_message("bob", "1.2.3.4", 12)


def test_the_old_limit_on_new_visitors_names_what_replaced_it():
    with pytest.raises(ValueError, match="address_messages_per_min counts new visitors, too"):
        WebAccount.model_validate({"address_newcomers_per_min": 60})


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
    assert address == address_of(remote)
