"""What is asked with every lane is answered from an index, however much was said before."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from agent.transcript import EndReason
from channels.messages import Address
from gateway.store import chats, inbox, journal, outbox, sends
from gateway.store.looking import is_outage
from gateway.store.writer import commit_group, mark_errors
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


@contextmanager
def fresh(made: sa.Connection) -> Iterator[sa.Connection]:
    """A connection to a copy of this database, as the writer has one."""
    engine = sa.create_engine("sqlite://", poolclass=sa.NullPool)
    mark_errors(engine)
    with engine.connect() as connection:
        content = made.connection.dbapi_connection.serialize()  # type: ignore[union-attr]  it is open, and sqlite3's
        connection.connection.dbapi_connection.deserialize(content)  # type: ignore[union-attr]  as above
        yield connection


def test_rows_that_a_group_changes_together_are_found_by_their_index() -> None:
    """Which of them are wanted comes with the statement; the table is not gone through for it."""
    asked: list[str] = []

    def change(number: int) -> Callable[[sa.Connection], None]:
        def job(connection: sa.Connection) -> None:
            inbox.claim_later(connection, number, f"t{number}", lambda _: None)
            inbox.settle_turn(connection, f"t{number}", number, inbox.Outcome.ANSWERED, NOON)
            journal.end_turn(connection, f"t{number}", EndReason.COMPLETED, NOON)
            sends.mark_sending(connection, number, outbox.Action.SEND)
            sends.record_sent(connection, number, f"p{number}", NOON)

        return job

    with database() as made, fresh(made) as connection:
        driver: Any = connection.connection.driver_connection
        driver.set_trace_callback(asked.append)
        assert [None] * 5 == [error for _, error in commit_group(connection, [*map(change, range(5))], is_outage)]
        driver.set_trace_callback(None)
        together = [statement for statement in asked if "AS given" in statement]
        plans = [row[3] for statement in together for row in driver.execute(f"EXPLAIN QUERY PLAN {statement}")]
    assert 5 == len(together)
    assert 5 == len([plan for plan in plans if plan.startswith("SEARCH")])
    assert {"SCAN given", "SCAN 4 CONSTANT ROWS"} == {plan for plan in plans if plan.startswith("SCAN")}
