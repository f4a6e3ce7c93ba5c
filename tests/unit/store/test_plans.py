"""What is asked with every lane is answered from an index, however much was said before."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from agent.transcript import EndReason
from channels.messages import Address
from gateway.store import chats, inbox, journal, outbox, sends
from tests.fakes.people import NOON, database

CHAT = Address("sim", "main", "1")


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda connection: outbox.open_parts(connection, CHAT.lane, 0, 10), id="the parts of a lane"),
        pytest.param(outbox.open_count, id="how many there are"),
        pytest.param(lambda connection: chats.move_chat(connection, "t", CHAT, "2", NOON), id="a chat moves"),
    ],
)
def test_open_parts_are_found_by_their_index(ask: Callable[[sa.Connection], object]) -> None:
    """SQLite uses an index with a condition only where the query says that condition in so many words."""
    plans: list[str] = []

    def explain(connection: sa.Connection, _: object, statement: str, parameters: object, *_more: object) -> None:
        if "outbox" in statement and not statement.startswith("EXPLAIN"):
            plan = connection.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans.extend(row[3] for row in plan)

    with database() as connection:
        sa.event.listen(connection, "before_cursor_execute", explain)
        ask(connection)
    assert [] != plans
    assert [] == [plan for plan in plans if "ix_outbox_open" not in plan and "B-TREE" not in plan]


def test_rows_that_a_turn_changes_are_found_by_their_index() -> None:
    """No update goes through the whole table."""
    asked: list[str] = []
    with database() as made:
        driver: Any = made.connection.driver_connection
        driver.set_trace_callback(asked.append)
        inbox.claim(made, [1], "t1")
        inbox.settle_turn(made, "t1", 1, inbox.Outcome.ANSWERED, NOON)
        journal.end_turn(made, "t1", EndReason.COMPLETED, NOON)
        sends.mark_sending(made, 1, outbox.Action.SEND)
        sends.record_sent(made, 1, "p1", NOON)
        driver.set_trace_callback(None)
        updates = [statement for statement in asked if statement.startswith("UPDATE")]
        plans = [row[3] for update in updates for row in driver.execute(f"EXPLAIN QUERY PLAN {update}")]
    assert 5 == len(updates)
    assert [] == [plan for plan in plans if not plan.startswith("SEARCH")]
