"""What `/link` makes of a commit that held and nobody heard of."""

from collections.abc import Callable
from typing import TypeVar, cast

import sqlalchemy as sa

from agent.ports import Principal
from gateway.access import linking
from gateway.access.buttons import SealedButtons, short_id
from gateway.access.codes import code_of
from gateway.commands.base import Reply
from gateway.commands.linking import LinkDeps, link_decisions
from gateway.store import people
from gateway.store.engine import Store
from gateway.store.people import Newcomer, Person
from tests.fakes.linked import side_of, with_practice
from tests.fakes.people import KEY, NOON, database

T = TypeVar("T")


class TwiceWriter:
    """A writer that has to run each job again, because it does not know whether the first commit held. It did."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection

    async def write(self, job: Callable[[sa.Connection], T], then: Callable[[T], None] | None = None) -> T:
        """As the store's."""
        job(self.connection)
        done = job(self.connection)
        if then is not None:
            then(done)
        return done


async def test_a_link_whose_commit_was_repeated_is_known_to_everybody() -> None:
    """The people are put anew, each side is told once, and who pressed is told that it is done."""
    with database(with_practice) as connection:
        stays, joins = (
            people.enrol(connection, Newcomer("default", sender, "", sender, "member", "cli"), NOON)
            for sender in ("telegram:1", "discord:2")
        )
        known: list[Person] = []
        told: list[str] = []

        store = cast("Store", TwiceWriter(connection))
        deps = LinkDeps(
            store, KEY, SealedButtons(KEY), lambda: NOON, lambda *said: told.append(said[4]),
            lambda now, _places, _turns: known.extend(now),
        )  # fmt: skip
        made = linking.offer(connection, "default", side_of(stays, "telegram:1"), NOON)
        linking.give(connection, KEY, "default", code_of(KEY, made.id), side_of(joins, "discord:2"), NOON)
        decisions = link_decisions(deps)

        async def press(word: str, person: Person) -> Reply:
            return await decisions[word](short_id(made.id), Principal(person.user_id, "default"))

        assert "One word more" in str((await press("link_agree", joins)).text)
        known.clear()
        assert "Connected" in str((await press("link_join", stays)).text)
        assert [frozenset({"telegram:1", "discord:2"})] == [person.identities for person in known]
        assert 2 == len(told)
        assert "Nothing waits" in str((await press("link_join", stays)).text)
