"""Access operations over a real store: one commit each, a snapshot that follows, and clear refusals."""

from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

from channels.messages import Address
from gateway.access import pairing, words
from gateway.access.codes import code_of
from gateway.access.config import Role
from gateway.access.pairing import TellCode
from gateway.operators.actions import OperationRefused
from gateway.operators.models import AccountName, AuditQuery, BlockWish, CodeEntry, RoleChange
from gateway.operators.process import AccessChange, DetachedProcess
from gateway.operators.service import Operators
from gateway.store import people, reports
from gateway.store.engine import Store
from gateway.store.people import Connection, Newcomer, Person
from tests.fakes.people import KEY, NOON, message, minutes


class Process(DetachedProcess):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[Address, str, str]] = []
        self.changes: list[AccessChange] = []

    def say(self, _connection: Connection, _person: Person, where: Address, text: str, cause: str) -> None:
        self.said.append((where, text, cause))

    def announce(self, change: AccessChange) -> None:
        self.changes.append(change)
        if change.person is not None:
            self.people.put(change.person)


class Gateway:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.now = NOON
        self.process = Process()
        self.operators = Operators(store, KEY, lambda: self.now, self.process)
        self.snapshot, self.said, self.changes = self.process.people, self.process.said, self.process.changes

    async def asks(self, sender: str, locale: str | None = None) -> str:
        outcome = await self.store.commit(lambda c: pairing.request(c, message(sender, locale=locale), self.now))
        assert isinstance(outcome, TellCode)
        return outcome.request.id


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    store = await Store.open(f"sqlite:///{tmp_path}/tenk.db")
    yield Gateway(store)
    await store.aclose()


async def test_the_first_person_approved_is_told_they_are_the_owner(gateway: Gateway) -> None:
    first, second = await gateway.asks("42"), await gateway.asks("43")
    await gateway.operators.approve("cli", CodeEntry(code=code_of(KEY, first)))
    await gateway.operators.approve("cli", CodeEntry(code=code_of(KEY, second)))
    assert ["owner", "member"] == [change.person.role for change in gateway.changes if change.person]
    assert ["42", "43"] == [address.chat for address, _, _ in gateway.said]
    assert [f"approved:{first}", f"approved:{second}"] == [str(cause) for _, _, cause in gateway.said]
    assert [True, False] == ["owner" in text for _, text, _ in gateway.said]
    owner = gateway.snapshot.find("default", "telegram:42")
    assert "owner" == (owner and owner.role)


async def test_people_are_greeted_in_their_language(gateway: Gateway) -> None:
    await gateway.operators.approve("cli", CodeEntry(code=code_of(KEY, await gateway.asks("42", locale="es-MX"))))
    assert "es-MX" == (gateway.changes[0].person and gateway.changes[0].person.locale)
    assert gateway.said[0][1].startswith("Ya estás dentro")


async def test_the_list_shows_who_asks_but_no_code(gateway: Gateway) -> None:
    request_id = await gateway.asks("42")
    gateway.now += minutes(5)
    expected = {
        "request": request_id,
        "sender": "telegram:42",
        "name": "Ana",
        "account": "telegram:main",
        "asked_at": "2026-03-02T12:00:00+00:00",
        "age_s": 300,
        "expires_at": "2026-03-02T13:00:00+00:00",
    }
    listed = await gateway.operators.list_requests("cli")
    assert {"requests": [expected]} == listed.model_dump(mode="json")
    gateway.now += minutes(55)
    assert () == (await gateway.operators.list_requests("cli")).requests


async def test_a_request_can_be_approved_by_the_end_of_its_number(gateway: Gateway) -> None:
    request_id = await gateway.asks("42")
    for _ in range(5):
        with pytest.raises(OperationRefused):
            await gateway.operators.approve("cli", CodeEntry(code="22222222"))
    person = await gateway.operators.approve_request("cli", request_id[-6:])
    assert ("owner", ("telegram:42",), ("telegram:main",)) == (person.role, person.senders, person.accounts)


async def refusal(doing: Awaitable[object]) -> str:
    with pytest.raises(OperationRefused) as refused:
        await doing
    return str(refused.value)


async def test_refusals_say_what_to_do(gateway: Gateway) -> None:
    request_id = await gateway.asks("42")
    operations = gateway.operators
    assert "`tenk pairing list`" in await refusal(operations.approve("cli", CodeEntry(code=" ")))
    assert "no 0, O, 1 or I" in await refusal(operations.approve("cli", CodeEntry(code="O0O0O0O0")))
    assert "/requests" in (told := await refusal(operations.approve_request("cli", "nobody"))) and "nobody" in told
    assert "is not a known person" in await refusal(operations.deny("cli", request_id[-3:]))
    assert "is not a known person" in await refusal(operations.block("cli", BlockWish(who="nobody")))
    assert [] == gateway.changes


async def test_the_only_owner_can_be_neither_blocked_nor_demoted(gateway: Gateway) -> None:
    await gateway.operators.approve_request("cli", await gateway.asks("42"))
    await gateway.operators.approve_request("cli", await gateway.asks("43"))
    assert "only owner" in await refusal(gateway.operators.block("cli", BlockWish(who="telegram:42")))
    assert "only owner" in await refusal(gateway.operators.set_role("cli", "telegram:42", RoleChange(role=Role.MEMBER)))
    await gateway.operators.set_role("cli", "telegram:43", RoleChange(role=Role.OWNER))
    await gateway.operators.block("cli", BlockWish(who="telegram:42"))
    person = gateway.snapshot.find("default", "telegram:42")
    assert "blocked" == (person and person.role)


async def test_a_stranger_who_is_blocked_by_sender_keeps_the_name_they_asked_with(gateway: Gateway) -> None:
    await gateway.asks("42")
    assert "Ana" == (await gateway.operators.block("cli", BlockWish(who="telegram:42"))).name
    assert "telegram:43" == (await gateway.operators.block("cli", BlockWish(who="telegram:43"))).name


async def test_people_are_named_as_lists_show_them(gateway: Gateway) -> None:
    await gateway.operators.approve_request("cli", await gateway.asks("42"))
    await gateway.operators.approve_request("cli", await gateway.asks("43"))
    several = await refusal(gateway.operators.block("cli", BlockWish(who="ana")))
    assert "fits several: Ana (telegram:42, " in several
    assert "Ana (telegram:43, " in several
    assert "blocked" == (await gateway.operators.block("cli", BlockWish(who="43"))).role
    assert "not blocked" in await refusal(gateway.operators.unblock("cli", "42"))
    assert "member" == (await gateway.operators.unblock("cli", "telegram:43")).role
    unknown = gateway.operators.set_role("cli", "@Anna", RoleChange(role=Role.OPERATOR))
    assert "the nearest: Ana" in await refusal(unknown)


async def test_a_person_let_in_by_policy_becomes_owner_when_approved(gateway: Gateway) -> None:
    newcomer = Newcomer("default", "telegram:42", "telegram:main", "Ana", "member", people.BY_POLICY)
    before = await gateway.store.commit(lambda c: people.enrol(c, newcomer, NOON))
    assert (frozenset(), frozenset({"telegram:main"})) == (before.grants, before.policy_grants)
    person = await gateway.operators.approve_request("cli", await gateway.asks("42"))
    assert (before.user_id, "owner") == (person.user, person.role)
    again = await gateway.store.commit(lambda c: people.enrol(c, newcomer, NOON))
    assert (frozenset({"telegram:main"}), frozenset()) == (again.grants, again.policy_grants)


async def test_every_change_is_in_the_audit_log(gateway: Gateway) -> None:
    first, second, third = [await gateway.asks(sender) for sender in ("1", "2", "3")]
    owner = (await gateway.operators.approve_request("cli", first)).user
    await gateway.operators.deny(owner, second)
    await gateway.operators.block(owner, BlockWish(who=third))
    log = await gateway.store.read(reports.audit_log)
    assert [
        ("telegram:1", "pairing_requested"),
        ("telegram:2", "pairing_requested"),
        ("telegram:3", "pairing_requested"),
        ("cli", "user_created"),
        ("cli", "pairing_approved"),
        (owner, "pairing_denied"),
        (owner, "user_created"),
        (owner, "person_blocked"),
    ] == [(row.actor, row.action) for row in reversed(log)]


async def test_the_audit_log_is_searched_by_name(gateway: Gateway) -> None:
    async def enrol(sender: str, name: str, role: str) -> str:
        newcomer = Newcomer("default", sender, "telegram:main", name, role, "cli")
        return (await gateway.store.commit(lambda c: people.enrol(c, newcomer, NOON))).user_id

    owner, member = await enrol("telegram:1", "Ana", "owner"), await enrol("telegram:2", "Ben", "member")
    await gateway.operators.set_role(owner, member, RoleChange(role=Role.OPERATOR))

    async def found(**wanted: str) -> list[tuple[str, str]]:
        log = await gateway.operators.read_audit("cli", AuditQuery.model_validate({"action": "role_changed", **wanted}))
        return [(row.by_name, row.subject_name) for row in log.changes]

    change = [("Ana", "Ben")]
    assert (change, [], change) == (await found(by="ana"), await found(by="@Ben"), await found(about="ben"))
    assert ([], change) == (await found(by="cli"), await found(about=member[-8:]))
    await enrol("telegram:3", "ANA", "member")
    assert "fits several: Ana" in await refusal(gateway.operators.read_audit("cli", AuditQuery(by="Ana")))


async def test_a_decision_whose_commit_was_unknown_finds_its_own_work(gateway: Gateway) -> None:
    request_id = await gateway.asks("42")
    key = code_of(KEY, request_id)

    def twice(connection: Connection) -> list[pairing.Approved | pairing.NotApproved]:
        first = pairing.approve_code(connection, KEY, key, "cli", NOON)
        return [first, pairing.approve_code(connection, KEY, key, "cli", NOON, repeated=True)]

    outcomes = await gateway.store.commit(twice)
    assert [True, True] == [isinstance(one, pairing.Approved) and one.became_owner for one in outcomes]


async def test_settings_of_a_person_are_kept(gateway: Gateway) -> None:
    await gateway.operators.approve_request("cli", await gateway.asks("42", "es"))
    user_id = (await gateway.store.read(people.everybody))[0].user_id
    await gateway.store.commit(lambda c: people.set_timezone(c, user_id, "Europe/Madrid"))
    person = await gateway.store.read(lambda c: people.person_of(c, user_id))
    assert ("Europe/Madrid", "es") == (person and person.timezone, person and person.locale)
    assert None is people.tag_of("<script>")


async def test_revoking_ends_a_grant_once(gateway: Gateway) -> None:
    await gateway.operators.approve_request("cli", await gateway.asks("42"))
    await gateway.operators.revoke("cli", "telegram:42", AccountName(account="telegram:main"))
    person = gateway.snapshot.find("default", "telegram:42")
    assert frozenset() == (person and person.grants)
    latest, *_ = (await gateway.operators.read_audit("cli", AuditQuery())).changes
    assert ("cli", "access_revoked", "telegram:main") == (latest.by, latest.action, latest.detail)
    assert "there are: none" in await refusal(
        gateway.operators.revoke("cli", "telegram:42", AccountName(account="telegram:main"))
    )
    await gateway.asks("42")  # is told a code at once


def test_a_person_over_their_bound_is_told_when_to_come_back() -> None:
    assert "about 1 s" in words.too_fast_text("en", 0.2)
    assert "20 mensajes" in words.too_many_text("es", 20)
