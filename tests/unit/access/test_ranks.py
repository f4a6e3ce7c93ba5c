"""Ranks: no action on a role at or above the actor's own; roles count as they are at that moment."""

from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

from gateway.access import pairing, ranks
from gateway.access.config import Role
from gateway.access.pairing import TellCode
from gateway.operators.actions import OperationRefused
from gateway.operators.models import AccountName, BlockWish, CodeEntry, InviteTerms, RoleChange
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from gateway.store import people
from gateway.store.engine import Store
from gateway.store.people import Newcomer
from tests.fakes.people import KEY, NOON, message

ROLES = ("owner", "owner", "operator", "operator", "member", "blocked")


MAIN = AccountName(account="telegram:main")


class Team:
    """An owner and their deputy, two operators, a member, a blocked person, and a stranger who waits."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.operators = Operators(store, KEY, lambda: NOON, DetachedProcess())
        self.ids: list[str] = []
        self.request = ""

    async def gather(self) -> "Team":
        for number, role in enumerate(ROLES):
            newcomer = Newcomer("default", f"telegram:{number}", "telegram:main", f"P{number}", role, "cli")
            self.ids.append((await self.store.commit(lambda c, n=newcomer: people.enrol(c, n, NOON))).user_id)
        asked = await self.store.commit(lambda c: pairing.request(c, message("99"), NOON))
        assert isinstance(asked, TellCode)
        self.request = asked.request.id
        return self

    async def roles(self) -> tuple[str, ...]:
        return tuple(person.role for person in await self.store.read(people.everybody))


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[Team]:
    store = await Store.open(f"sqlite:///{tmp_path}/tenk.db")
    yield await Team(store).gather()
    await store.aclose()


async def done(doing: Awaitable[object]) -> bool:
    try:
        await doing
    except OperationRefused:
        return False
    return True


async def test_only_a_higher_role_blocks_demotes_or_revokes(team: Team) -> None:
    rank = [ranks.rank_of(role) for role in ROLES]
    for actor, own in enumerate(rank):
        for other in range(len(ROLES)):
            who, by = f"telegram:{other}", team.ids[actor]
            may = own >= ranks.Rank.OPERATOR and rank[other] < own
            assert may == await done(team.operators.block(by, BlockWish(who=who))), (ROLES[actor], ROLES[other])
            await team.operators.set_role("cli", who, RoleChange(role=Role(ROLES[other])))
            assert may == await done(team.operators.revoke(by, who, MAIN)), (
                ROLES[actor],
                ROLES[other],
            )
            await team.store.commit(
                lambda c, n=other: people.enrol(
                    c, Newcomer("default", f"telegram:{n}", "telegram:main", "", "member", "cli"), NOON
                )
            )
    assert ROLES == await team.roles()


async def test_an_actor_gives_only_roles_below_their_own(team: Team) -> None:
    for by, role in zip(team.ids, ROLES, strict=True):
        for given in (Role.MEMBER, Role.OPERATOR, Role.OWNER):
            below = ranks.rank_of(role) >= ranks.Rank.OPERATOR and ranks.rank_of(given) < ranks.rank_of(role)
            gave = await done(team.operators.set_role(by, "telegram:5", RoleChange(role=given)))
            await team.operators.set_role("cli", "telegram:5", RoleChange(role=Role.BLOCKED))
            invited = await done(team.operators.invite(by, InviteTerms(role=given, days=1)))
            assert (below, below) == (gave, invited), (role, given)
        assert not await done(team.operators.set_role(by, by, RoleChange(role=Role.OWNER)))
    assert ROLES == await team.roles()


async def test_only_operators_and_owners_decide_about_requests(team: Team) -> None:
    for by in (team.ids[4], team.ids[5], "nobody", ""):
        for doing in (
            team.operators.approve_request(by, team.request),
            team.operators.approve(by, CodeEntry(code="22222222")),
            team.operators.deny(by, team.request),
            team.operators.block_request(by, team.request),
        ):
            assert not await done(doing)
    assert 1 == len((await team.operators.list_requests("cli")).requests)
    assert await done(team.operators.approve_request(team.ids[3], team.request))


async def test_a_button_blocks_only_people_who_wait(team: Team) -> None:
    for what in ("telegram:4", team.ids[4], "", team.request[:-1]):
        assert not await done(team.operators.block_request(team.ids[0], what)), what
    await team.operators.approve_request("cli", team.request)
    assert not await done(team.operators.block_request(team.ids[0], team.request))
    assert (*ROLES, "member") == await team.roles()


async def test_an_operator_makes_no_first_owner(team: Team) -> None:
    await team.store.commit(
        lambda c: [people.set_role(c, one, "member", "cli", NOON) for one in people.holding(c, "default", Role.OWNER)]
    )
    assert not await done(team.operators.approve_request(team.ids[2], team.request))
    assert await done(team.operators.approve_request("cli", team.request))
    assert "owner" == (await team.roles())[-1]
