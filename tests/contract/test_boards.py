"""The board of a team, on every engine: the same states, the same refusals."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from agent.delegation.board import NewTask, TaskChange, TaskState
from agent.tools.base import ToolError
from gateway.store import boards, erasure, people, retention
from gateway.store.boards import Board, BoardChange, Task
from gateway.store.engine import Store
from gateway.store.erasure import Extent
from gateway.store.tables.turns import sessions, turns
from tests.fakes.spine import NOON
from tests.fakes.talks import ANA, BEN, DIRECT, GROUP, carried_out, fill

LEASE = timedelta(minutes=10)
LATER = NOON + timedelta(minutes=1)


@pytest.fixture
async def store(store: Store) -> Store:
    await store.commit(fill)
    return store.of("default")


async def worker(store: Store, number: int, key: str = DIRECT, user: str = ANA) -> Board:
    """Return the board as a new worker sees it in a turn that runs."""

    def begin(connection: sa.Connection) -> Board | None:
        session = {"id": f"s{number}", "key": f"{key}:subagent:w{number}", "generation": 1, "created_at": NOON}
        connection.execute(sessions.insert(), {"tenant_id": "default", "mode": "steer", **session})
        turn = {"id": f"turn{number}", "session_id": f"s{number}", "user_id": user, "kind": "chat", "address": "x"}
        connection.execute(turns.insert(), {"tenant_id": "default", "started_at": NOON, **turn})
        return boards.board_of(connection, user, f"turn{number}")

    board = await store.commit(begin)
    assert board is not None
    return board


async def add(store: Store, board: Board, *new: NewTask, key: str = "turn0/1/0") -> dict[str, Task]:
    change = await store.commit(boards.add, board, new, key, NOON)
    return {task.title: task for task in change.tasks}


async def change(store: Store, board: Board, wanted: TaskChange) -> BoardChange:
    return await store.commit(boards.change, board, wanted, LATER, LEASE)


async def claim(store: Store, board: Board, id_: str | None = None) -> Task | None:
    return await store.commit(boards.claim, board, id_, LATER, LEASE)


async def states(store: Store, board: Board) -> dict[str, str]:
    found = await store.read(lambda connection: boards.list_tasks(connection, board, LATER))
    return {task.title: task.state.value for task in found}


def new(title: str, *blocked_by: str) -> NewTask:
    return NewTask(title, "", blocked_by)


async def test_a_task_waits_until_what_it_waits_for_is_completed(store: Store) -> None:
    board = await worker(store, 10)
    await add(store, board, new("read"), new("write", "read"), new("print", "write", "read"))
    assert {"read": "pending", "write": "blocked", "print": "blocked"} == await states(store, board)
    first = await claim(store, board)
    assert first is not None and "read" == first.title
    assert await claim(store, board) is None
    done = await change(store, board, TaskChange(first.id, TaskState.COMPLETED, "three pages"))
    assert ["write"] == [task.title for task in done.released]
    assert {"write": "pending", "print": "blocked", "read": "completed"} == await states(store, board)


async def test_a_circle_is_refused_by_name(store: Store) -> None:
    board = await worker(store, 10)
    with pytest.raises(ToolError, match="'a' waits for 'b' waits for 'a'"):
        await add(store, board, new("a", "b"), new("b", "a"))
    made = await add(store, board, new("a"), new("b", "a"))
    with pytest.raises(ToolError, match="for ever"):
        await change(store, board, TaskChange(made["a"].id, blocked_by=(made["b"].id,)))
    assert {"a": "pending", "b": "blocked"} == await states(store, board)
    with pytest.raises(ToolError, match="no task 'c' to wait for"):
        await add(store, board, new("d", "c"))


async def test_failed_and_cancelled_dependencies_are_said_and_can_be_replaced(store: Store) -> None:
    board = await worker(store, 10)
    made = await add(store, board, new("a"), new("b"), new("c", "a", "b"))
    taken = await claim(store, board, made["a"].id)
    assert taken is not None
    failed = await change(store, board, TaskChange(taken.id, TaskState.FAILED, "no such file"))
    assert {made["c"].id: {taken.id}} == failed.stuck
    cancelled = await change(store, board, TaskChange(made["b"].id, TaskState.CANCELLED))
    assert {made["c"].id: {taken.id, made["b"].id}} == cancelled.stuck
    freed = await change(store, board, TaskChange(made["c"].id, blocked_by=()))
    assert ("pending", {}) == (freed.tasks[0].state.value, freed.stuck)


async def test_a_claim_that_outlives_its_turn_or_its_lease_is_stale_and_can_be_claimed_again(store: Store) -> None:
    one, two = await worker(store, 10), await worker(store, 11)
    made = await add(store, one, new("a"))
    assert await claim(store, one) is not None
    assert await claim(store, two) is None
    ended = sa.update(turns).where(turns.c.id == one.turn_id).values(end_reason="completed")
    await store.commit(lambda connection: connection.execute(ended).rowcount)
    assert {"a": "stale"} == await states(store, two)
    again = await claim(store, two)
    assert again is not None and (2, "w11") == (again.claims, again.worker)
    with pytest.raises(ToolError, match="another worker has claimed it"):
        await change(store, one, TaskChange(made["a"].id, TaskState.COMPLETED))
    much_later = LATER + LEASE
    third = await store.commit(boards.claim, one, None, much_later, LEASE)
    assert third is not None and "w10" == third.worker


async def test_a_worker_keeps_an_expired_claim_that_no_other_has_taken(store: Store) -> None:
    board = await worker(store, 10)
    made = await add(store, board, new("a"))
    await claim(store, board)
    late = TaskChange(made["a"].id, TaskState.COMPLETED, "done")
    done = await store.commit(boards.change, board, late, LATER + 2 * LEASE, LEASE)
    assert TaskState.COMPLETED is done.tasks[0].state


async def test_another_agent_reviews(store: Store) -> None:
    one, two = await worker(store, 10), await worker(store, 11)
    made = await add(store, one, new("a"), new("b", "a"))
    await claim(store, one)
    await change(store, one, TaskChange(made["a"].id, TaskState.IN_REVIEW, "a draft"))
    with pytest.raises(ToolError, match="another agent has to accept"):
        await change(store, one, TaskChange(made["a"].id, TaskState.COMPLETED))
    accepted = await change(store, two, TaskChange(made["a"].id, TaskState.COMPLETED))
    assert ["b"] == [task.title for task in accepted.released]
    with pytest.raises(ToolError, match="completed cannot become pending"):
        await change(store, two, TaskChange(made["a"].id, TaskState.PENDING))


async def test_the_agent_that_the_person_talks_to_may_accept_its_own_work(store: Store) -> None:
    board = replace(await worker(store, 10), label=boards.MAIN)
    made = await add(store, board, new("a"))
    await claim(store, board)
    await change(store, board, TaskChange(made["a"].id, TaskState.IN_REVIEW))
    accepted = await change(store, board, TaskChange(made["a"].id, TaskState.COMPLETED))
    assert TaskState.COMPLETED is accepted.tasks[0].state


async def test_a_board_is_of_one_person_and_agent_and_shown_in_its_group_alone(store: Store) -> None:
    mine = await worker(store, 10)
    in_group, of_ben = (
        await worker(store, 11, GROUP),
        await worker(store, 12, "agent:coach:telegram:main:direct:43", BEN),
    )
    other_agent = await worker(store, 13, DIRECT.replace("coach", "tutor"))
    made = await add(store, mine, new("a"))
    for other in (in_group, of_ben, other_agent):
        assert {} == await states(store, other)
        assert await claim(store, other, made["a"].id) is None
        with pytest.raises(ToolError, match="There is no task"):
            await change(store, other, TaskChange(made["a"].id, TaskState.CANCELLED))


async def test_a_board_has_a_bound(store: Store) -> None:
    board = await worker(store, 10)
    for batch in range(boards.MOST_OPEN // 20):
        await add(store, board, *(new(f"{batch}/{number}") for number in range(20)), key=f"turn0/{batch}/0")
    with pytest.raises(ToolError, match="200 open tasks, 200 at most"):
        await add(store, board, new("one more"), key="turn0/99/0")


@pytest.mark.parametrize("extent", Extent)
async def test_forgotten_talk_takes_the_tasks(store: Store, extent: Extent) -> None:
    mine, of_ben = await worker(store, 10), await worker(store, 12, DIRECT, BEN)
    await add(store, mine, new("a"))
    await add(store, of_ben, new("b"), key="turn12/1/0")
    await store.commit(lambda connection: connection.execute(sa.update(turns).values(end_reason="completed")).rowcount)
    await store.commit(lambda connection: carried_out(connection, extent))
    left = await store.read(lambda connection: boards.newest_tasks(connection, 10, LATER))
    assert ["b"] == [task.title for task in left]


async def test_finished_tasks_expire(store: Store) -> None:
    board = await worker(store, 10)
    made = await add(store, board, new("a"), new("b"))
    await change(store, board, TaskChange(made["a"].id, TaskState.CANCELLED))
    assert 0 == await store.commit(retention.take_tasks, before=LATER)
    assert 1 == await store.commit(retention.take_tasks, before=LATER + LEASE)
    assert {"b": "pending"} == await states(store, board)


async def test_a_linked_person_has_one_board_and_a_copy_of_it(store: Store) -> None:
    mine, of_ben = await worker(store, 10), await worker(store, 12, DIRECT, BEN)
    await add(store, of_ben, new("b"), key="turn12/1/0")
    assert {} == await states(store, mine)
    await store.commit(people.join, BEN, ANA)
    assert {"b": "pending"} == await states(store, mine)
    [exported] = (await store.read(lambda connection: erasure.of_person(connection, ANA)))["tasks"]  # type: ignore[misc]  # JSON
    assert "b" == exported["title"]  # type: ignore[index,call-overload]  # JSON
