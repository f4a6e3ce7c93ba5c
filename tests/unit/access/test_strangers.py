"""Cost of strangers: a few rows each, a bounded number an account."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from channels.messages import ChatKind, ChatMigrated, InboundEvent, Membership, MembershipChanged
from gateway.access.config import StrangersConfig
from gateway.access.limits import ACCOUNT_BURST_MIN, REMEMBERED, StrangerBound
from gateway.access.policy import GROUP_NOT_LISTED, Admit, Decision, Pair, Silence
from gateway.store.people import Person
from tests.fakes.people import message

CONFIG = StrangersConfig()
ANA = Person("u1", "default", "member", "Ana", None, "UTC", 0, frozenset({"telegram:42"}), frozenset())
UNLISTED = Silence(GROUP_NOT_LISTED)


class Door:
    def __init__(self, config: StrangersConfig = CONFIG) -> None:
        self.now_s = 0.0
        self.bound = StrangerBound(config, lambda: self.now_s)

    def taken(
        self, event: InboundEvent, times: int = 1, decision: Decision | None = None, person: Person | None = None
    ) -> int:
        return sum(self.bound.charge(event, decision or Pair(), person) for _ in range(times))


def test_stranger_gets_a_few_rows_and_as_many_after_a_pause():
    door = Door()
    assert 5 == door.taken(message(), 2_000)
    door.now_s = 3_600.0
    assert 5 == door.taken(message(), 2_000)


def test_hour_of_hammering_takes_twenty_rows_beside_the_first_few():
    door = Door()
    taken = 0
    for _ in range(3_600):
        door.now_s += 1.0
        taken += door.taken(message())
    assert 24 <= taken <= 25


def test_group_that_no_list_names_counts_as_one():
    door = Door()
    talk = [message(str(sender), kind=ChatKind.GROUP, chat="-100") for sender in range(100)]
    assert 5 == sum(door.taken(one, decision=UNLISTED, person=ANA) for one in talk)


def test_people_who_are_let_in_are_never_left_out():
    door = Door()
    for decision in (Admit(ANA), Silence("not on the allowlist"), Silence("not let in")):
        assert 1_000 == door.taken(message(), 1_000, decision, ANA)


def test_blocked_people_are_strangers():
    assert 5 == Door().taken(message(), 100, Silence("blocked"), replace(ANA, role="blocked"))


def about(sender: str = "42") -> MembershipChanged:
    where = message(sender)
    return MembershipChanged(
        event_id="m:1",
        address=where.address,
        sender=where.sender,
        received_at=where.received_at,
        change=Membership.BLOCKED,
    )


def test_what_a_stranger_makes_happen_to_a_chat_counts_apart_from_what_they_say():
    door = Door()
    assert 5 == door.taken(about(), 100, Silence("about the chat"))
    assert 5 == door.taken(message(), 100)
    assert 100 == door.taken(about(), 100, Silence("about the chat"), ANA)


def test_crowd_that_puts_the_bot_into_chats_takes_no_place_of_a_newcomer():
    door = Door()
    taken = sum(door.taken(about(f"chat-{n}"), 1, Silence("about the chat")) for n in range(5_000))
    assert ACCOUNT_BURST_MIN * CONFIG.newcomers_per_min == taken
    assert 1 == door.taken(message("newcomer"))


def test_group_that_moves_is_never_left_out():
    where = message()
    moved = ChatMigrated(
        event_id="m:1",
        address=where.address,
        sender=where.sender,
        received_at=where.received_at,
        new_chat="-1001",
    )
    assert 100 == Door().taken(moved, 100, Silence("about the chat"))


def test_crowd_that_hammers_takes_no_place_of_a_newcomer():
    door = Door()
    for second in range(0, 600, 5):
        door.now_s = float(second)
        for puppet in range(50):
            door.taken(message(f"puppet-{puppet}"))
        assert 1 == door.taken(message(f"newcomer-{second}"))


def test_account_takes_a_bounded_number_of_newcomers():
    door = Door()
    most = ACCOUNT_BURST_MIN * CONFIG.newcomers_per_min
    assert most == sum(door.taken(message(str(sender))) for sender in range(3 * most))
    assert 1 == door.taken(message("7", account="other"))


def test_memory_is_bounded():
    door = Door(StrangersConfig(newcomers_per_min=6000))
    for sender in range(REMEMBERED + 500):
        door.taken(message(str(sender)))
    assert (1, 0) == (door.taken(message("0")), door.taken(message(str(REMEMBERED)), 5) - 4)


def test_operator_is_told_once_a_minute_how_much_was_left_out():
    door = Door()
    with capture_logs() as logged:
        for second in range(0, 121, 60):
            door.now_s = float(second)
            door.taken(message(text="canary"), 100)
    assert [1, 95, 100] == [entry["events"] for entry in logged]
    assert {"telegram:main"} == {entry["account"] for entry in logged}
    assert "canary" not in str(logged)


@given(st.lists(st.booleans(), max_size=40))
def test_what_is_given_back_was_never_taken(holds: list[bool]):
    door = Door()
    written = 0
    for held in holds:
        if door.taken(message()):
            written += held
            if not held:
                door.bound.give_back(message(), Pair(), None)
    assert min(5, sum(holds)) == written
