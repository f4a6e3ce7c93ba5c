"""The turns of a conversation that become a case."""

from pathlib import Path

import pytest

from gateway.operators.actions import OperationRefused
from gateway.operators.cases import CaseWish
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from tests.fakes.past import add_past, direct_key
from tests.fakes.people import KEY, NOON
from tests.fakes.spine import quick_store


async def test_turns_without_words_are_left_out_and_a_case_needs_one(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    operators = Operators(store, KEY, lambda: NOON, DetachedProcess())

    def fill(connection) -> list[str]:
        add_past(connection, direct_key("1"), "u1", [("", "A picture."), ("hello @bob", "Hello.")], NOON)
        add_past(connection, direct_key("2"), "u2", [("", "A picture.")], NOON)
        return list(connection.exec_driver_sql("SELECT id FROM sessions ORDER BY key").scalars())

    both, silent = await store.commit(fill)
    drafted = await operators.draft_case("cli", both, CaseWish(name="a"))
    assert (1, 1) == (drafted.turns, drafted.left_out)
    assert ["hello MENTION_1"] == [each["text"] for each in drafted.case["messages"]]
    with pytest.raises(OperationRefused, match="no turn of this conversation has words"):
        await operators.draft_case("cli", silent, CaseWish(name="a"))
    await store.aclose()
