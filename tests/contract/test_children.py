"""Tasks of agents as rows, on every engine: each begins once and ends once, within its limits."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from agent.delegation.delegation_config import DelegationConfig
from agent.delegation.tasks import GivenTask
from agent.tools.base import ToolError
from agent.transcript import EndReason
from channels.messages import Address, ChatKind, CommandInvoked, Route, Sender, SystemEvent
from gateway.store import approvals, children, inbox
from gateway.store.approvals import Approval
from gateway.store.children import CHILDREN, Child, ChildState
from gateway.store.engine import Store
from gateway.store.erasure import Extent
from gateway.store.inbox import NewRow
from gateway.store.journal import TurnRow, root_of, shard_of
from tests.contract.test_mailboxes import begin_turn
from tests.fakes.spine import NOON
from tests.fakes.talks import ANA, BEN, DIRECT, carried_out, fill

LIMITS = DelegationConfig(max_depth=3, max_tasks=2, max_tasks_overall=3)
CHAT = Address("telegram", "main", "42")


@pytest.fixture
async def store(store: Store) -> Store:
    return store.of("default")


async def give(
    store: Store, turn_id: str, name: str, limits: DelegationConfig = LIMITS, *, type_: str = "general", **more: bool
) -> Child:
    given = GivenTask(description=name, prompt=name, type=type_, model=None, in_background=more.get("later", False))
    return await store.commit(children.begin, f"{turn_id}/0/{name[-1]}", "default", given, limits, NOON)


def turn_of(child: Child) -> TurnRow:
    return TurnRow(f"turn {child.label}", "default", f"s-turn {child.label}", ANA, "subagent", CHAT, None, NOON)


async def waiting(store: Store, key: str) -> list[str]:
    rows = await store.read(lambda connection: inbox.waiting(connection, 0, 100, key))
    return [row.event.event_id for row in rows]


async def refusal(give_it: Callable[[], object]) -> str:
    with pytest.raises(ToolError) as refused:
        await give_it()  # type: ignore[misc]  a coroutine
    return str(refused.value)


async def test_a_call_begins_one_task_however_often_it_runs(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    one, again = await give(store, "root", "Find: trains 1"), await give(store, "root", "Find: trains 1")
    assert one == again
    assert f"{DIRECT}:subagent:find-trains-1" == one.session_key
    assert ["task:root/0/1"] == await waiting(store, one.session_key)
    assert shard_of(DIRECT) == shard_of(one.session_key)


async def test_limits_are_told_to_the_model(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    await begin_turn(store, "other", "agent:coach:telegram:main:direct:43", BEN)
    for name in ("a 1", "b 2"):
        await give(store, "root", name)
    assert "2 tasks of yours run already" in await refusal(lambda: give(store, "root", "c 3"))
    await give(store, "other", "d 4")
    assert "3 tasks run already" in await refusal(lambda: give(store, "other", "e 5"))
    assert "only in a conversation" in await refusal(lambda: give(store, "gone", "f 6"))


async def test_tasks_go_no_deeper_than_allowed_and_in_no_circle(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    one = await give(store, "root", "one 1", type_="scout")
    await begin_turn(store, "turn one-1", one.session_key)
    shallow = DelegationConfig(max_depth=1)
    assert "at this depth" in await refusal(lambda: give(store, "turn one-1", "two 2", shallow))
    two = await give(store, "turn one-1", "two 2", type_="critic")
    await begin_turn(store, "turn two-2", two.session_key)
    circle = await refusal(lambda: give(store, "turn two-2", "three 3", type_="scout"))
    assert "in a circle: scout → critic → scout" in circle


async def test_the_end_of_a_task_in_the_background_is_one_event_of_the_conversation(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    one = await give(store, "root", "one 1", later=True)
    await begin_turn(store, "turn one-1", one.session_key)
    for text in ("found", "found again"):
        await store.commit(children.end, turn_of(one), EndReason.COMPLETED, text, NOON)
    assert ["task ended:root/0/1"] == await waiting(store, DIRECT)
    ended = await store.read(lambda connection: CHILDREN.get(connection, id=one.id))
    assert ended is not None
    assert (ChildState.DONE, "found") == (ended.state, ended.result)
    assert [] == await waiting(store, one.session_key)


async def test_the_end_of_a_task_releases_the_turn_that_waits_for_it(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    one = await give(store, "root", "one 1")
    await begin_turn(store, "turn one-1", one.session_key)
    await store.commit(approvals.set_parked, "root", NOON)
    await store.commit(children.end, turn_of(one), EndReason.TIMEOUT, "half", NOON)
    assert not await store.read(lambda connection: children.is_parked(connection, "root"))
    assert [] == await waiting(store, DIRECT)
    ended = await store.read(lambda connection: CHILDREN.get(connection, id=one.id))
    assert ended is not None
    assert (ChildState.FAILED, "half") == (ended.state, ended.result)


async def test_a_turn_asks_its_person_if_its_task_does(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    one = await give(store, "root", "one 1")
    await begin_turn(store, "turn one-1", one.session_key)
    await store.commit(approvals.set_parked, "root", NOON)
    assert [] == await store.read(lambda connection: children.asking_turns(connection, "root"))
    asked = Approval(
        id="a1",
        tenant="default",
        turn_id="turn one-1",
        user_id=ANA,
        call_key="turn one-1/0/0",
        tool="pay",
        fingerprint="",
        may_remember=False,
        numbered=False,
        asked_at=NOON,
        until=NOON + timedelta(minutes=10),
    )
    await store.commit(approvals.ask, asked)
    assert ["turn one-1"] == await store.read(lambda connection: children.asking_turns(connection, "root"))


async def test_a_stop_reaches_the_tasks_of_tasks_but_not_those_of_others(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    await begin_turn(store, "bens", DIRECT + "0", BEN)
    one = await give(store, "root", "one 1")
    await begin_turn(store, "turn one-1", one.session_key)
    await give(store, "turn one-1", "two 2", type_="critic")
    bens = await give(store, "bens", "bens 3")
    assert 1 == await store.commit(children.stop_under, DIRECT, NOON, "/stop", ANA)
    running = await store.read(lambda connection: CHILDREN.find(connection, state=ChildState.RUNNING))
    assert [bens.id] == [child.id for child in running]
    await store.commit(children.end, turn_of(one), EndReason.COMPLETED, "too late", NOON)
    assert [] == await waiting(store, DIRECT)


async def test_a_task_that_ends_stops_the_tasks_that_it_has_begun(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    one = await give(store, "root", "one 1", later=True)
    await begin_turn(store, "turn one-1", one.session_key)
    two = await give(store, "turn one-1", "two 2", type_="critic", later=True)
    await store.commit(children.end, turn_of(one), EndReason.COMPLETED, "found", NOON)
    below = await store.read(lambda connection: CHILDREN.get(connection, id=two.id))
    assert below is not None
    assert ChildState.STOPPED is below.state
    assert [] == await waiting(store, two.session_key)
    with pytest.raises(ToolError, match="has ended"):
        await give(store, "turn one-1", "three 3", type_="critic", later=True)
    assert ["task ended:root/0/1"] == await waiting(store, DIRECT)


async def test_a_private_answer_in_a_group_gives_no_tasks(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    asked = CommandInvoked(
        event_id="command:1",
        address=Address("telegram", "main", "-7"),
        sender=Sender("42", "Ana"),
        received_at=NOON,
        name="coach",
        arguments="and quietly",
        kind=ChatKind.GROUP,
        route=Route("interaction", "token", NOON + timedelta(minutes=15), private=True),
    )

    def ask(connection: sa.Connection) -> None:
        id_ = inbox.admit(connection, NewRow(asked, ANA, DIRECT), NOON)
        assert id_ is not None
        inbox.claim(connection, [id_], "root")

    await store.commit(ask)
    assert "private answer" in await refusal(lambda: give(store, "root", "one 1"))


async def test_ended_tasks_are_kept_for_an_hour_and_go_with_their_person(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    one = await give(store, "root", "one 1")
    await begin_turn(store, "turn one-1", one.session_key)
    await store.commit(children.end, turn_of(one), EndReason.COMPLETED, "found", NOON)

    def count_after(minutes: float) -> Callable[[sa.Connection], int]:
        def job(connection: sa.Connection) -> int:
            given = GivenTask(description="x", prompt="x", type="fork", model=None, in_background=True)
            later = NOON + timedelta(minutes=minutes)
            children.begin(connection, f"root/9/{minutes:.0f}", "default", given, LIMITS, later)
            return CHILDREN.count(connection, id=one.id)

        return job

    assert [1, 0] == [await store.commit(count_after(minutes)) for minutes in (60, 61)]


async def test_forgetting_a_person_forgets_their_tasks(store: Store) -> None:
    def story(connection: sa.Connection) -> int:
        fill(connection)
        child = Child(
            id="turn0/0/0",
            tenant="default",
            user_id=ANA,
            parent_key=DIRECT,
            parent_turn_id="turn0",
            session_key=children.key_of(DIRECT, "x"),
            label="x",
            description="x",
            type="general",
            model=None,
            in_background=False,
            state=ChildState.DONE,
            result="what Ana asked",
            began_at=NOON,
            ended_at=NOON,
        )
        assert CHILDREN.add(connection, child)
        carried_out(connection, Extent.TALK)
        return CHILDREN.count(connection)

    assert 0 == await store.commit(story)


@pytest.mark.parametrize("name", [":subagent:root:1", "../%3A 1", "日本語 1", "x" * 99 + "1", "-- 1"])
async def test_no_description_breaks_out_of_its_key(store: Store, name: str) -> None:
    await begin_turn(store, "root", DIRECT)
    one = await give(store, "root", name)
    assert DIRECT == root_of(one.session_key)
    assert re.fullmatch(r"[a-z0-9-]{1,40}", one.label)


async def test_a_long_result_is_told_up_to_a_bound(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    one = await give(store, "root", "one 1", later=True)
    await begin_turn(store, "turn one-1", one.session_key)
    await store.commit(children.end, turn_of(one), EndReason.COMPLETED, "x" * 1_000_000, NOON)
    (row,) = await store.read(lambda connection: inbox.waiting(connection, 0, 100, DIRECT))
    assert isinstance(row.event, SystemEvent)
    assert len(row.event.data) < children.MAX_TOLD_CHARS + 100
