"""The time when a row is due."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from channels.messages import Address, Rendered
from gateway.delivery.lane import due_in_s
from gateway.store.causes import AnswerOf
from gateway.store.outbox import Action, OutboxPart, OutboxRow, PartState

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
PART = OutboxPart(AnswerOf("t1"), 0, 0, Action.SEND, Address("sim", "main", "c1"), Rendered("hi"), "hi")
ROW = OutboxRow(1, "default", PART, "k", PartState.READY, created_at=NOON)


@pytest.mark.parametrize(("named_s", "pace_s", "wait_s"), [(20, 5, 20), (20, 30, 30), (20, 3600, 60), (-5, 0, 0)])
def test_a_row_waits_for_the_later_of_pace_and_platform_within_a_bound(
    named_s: float, pace_s: float, wait_s: float
) -> None:
    row = replace(ROW, not_before=NOON + timedelta(seconds=named_s))
    assert wait_s == due_in_s(row, pace_s, NOON, longest_wait_s=60.0)
