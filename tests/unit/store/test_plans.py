"""What is asked with every lane is answered from an index, however much was said before."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from channels.messages import Address
from gateway.store import chats, outbox
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
