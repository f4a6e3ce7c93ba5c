"""What the buttons of `/link` change and say, each in its press's commit."""

from dataclasses import replace

from agent.ports import Principal
from gateway.access import linking
from gateway.access.buttons import SealedButtons, short_id
from gateway.access.codes import code_of
from gateway.commands.base import Reply, Write
from gateway.commands.linking import LinkDeps, link_decisions
from gateway.store import people
from gateway.store.people import Newcomer, Person
from tests.fakes.invocations import invocation
from tests.fakes.linked import side_of, with_practice
from tests.fakes.people import KEY, NOON, database


async def test_both_sides_are_told_and_known_as_one() -> None:
    """Each side once; the people are put anew after the commit; a second press finds nothing that waits."""
    with database(with_practice) as connection:
        stays, joins = (
            people.enrol(connection, Newcomer("default", sender, "", sender, "member", "cli"), NOON)
            for sender in ("telegram:1", "discord:2")
        )
        known: list[Person] = []
        told: list[str] = []
        deps = LinkDeps(
            KEY, SealedButtons(KEY), lambda *said: told.append(said[4]), lambda now, _places, _turns: known.extend(now)
        )
        made = linking.offer(connection, "default", side_of(stays, "telegram:1"), NOON)
        linking.give(connection, KEY, "default", code_of(KEY, made.id), side_of(joins, "discord:2"), NOON)
        decisions = link_decisions(deps)

        async def press(word: str, person: Person) -> Reply:
            asked = replace(
                invocation(word, short_id(made.id), Principal(person.user_id, "default")), clock=lambda: NOON
            )
            wanted = await decisions[word](asked)
            assert isinstance(wanted, Write)
            return wanted.run(connection)

        assert "One word more" in (await press("link_agree", joins)).text
        linked = await press("link_join", stays)
        assert "Connected" in linked.text
        assert [] == known
        assert linked.changed.after is not None
        linked.changed.after()
        assert [frozenset({"telegram:1", "discord:2"})] == [person.identities for person in known]
        assert 2 == len(told)
        assert "Nothing waits" in (await press("link_join", stays)).text
