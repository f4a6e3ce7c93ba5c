"""Queries of each lane: answered from an index, however long the history."""

from typing import Any

from agent.transcript import EndReason
from gateway.store import inbox, journal, outbox
from gateway.store.consolidation import find_ended
from tests.fakes.people import NOON, database


def test_rows_that_a_turn_changes_are_found_by_their_index() -> None:
    asked: list[str] = []
    with database() as made:
        driver: Any = made.connection.driver_connection
        driver.set_trace_callback(asked.append)
        inbox.claim(made, [1], "t1")
        inbox.settle_turn(made, "t1", 1, inbox.Outcome.ANSWERED, NOON)
        journal.end_turn(made, "t1", EndReason.COMPLETED, NOON)
        outbox.mark_sending(made, 1, outbox.Action.SEND)
        outbox.record_sent(made, 1, "p1", NOON)
        driver.set_trace_callback(None)
        updates = [statement for statement in asked if statement.startswith("UPDATE")]
        plans = [row[3] for update in updates for row in driver.execute(f"EXPLAIN QUERY PLAN {update}")]
    assert 5 == len(updates)
    assert [] == [plan for plan in plans if not plan.startswith("SEARCH")]


def test_ended_conversations_are_found_by_the_time_of_their_turns() -> None:
    asked: list[str] = []
    with database() as made:
        driver: Any = made.connection.driver_connection
        driver.set_trace_callback(asked.append)
        find_ended(made, NOON, NOON, NOON, 100)
        driver.set_trace_callback(None)
        (query,) = [statement for statement in asked if statement.startswith("WITH")]
        plan = [row[3] for row in driver.execute(f"EXPLAIN QUERY PLAN {query}")]
    assert any("USING INDEX ix_turns_ended" in step for step in plan)
    assert [] == [step for step in plan if step.startswith("SCAN") and step != "SCAN anon_1"]
