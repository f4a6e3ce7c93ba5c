"""Roles after links are undone: no one comes out with more than before."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from gateway.access import linking
from gateway.access.config import Role
from gateway.access.linking import Linked, LinkWhy
from gateway.access.ranks import block_known, give_role
from gateway.store import erasure, people
from gateway.store.erasure import Extent
from gateway.store.people import Newcomer, Person
from gateway.store.reports import audit_log
from tests.fakes.linked import link
from tests.fakes.people import NOON, database


@pytest.fixture
def connection() -> Iterator[sa.Connection]:
    with database() as opened:
        yield opened


def enrol(connection: sa.Connection, sender: str, role: Role) -> Person:
    return people.enrol(connection, Newcomer("default", sender, "", sender, role, "cli"), NOON)


def undo(connection: sa.Connection, link_id: str, by: str) -> Linked | LinkWhy:
    return linking.undo(connection, link_id, by, NOON)


def role_of(connection: sa.Connection, sender: str) -> str:
    person = people.find_sender(connection, "default", sender)
    assert person is not None
    return person.role


@pytest.mark.parametrize("first", [0, 1])
def test_a_linked_person_does_not_rise_with_the_one_they_joined(connection: sa.Connection, first: int) -> None:
    enrol(connection, "web:9", Role.OWNER)
    operator = enrol(connection, "telegram:1", Role.OPERATOR)
    held = [link(connection, operator, enrol(connection, f"discord:{number}", Role.MEMBER)) for number in (2, 3)]
    undo(connection, held[first], operator.user_id)
    assert ["member"] * 3 == [role_of(connection, who) for who in ("telegram:1", "discord:2", "discord:3")]
    undo(connection, held[1 - first], operator.user_id)
    assert ["operator", "member", "member"] == [
        role_of(connection, who) for who in ("telegram:1", "discord:2", "discord:3")
    ]


def test_what_an_owner_decided_meanwhile_outlives_the_link(connection: sa.Connection) -> None:
    owner = enrol(connection, "web:9", Role.OWNER)
    for number, is_blocked in enumerate((True, False)):
        stays = enrol(connection, f"telegram:{number}", Role.MEMBER)
        held = link(connection, stays, enrol(connection, f"discord:{number}", Role.OPERATOR))
        if is_blocked:
            block_known(connection, "default", f"discord:{number}", "", owner.user_id, NOON)
        assert isinstance(give_role(connection, stays.user_id, Role.MEMBER, owner.user_id, NOON), Person)
        undo(connection, held, stays.user_id)
        assert ["member", "member"] == [role_of(connection, f"{where}:{number}") for where in ("telegram", "discord")]


def test_a_role_that_a_second_link_lowered_returns(connection: sa.Connection) -> None:
    enrol(connection, "web:9", Role.OWNER)
    stays = enrol(connection, "telegram:1", Role.OPERATOR)
    first = link(connection, stays, enrol(connection, "discord:2", Role.OPERATOR))
    link(connection, stays, enrol(connection, "discord:3", Role.MEMBER))
    undo(connection, first, stays.user_id)
    assert ["operator", "member", "member"] == [
        role_of(connection, who) for who in ("discord:2", "telegram:1", "discord:3")
    ]


def test_an_operator_undoes_a_link_of_those_below_them(connection: sa.Connection) -> None:
    owner, operator = enrol(connection, "web:9", Role.OWNER), enrol(connection, "web:8", Role.OPERATOR)
    member, stays = enrol(connection, "web:7", Role.MEMBER), enrol(connection, "telegram:1", Role.MEMBER)
    held = link(connection, stays, enrol(connection, "discord:2", Role.MEMBER))
    assert LinkWhy.NOTHING is undo(connection, held, member.user_id)
    block_known(connection, "default", "discord:2", "", operator.user_id, NOON)
    assert isinstance(undo(connection, held, operator.user_id), Linked)
    assert ["blocked", "blocked"] == [role_of(connection, who) for who in ("telegram:1", "discord:2")]
    told = next(row for row in audit_log(connection) if row.action == "people_unlinked")
    assert (operator.user_id, stays.user_id, "discord:2") == (told.actor, told.subject, told.detail)
    of_owner = link(connection, owner, enrol(connection, "discord:4", Role.MEMBER))
    assert LinkWhy.NOTHING is undo(connection, of_owner, operator.user_id)
    assert isinstance(undo(connection, of_owner, "cli"), Linked)


def test_two_owners_cannot_both_be_forgotten(connection: sa.Connection) -> None:
    both = [enrol(connection, f"telegram:{number}", Role.OWNER) for number in (1, 2)]
    assert not people.is_only_owner(connection, both[0])
    erasure.ask(connection, both[0], Extent.EVERYTHING, 0, NOON, NOON, lambda *_: "mark")
    assert people.is_only_owner(connection, both[1])
    assert not isinstance(give_role(connection, both[1].user_id, Role.MEMBER, "cli", NOON), Person)
