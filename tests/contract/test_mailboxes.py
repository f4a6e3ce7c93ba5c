"""Messages between the tasks of a conversation, on every engine: bounded, to a name or to all, each once."""

import pytest
import sqlalchemy as sa

from agent.delegation.delegation_config import DelegationConfig
from agent.delegation.tasks import GivenTask
from agent.tools.base import ToolError
from channels.messages import SystemEvent
from gateway.store import children, inbox
from gateway.store.children import ALL, Child, Receivers
from gateway.store.engine import Store
from gateway.store.tables.turns import sessions, turns
from tests.fakes.spine import NOON
from tests.fakes.talks import ANA, BEN, DIRECT, GROUP

LIMITS = DelegationConfig(mailbox=3)
CHAT = "telegram\x1fmain\x1f42\x1f"


@pytest.fixture
async def store(store: Store) -> Store:
    return store.of("default")


async def begin_turn(store: Store, id_: str, key: str, user: str = ANA) -> None:
    def job(connection: sa.Connection) -> None:
        session = {"id": f"s-{id_}", "key": key, "generation": 2, "mode": "steer", "created_at": NOON}
        connection.execute(sessions.insert(), {"tenant_id": "default", **session})
        turn = {"id": id_, "session_id": f"s-{id_}", "user_id": user, "kind": "chat", "address": CHAT}
        connection.execute(turns.insert(), {"tenant_id": "default", "started_at": NOON, **turn})

    await store.commit(job)


async def give(store: Store, turn_id: str, name: str, *, in_background: bool = True) -> Child:
    """Give a task, and begin its turn."""
    given = GivenTask(description=name, prompt=name, type="general", model=None, in_background=in_background)
    key = f"{turn_id}/{name}/0"
    child = await store.commit(children.begin, key, "default", given, LIMITS, NOON)
    await begin_turn(store, f"turn-{name}", child.session_key, child.user_id)
    return child


async def send(store: Store, turn_id: str, to: str, text: str = "hello", number: int = 0) -> Receivers:
    return await store.commit(children.send, f"{turn_id}/9/{number}", "default", to, text, LIMITS, NOON)


async def read(store: Store, session_key: str) -> list[tuple[str, str]]:
    """Return the messages that wait in a session, each with its head."""
    rows = await store.read(lambda connection: inbox.waiting(connection, 0, 100, session_key))
    events = [row.event for row in rows if isinstance(row.event, SystemEvent)]
    return [(event.data, event.data_head) for event in events if event.name == "message"]


async def test_a_task_writes_to_its_parent_and_to_the_tasks_beside_it(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    one, two = await give(store, "root", "one"), await give(store, "root", "two")
    await send(store, "turn-one", "two", "yours")
    await send(store, "turn-one", "parent", "mine", number=1)
    assert [("yours", 'message from the task "one"')] == await read(store, two.session_key)
    assert [("mine", 'message from the task "one"')] == await read(store, DIRECT)
    await send(store, "root", "one", "go on")
    assert [("go on", "message from the agent that gave you this task")] == await read(store, one.session_key)


async def test_a_message_to_all_reaches_each_once(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    tasks = [await give(store, "root", name) for name in ("one", "two", "three")]
    assert {"parent", "two", "three"} == set((await send(store, "turn-one", ALL)).to)
    await send(store, "turn-one", ALL)  # the same call again
    assert [0, 1, 1] == [len(await read(store, each.session_key)) for each in tasks]
    assert 1 == len(await read(store, DIRECT))


async def test_a_mailbox_is_bounded(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    await give(store, "root", "one")
    await give(store, "root", "two")
    for number in range(LIMITS.mailbox - 1):  # its task itself waits there, too
        await send(store, "turn-one", "two", number=number)
    with pytest.raises(ToolError, match="mailbox of two is full"):
        await send(store, "turn-one", "two", number=8)
    told = await send(store, "turn-one", ALL, number=9)
    assert (("parent",), ("two",)) == (told.to, told.full)


async def test_in_a_group_the_tasks_of_one_person_do_not_write_to_those_of_another(store: Store) -> None:
    await begin_turn(store, "root", GROUP)
    other_session = "turn of ben"
    await store.commit(
        lambda connection: (
            connection.execute(
                turns.insert(),
                {
                    "id": other_session,
                    "tenant_id": "default",
                    "session_id": "s-root",
                    "user_id": BEN,
                    "kind": "chat",
                    "address": CHAT,
                    "started_at": NOON,
                },
            ).rowcount
        )
    )
    mine = await give(store, "root", "mine")
    await give(store, other_session, "his")
    for sender in (other_session, "turn-his"):
        with pytest.raises(ToolError, match="No running task is called 'mine'"):
            await send(store, sender, "mine")
    await send(store, "turn-his", ALL, number=1)
    assert [] == await read(store, mine.session_key)


async def test_an_ended_task_cannot_be_written_to(store: Store) -> None:
    await begin_turn(store, "root", DIRECT)
    one = await give(store, "root", "one")
    await store.commit(lambda connection: children.stop(connection, one, NOON, "task_stop"))
    with pytest.raises(ToolError, match="You can write to: none"):
        await send(store, "root", "one")
    with pytest.raises(ToolError, match="You can write to: none"):
        await send(store, "root", ALL, number=1)
