"""Attacks on pairing, A37 to A47 and A23, against the rules and the tables."""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
import structlog

from channels.messages import Address
from gateway.access import linking, pairing, tickets, words
from gateway.access.codes import ALPHABET, CODE_CHARS, code_of
from gateway.access.pairing import AlreadyTold, Approved, Full, NotApproved, TellCode, Why
from gateway.operators.actions import OperationRefused
from gateway.operators.models import BlockWish, CodeEntry
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from gateway.store.causes import Notice
from gateway.store.engine import Store
from gateway.store.people import Connection, Person
from gateway.store.tickets import GUESSES
from tests.fakes.people import KEY, NOON, crowd, database, message, minutes


def asks(connection: sa.Connection, sender: str = "42", at: datetime = NOON) -> str:
    outcome = pairing.request(connection, message(sender), at)
    assert isinstance(outcome, TellCode)
    return outcome.request.id


def gives(connection: sa.Connection, request_id: str, at: datetime, approver: str = "cli") -> Why | str:
    outcome = pairing.approve_code(connection, KEY, code_of(KEY, request_id), approver, at)
    return outcome.why if isinstance(outcome, NotApproved) else outcome.person.role


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (timedelta(minutes=59, seconds=59), "owner"),
        (timedelta(minutes=60), Why.EXPIRED),
        (timedelta(minutes=61), Why.EXPIRED),
    ],
)
def test_a37_a_code_ends_at_60_minutes(after: timedelta, expected: str) -> None:
    with database() as connection:
        assert expected == gives(connection, asks(connection), NOON + after)


def test_a38_a_code_works_once() -> None:
    with database() as connection:
        request_id = asks(connection)
        assert ["owner", Why.USED] == [gives(connection, request_id, NOON) for _ in range(2)]
        assert [] == GUESSES.find(connection)


@pytest.mark.parametrize("typed", ["{0}", " {0} ", "{1}-{2}", "{1} {2}"])
def test_a39_spaces_dashes_and_case_are_forgiven(typed: str) -> None:
    with database() as connection:
        code = code_of(KEY, asks(connection)).lower()
        outcome = pairing.approve_code(connection, KEY, typed.format(code, code[:4], code[4:]), "cli", NOON)
        assert isinstance(outcome, Approved)


@pytest.mark.parametrize("extra", ["{0}X", "X{0}", "{0}{0}", "{0}.", "*", "%", "' OR 1=1 --", "\x00", "\ud800" * 8])
def test_a39_a90_nothing_else_is_forgiven(extra: str) -> None:
    """Cover A91."""
    with database() as connection:
        code = code_of(KEY, asks(connection))
        outcome = pairing.approve_code(connection, KEY, extra.format(code), "cli", NOON)
        assert NotApproved(Why.MALFORMED) == outcome


def test_a40_thirty_colleagues_on_a_first_morning_each_get_a_code() -> None:
    with database() as connection:
        asked = [asks(connection, str(number)) for number in range(30)]
        assert ["owner"] + ["member"] * 29 == [gives(connection, request_id, NOON) for request_id in asked]


def test_a40_the_501st_takes_the_place_of_the_oldest() -> None:
    with database() as connection:
        first = asks(connection, "1", NOON - minutes(1))
        crowd(connection, 499, NOON)
        asks(connection, "2")
        assert 500 == len(pairing.pending(connection))
        assert Why.DISPLACED == gives(connection, first, NOON)
        assert isinstance(pairing.request(connection, message("3", account="second"), NOON), TellCode)
        assert 501 == len(pairing.pending(connection))


def test_a40_who_was_displaced_is_told_and_queues_behind_those_who_ask_for_the_first_time() -> None:
    with database() as connection:
        asks(connection, "1", NOON - minutes(11))
        crowd(connection, 499, NOON)
        asks(connection, "2")
        assert Full() == pairing.request(connection, message("1"), NOON)
        assert AlreadyTold() == pairing.request(connection, message("1"), NOON + minutes(9))
        pairing.deny(connection, "crowd-00000000", "cli", NOON + minutes(9))
        again = pairing.request(connection, message("1"), NOON + minutes(10))
        assert isinstance(again, TellCode)
        assert (True, True) == (again.gave_way, again.request.again)


def test_a40_of_those_who_ask_again_the_oldest_gives_way_and_before_anybody_else() -> None:
    with database() as connection:
        for sender in ("1", "2"):
            asks(connection, sender, NOON - minutes(70))  # both run out
        tickets.expire(connection, NOON)
        crowd(connection, 499, NOON - minutes(9))
        second = asks(connection, "1", NOON)
        assert Full() == pairing.request(connection, message("2"), NOON + minutes(9))
        third = asks(connection, "2", NOON + minutes(19))
        assert Why.DISPLACED == gives(connection, second, NOON + minutes(19))
        asks(connection, "3", NOON + minutes(19))
        assert Why.DISPLACED == gives(connection, third, NOON + minutes(19))
        assert 499 == sum(one.sender.startswith("telegram:crowd") for one in pairing.pending(connection))


def test_a41_a_hundred_messages_lead_to_one_code_and_a_reply_every_ten_minutes() -> None:
    with database() as connection:
        outcomes = [pairing.request(connection, message("42"), NOON + minutes(minute)) for minute in range(100)]
        told = {minute: one.request.id for minute, one in enumerate(outcomes) if isinstance(one, TellCode)}
    assert list(range(0, 100, 10)) == list(told)
    assert 1 == len({request_id for minute, request_id in told.items() if minute < 60})
    assert 2 == len(set(told.values()))


def test_a41_a_hundred_messages_at_once_lead_to_one_reply() -> None:
    with database() as connection:
        outcomes = [pairing.request(connection, message("42"), NOON) for _ in range(100)]
    assert (1, 99) == (
        sum(isinstance(one, TellCode) for one in outcomes),
        sum(isinstance(one, AlreadyTold) for one in outcomes),
    )


def wrong(connection: sa.Connection, times: int, at: datetime, approver: str = "cli") -> list[Why]:
    outcomes = [
        pairing.approve_code(connection, KEY, "2" * CODE_CHARS, approver, at + timedelta(seconds=second))
        for second in range(times)
    ]
    return [one.why for one in outcomes if isinstance(one, NotApproved)]


def test_a42_five_wrong_codes_lock_the_approver_even_with_the_right_one() -> None:
    with database() as connection:
        request_id = asks(connection)
        assert [Why.WRONG] * 5 + [Why.LOCKED] == wrong(connection, 6, NOON)
        assert Why.LOCKED == gives(connection, request_id, NOON + minutes(15))
        assert "owner" == gives(connection, request_id, NOON + minutes(15), approver="u-operator")
        later = asks(connection, "43", NOON + minutes(50))
        fifth = NOON + timedelta(seconds=4)
        assert Why.LOCKED == gives(connection, later, fifth + timedelta(minutes=59, seconds=59))
        assert "member" == gives(connection, later, fifth + minutes(60))


def test_a42_an_impossible_code_counts_as_a_try() -> None:
    with database() as connection:
        request_id = asks(connection)
        tried = [pairing.approve_code(connection, KEY, "1", "cli", NOON) for _ in range(6)]
        assert [Why.MALFORMED] * 5 + [Why.LOCKED] == [told.why for told in tried if isinstance(told, NotApproved)]
        assert Why.LOCKED == gives(connection, request_id, NOON + minutes(1))


def test_a42_four_wrong_codes_in_any_quarter_of_an_hour_do_not_lock() -> None:
    with database() as connection:
        for quarter in range(4):
            assert [Why.WRONG] * 4 == wrong(connection, 4, NOON + minutes(quarter * 16))


def test_a42_twenty_wrong_codes_in_an_hour_stop_everybody() -> None:
    with database() as connection:
        request_id = asks(connection)
        for approver in range(5):
            assert [Why.WRONG] * 4 == wrong(connection, 4, NOON, approver=f"u{approver}")
        assert Why.LOCKED == gives(connection, request_id, NOON + minutes(1), approver="u9")
        assert isinstance(pairing.approve_request(connection, request_id, "cli", NOON + minutes(1)), Approved)


def test_wrong_codes_cost_no_stranger_theirs() -> None:
    with database() as connection:
        request_id = asks(connection)
        wrong(connection, 4, NOON)
        assert "owner" == gives(connection, request_id, NOON + minutes(1))


def test_the_figures_of_pairing_follow_from_its_constants() -> None:
    """Cover S8."""
    codes_there_are = len(ALPHABET) ** CODE_CHARS
    hours = pairing.POLICY.valid / timedelta(hours=1)
    overall = (pairing.POLICY.guesses_overall or 0) * (pairing.POLICY.valid / tickets.OVERALL_WINDOW)

    def chance(guesses: float, waiting: int) -> float:
        return guesses * waiting / codes_there_are

    assert (32, 8, 40.0) == (len(set(ALPHABET) - set("01IO")), CODE_CHARS, math.log2(codes_there_are))
    assert (500, 20, 5) == (pairing.MAX_PENDING, (pairing.POLICY.guesses_overall or 0), tickets.GUESSES_EACH)
    figures = {
        chance(tickets.GUESSES_EACH, 3): 1.4e-11,  # one approver, three wait
        chance(overall, 3): 5.5e-11,
        chance(overall, pairing.MAX_PENDING): 9.1e-9,  # all places taken
        chance(300 * hours, 3): 8.2e-10,  # what others allow
        chance(645 * 3600 * hours, 3): 6.3e-6,  # what was measured without a bound
        chance(overall, 3) * 24 * 365: 4.8e-7,  # a year of it
    }
    assert list(figures.values()) == pytest.approx(list(figures), rel=0.02)
    assert chance(overall, pairing.MAX_PENDING) <= 1e-8


def test_a_link_is_harder_to_guess_than_a_request() -> None:
    tries = tickets.GUESSES_EACH
    assert tries * 500 / len(ALPHABET) ** CODE_CHARS < 2.5e-9
    assert linking.VALID < tickets.EACH_WINDOW < tickets.LOCKED_FOR


def test_a47_a_clock_set_back_revives_nothing() -> None:
    with database() as connection:
        request_id = asks(connection)
        tickets.expire(connection, NOON + minutes(61))  # the minute's look of a running gateway
        assert Why.EXPIRED == gives(connection, request_id, NOON - minutes(59))
        later = asks(connection, "43", NOON + minutes(120))
        assert Why.EXPIRED == gives(connection, later, NOON)


def test_a47_a_lock_does_not_end_because_a_clock_was_set_back() -> None:
    with database() as connection:
        wrong(connection, 5, NOON)
        request_id = asks(connection, "42", NOON - minutes(120))
        assert Why.LOCKED == gives(connection, request_id, NOON - minutes(120))


def test_the_denied_and_the_blocked_hear_nothing() -> None:
    with database() as connection:
        pairing.deny(connection, asks(connection), "cli", NOON)
        pairing.block(connection, "default", "telegram:43", "Ben", "cli", NOON)
        assert [AlreadyTold()] * 2 == [
            pairing.request(connection, message(who), NOON + minutes(30)) for who in ("42", "43")
        ]
        assert isinstance(pairing.request(connection, message("42"), NOON + minutes(60)), TellCode)
        assert AlreadyTold() == pairing.request(connection, message("43"), NOON + timedelta(days=400))


def test_a_request_of_a_person_blocked_since_does_not_let_them_in() -> None:
    with database() as connection:
        request_id = asks(connection)
        pairing.block(connection, "default", "telegram:42", "Ana", "cli", NOON)
        assert Why.BLOCKED == gives(connection, request_id, NOON)


# ---------------------------------------------------------------- over a real store


class Outbox:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def say(self, _: Connection, __: Person, where: Address, text: str, cause: Notice) -> None:
        self.texts.append(f"{where.chat} {cause.name} {text}")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(f"sqlite:///{tmp_path}/tenk.db")
    yield opened
    await opened.aclose()


class Process(DetachedProcess):
    def __init__(self, outbox: Outbox) -> None:
        super().__init__()
        self._outbox = outbox

    def say(self, connection: Connection, person: Person, where: Address, text: str, cause: str) -> None:
        self._outbox.say(connection, person, where, text, cause)


def operations(store: Store, outbox: Outbox, at: datetime = NOON) -> Operators:
    return Operators(store, KEY, lambda: at, Process(outbox))


async def test_a43_the_lock_outlives_a_restart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/tenk.db"
    first = await Store.open(url)
    for _ in range(5):
        with pytest.raises(OperationRefused, match="that code is not known"):
            await operations(first, Outbox()).approve("cli", CodeEntry(code="22222222"))
    request_id = await first.commit(asks)
    await first.aclose()
    second = await Store.open(url)
    with pytest.raises(OperationRefused, match="not even a right one"):
        await operations(second, Outbox()).approve("cli", CodeEntry(code=code_of(KEY, request_id)))
    await second.aclose()


async def test_a44_of_two_approvals_at_once_one_wins(store: Store) -> None:
    request_id = await store.commit(asks)
    outbox = Outbox()
    code = code_of(KEY, request_id)
    results: list[str] = []

    async def approve() -> None:
        try:
            results.append((await operations(store, outbox).approve("cli", CodeEntry(code=code))).role)
        except OperationRefused as refused:
            results.append(str(refused))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(8):
            tasks.create_task(approve())
    assert ["owner"] + ["that request was approved already, or its code used already"] * 7 == sorted(results)
    users = (await operations(store, outbox).list_users("cli")).users
    assert 1 == len(users)


async def test_a45_no_code_is_in_the_database_the_log_or_an_answer(store: Store, tmp_path: Path) -> None:
    with structlog.testing.capture_logs() as logs:
        outbox = Outbox()
        requests = [await store.commit(asks, sender=who) for who in ("1", "2", "3")]
        codes = [code_of(KEY, request_id) for request_id in requests]
        operator = operations(store, outbox)
        answers: list[object] = [await operator.list_requests("cli"), words.code_text("en"), words.code_text("es")]
        answers += [await operator.approve("cli", CodeEntry(code=codes[0])), await operator.deny("cli", requests[1])]
        answers += [await operator.block("cli", BlockWish(who=requests[2])), await operator.list_users("cli")]
        for code in codes:
            with pytest.raises(OperationRefused) as refused:
                await operator.approve("cli", CodeEntry(code=code))
            answers.append(str(refused.value))
    await store.aclose()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    told = json.dumps([answers, logs, outbox.texts], default=str)
    assert [] == [code for code in codes if code.encode() in kept or code in told]
    assert requests[0].encode() in kept


async def test_a46_a_damaged_database_does_not_open(tmp_path: Path) -> None:
    path = tmp_path / "tenk.db"
    store = await Store.open(f"sqlite:///{path}")
    request_id = await store.commit(asks)
    await operations(store, Outbox()).approve("cli", CodeEntry(code=code_of(KEY, request_id)))
    await store.aclose()
    whole = path.read_bytes()
    path.write_bytes(b"not a database at all" + whole[21:])
    damaged = path.read_bytes()
    with pytest.raises(Exception, match="store did not answer"):
        await Store.open(f"sqlite:///{path}")
    assert damaged == path.read_bytes()
    path.write_bytes(whole)
    mended = await Store.open(f"sqlite:///{path}")
    assert 1 == len((await operations(mended, Outbox()).list_users("cli")).users)
    await mended.aclose()
