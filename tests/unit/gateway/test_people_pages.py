"""The console's page of people: the newest hundred, and pages of older ones."""

from datetime import timedelta
from pathlib import Path

import pytest

from gateway.console.logins import ConsoleVisitor
from gateway.console.views import ConsoleTemplates, WantedPage, views
from gateway.operators.actions import OperationRefused
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from gateway.store import people
from gateway.store.engine import Connection
from gateway.store.people import Newcomer
from tests.fakes.people import KEY, NOON
from tests.fakes.spine import quick_store


def let_in(connection: Connection) -> None:
    for number in range(121):
        newcomer = Newcomer("default", f"telegram:{number}", "telegram:main", f"Person {number}.", "member", "cli")
        people.enrol(connection, newcomer, NOON + timedelta(minutes=number))


async def test_older_people_stand_on_further_pages(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    await store.commit(let_in)
    operators = Operators(store, KEY, lambda: NOON, DetachedProcess())
    visitor = ConsoleVisitor("cli", "", None, acts=False, tenant=None)

    async def show(**query: str) -> str:
        wanted = WantedPage(visitor, query, operators, "UTC", "", {}, "")
        data = await views(None, tuple)["people"].data(wanted)  # type: ignore[arg-type]  no page of settings
        return ConsoleTemplates().draw("people.html", "en", {**data, "visitor": visitor, "path": "/console"})

    first, second = await show(), await show(q="person", page="2")
    assert ("1 to 100 of 121" in first, ">Person 120.<" in first, ">Person 20.<" in first) == (True, True, False)
    assert 'href="/console/people?q=&amp;page=2">Older</a>' in first
    assert ("101 to 121 of 121" in second, ">Person 20.<" in second, "Older" in second) == (True, True, False)
    assert 'href="/console/people?q=person&amp;page=1">Newer</a>' in second
    with pytest.raises(OperationRefused):
        await show(page="0")
    await store.aclose()
