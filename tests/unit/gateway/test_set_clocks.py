"""A clock set by a day: waits, expiries and ages stay right."""

from dataclasses import replace
from datetime import timedelta

import pytest

from channels.errors import Retryable
from channels.messages import Address, Rendered
from gateway.access import codes, pairing
from gateway.access.pairing import Approved, NotApproved, TellCode, Why
from gateway.cluster.process import wait_until_idle
from gateway.delivery.retry_policy import decide
from gateway.store.causes import AnswerOf
from gateway.store.outbox import Action, OutboxPart, OutboxRow, PartState
from tests.fakes.people import KEY, database, message
from tests.fakes.set_clock import DAY, SetClock

JUMPS = pytest.mark.parametrize("jump", [DAY, -DAY], ids=["forward", "back"])


@JUMPS
async def test_drain_ends_after_its_seconds(jump: timedelta) -> None:
    machine = SetClock()
    begun_s = machine.passed_s()

    def works(_deadline: object) -> bool:
        if machine.passed_s() - begun_s > 5.0 and not machine.off:
            machine.set_by(jump)
        return True

    await wait_until_idle(works, machine.steady, timedelta(seconds=20), machine.sleep)
    assert 18.0 <= machine.passed_s() - begun_s <= 22.3


@JUMPS
def test_part_is_retried_soon_and_not_given_up(jump: timedelta) -> None:
    machine = SetClock()
    part = OutboxPart(AnswerOf("t1"), 0, 0, Action.SEND, Address("sim", "main", "1"), Rendered("x"), "x")
    row = OutboxRow(1, "default", part, "k", PartState.READY, attempts=1, created_at=machine.steady())
    machine.set_by(jump)
    machine.pass_s(60.0)
    outcome = decide(row, Retryable("busy", retry_after_s=30.0), machine.steady(), 86_400.0)
    assert outcome.row == replace(row, not_before=machine.steady() + timedelta(seconds=30))
    machine.pass_s(34.0)
    assert outcome.row.not_before is not None and outcome.row.not_before <= machine.steady()


@JUMPS
def test_pairing_code_holds_for_its_hour(jump: timedelta) -> None:
    machine = SetClock()
    with database() as connection:
        asked = pairing.request(connection, message(), machine.steady())
        late = pairing.request(connection, message("43"), machine.steady())
        assert isinstance(asked, TellCode) and isinstance(late, TellCode)
        machine.set_by(jump)
        machine.pass_s(50 * 60.0)
        code = codes.code_of(KEY, asked.request.id)
        assert isinstance(pairing.approve_code(connection, KEY, code, "cli", machine.steady()), Approved)
        machine.pass_s(20 * 60.0)
        code = codes.code_of(KEY, late.request.id)
        assert NotApproved(Why.EXPIRED) == pairing.approve_code(connection, KEY, code, "cli", machine.steady())
