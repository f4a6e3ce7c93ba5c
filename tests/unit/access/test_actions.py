"""Actions of the operators' service: each leaves its audit row, and refuses roles below its rank."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import time
from pathlib import Path

import pytest

from agent.memory.memory import MemoryType
from agent.replay.steps import steps_of
from agent.schedules.rules import Daily
from channels.messages import Address, Rendered
from gateway.access import linking, pairing
from gateway.access.codes import code_of
from gateway.access.config import Role
from gateway.access.invites import Terms
from gateway.access.linking import Side
from gateway.access.pairing import TellCode
from gateway.operators.actions import ACTIONS, NotAllowed
from gateway.operators.cases import CaseWish
from gateway.operators.models import (
    AccountName,
    AuditQuery,
    BlockWish,
    CodeEntry,
    ConsolidationsQuery,
    ConversationsQuery,
    Erasing,
    ExportQuery,
    GroupChange,
    InboxQuery,
    KeyTerms,
    MemoriesImport,
    MemoriesQuery,
    MemoryText,
    ModelName,
    OperatorMessage,
    OutboxQuery,
    Reloaded,
    RoleChange,
    SchedulesQuery,
    SettingChange,
    SummaryQuery,
    TasksQuery,
    TimelineQuery,
    TraceQuery,
    TrustName,
    TrustTerms,
    UsageByQuery,
    UsageQuery,
)
from gateway.operators.process import DetachedProcess, ReplayedRun
from gateway.operators.replay_models import ReplayWish, TurnQuery
from gateway.operators.service import Operators
from gateway.store import chats, groups, outbox, people, reports
from gateway.store.causes import ReplyTo
from gateway.store.engine import Connection
from gateway.store.erasure import Extent
from gateway.store.outbox import Action, OutboxPart
from gateway.store.pauses import PAUSES, AgentPause
from gateway.store.people import Newcomer
from gateway.store.recorded import StoredTurn
from gateway.store.trusted import TrustKind
from tests.fakes.past import add_past, direct_key
from tests.fakes.people import KEY, NOON, message
from tests.fakes.schedules import add_schedule
from tests.fakes.spine import QuickStore, quick_store

MEMBER = "telegram:1"
BLOCKED = "telegram:66"


class WithSettings(DetachedProcess):
    """A process whose settings can be changed and reloaded."""

    async def reload(self) -> Reloaded:
        return Reloaded(in_force=(), next_start=(), defaults={})

    async def change_setting(self, key: str, _text: str) -> Reloaded:
        return Reloaded(in_force=(key,), next_start=(), defaults={})

    async def replay(self, turn: StoredTurn, _wish: ReplayWish) -> ReplayedRun:
        return ReplayedRun("coach", "openai:small", (), steps_of(turn.row.id, turn.events))


class World:
    """An owner, a member who is linked to another user, a stranger who waits, an invitation, a key, a failed part."""

    def __init__(self, store: QuickStore) -> None:
        self.store = store
        self.operators = Operators(store, KEY, lambda: NOON, WithSettings())
        self.ids: dict[str, str] = {}

    async def fill(self) -> "World":
        def job(connection: Connection) -> None:
            for sender, role in (
                ("telegram:0", "owner"),
                (MEMBER, "member"),
                ("discord:2", "member"),
                (BLOCKED, "blocked"),
            ):
                newcomer = Newcomer("default", sender, "telegram:main", sender, role, "cli")
                self.ids[sender] = people.enrol(connection, newcomer, NOON).user_id
            PAUSES.put(connection, AgentPause("default", False, NOON, "cli"))
            groups.find(connection, "default", Address("telegram", "main", "-100"))
            owner = self.ids["telegram:0"]
            chats.note(connection, "default", Address("telegram", "main", "1"), owner, NOON, direct=True)
            asked = pairing.request(connection, message("99"), NOON)
            assert isinstance(asked, TellCode)
            self.ids["request"] = asked.request.id
            mine, other = (Side(self.ids[sender], sender, Address("telegram", "main", sender)) for sender in SIDES)
            link = linking.offer(connection, "default", mine, NOON)
            linking.give(connection, KEY, "default", code_of(KEY, link.id), other, NOON)
            linking.agree(connection, None, other.user_id, NOON)
            linking.connect(connection, None, mine.user_id, NOON)
            part = OutboxPart(ReplyTo(1), 0, 0, Action.SEND, Address("sim", "main", "1"), Rendered("hello"), "hello")
            outbox.put(connection, "default", [part], NOON)
            connection.exec_driver_sql("UPDATE outbox SET state = 'dead'")
            said = [("hello", "Hello.")]
            (self.ids["turn"],) = add_past(connection, direct_key("1"), self.ids[MEMBER], said, NOON)
            (session,) = connection.exec_driver_sql("SELECT session_id FROM turns").scalars()
            self.ids["session"] = session
            self.ids["schedule"] = add_schedule(connection, self.ids[MEMBER], Daily(at=time(13))).id

        await self.store.commit(job)
        self.ids["invite"] = (await self.operators.invite_by("cli", Terms())).invite
        self.ids["key"] = (await self.operators.create_key("cli", KeyTerms(name="k"))).id
        await self.operators.trust("cli", SCALES)
        return self

    async def change_group(self, by: str) -> None:
        """Allow the group, within the commit of a command."""

        def job(connection: Connection) -> None:
            (group,) = groups.GROUPS.find(connection)
            self.operators.change_group(by, connection, group, GroupChange(allowed=True))

        await self.store.commit(job)


SIDES = (MEMBER, "discord:2")
SCALES = TrustTerms(kind=TrustKind.SKILL, name="scales", digest="0" * 64)

NOTED = MemoryText(name="mornings", type=MemoryType.USER, description="Mornings", body="Mornings are best.")
MEMORIES = MemoriesImport(agent="coach", memories=(NOTED,))

ANYHOW: dict[str, Callable[[World, str], Awaitable[object]]] = {
    "change_group": lambda w, by: w.change_group(by),
    "list_requests": lambda w, by: w.operators.list_requests(by),
    "list_users": lambda w, by: w.operators.list_users(by),
    "find_users": lambda w, by: w.operators.find_users(by, "a"),
    "read_audit": lambda w, by: w.operators.read_audit(by, AuditQuery()),
    "approve": lambda w, by: w.operators.approve(by, CodeEntry(code=code_of(KEY, w.ids["request"]))),
    "approve_request": lambda w, by: w.operators.approve_request(by, w.ids["request"]),
    "deny": lambda w, by: w.operators.deny(by, w.ids["request"]),
    "block": lambda w, by: w.operators.block(by, BlockWish(who="telegram:77")),
    "block_request": lambda w, by: w.operators.block_request(by, w.ids["request"]),
    "unblock": lambda w, by: w.operators.unblock(by, BLOCKED),
    "set_role": lambda w, by: w.operators.set_role(by, MEMBER, RoleChange(role=Role.OPERATOR)),
    "revoke": lambda w, by: w.operators.revoke(by, MEMBER, AccountName(account="telegram:main")),
    "send_message": lambda w, by: w.operators.send_message(by, "telegram:0", OperatorMessage(text="Hello.")),
    "unlink": lambda w, by: w.operators.unlink(by, MEMBER),
    "let_in_browser": lambda w, by: w.operators.let_in_browser(by, "c0ffee"),
    "forget": lambda w, by: w.operators.forget(by, MEMBER, Erasing(extent=Extent.TALK)),
    "note_export": lambda w, by: w.operators.note_export(by, MEMBER),
    "list_invites": lambda w, by: w.operators.list_invites(by),
    "invite_by": lambda w, by: w.operators.invite_by(by, Terms()),
    "revoke_invite": lambda w, by: w.operators.revoke_invite(by, w.ids["invite"]),
    "list_keys": lambda w, by: w.operators.list_keys(by),
    "create_key": lambda w, by: w.operators.create_key(by, KeyTerms(name="another")),
    "revoke_key": lambda w, by: w.operators.revoke_key(by, w.ids["key"]),
    "list_trusted": lambda w, by: w.operators.list_trusted(by),
    "trust": lambda w, by: w.operators.trust(by, SCALES),
    "distrust": lambda w, by: w.operators.distrust(by, TrustName(kind=SCALES.kind, name=SCALES.name)),
    "rotate_keys": lambda w, by: w.operators.rotate_keys(by),
    "list_inbox": lambda w, by: w.operators.list_inbox(by, InboxQuery()),
    "list_outbox": lambda w, by: w.operators.list_outbox(by, OutboxQuery()),
    "show_part": lambda w, by: w.operators.show_part(by, 1),
    "show_part_text": lambda w, by: w.operators.show_part_text(by, 1),
    "retry_part": lambda w, by: w.operators.retry_part(by, 1),
    "discard_part": lambda w, by: w.operators.discard_part(by, 1),
    "read_memories": lambda w, by: w.operators.read_memories(by, MEMBER, MemoriesQuery(agent="coach")),
    "import_memories": lambda w, by: w.operators.import_memories(by, MEMBER, MEMORIES),
    "list_consolidations": lambda w, by: w.operators.list_consolidations(by, ConsolidationsQuery()),
    "list_schedules": lambda w, by: w.operators.list_schedules(by, SchedulesQuery()),
    "pause_schedule": lambda w, by: w.operators.pause_schedule(by, w.ids["schedule"]),
    "resume_schedule": lambda w, by: w.operators.resume_schedule(by, w.ids["schedule"]),
    "delete_schedule": lambda w, by: w.operators.delete_schedule(by, w.ids["schedule"]),
    "list_tasks": lambda w, by: w.operators.list_tasks(by, TasksQuery()),
    "trace": lambda w, by: w.operators.trace(by, TraceQuery(who=MEMBER)),
    "list_conversations": lambda w, by: w.operators.list_conversations(by, ConversationsQuery()),
    "show_conversation": lambda w, by: w.operators.show_conversation(by, "00000000", TimelineQuery()),
    "export_conversation": lambda w, by: w.operators.export_conversation(by, "00000000", ExportQuery()),
    "draft_case": lambda w, by: w.operators.draft_case(by, w.ids["session"], CaseWish(name="a")),
    "show_turn": lambda w, by: w.operators.show_turn(by, w.ids["turn"], TurnQuery()),
    "replay_turn": lambda w, by: w.operators.replay_turn(by, w.ids["turn"], ReplayWish()),
    "usage": lambda w, by: w.operators.usage(by, UsageQuery()),
    "usage_by": lambda w, by: w.operators.usage_by(by, UsageByQuery(by="channel")),
    "usage_summary": lambda w, by: w.operators.usage_summary(by, SummaryQuery()),
    "usage_routes": lambda w, by: w.operators.usage_routes(by, UsageQuery()),
    "status": lambda w, by: w.operators.status(by),
    "reload": lambda w, by: w.operators.reload(by),
    "stop": lambda w, by: w.operators.stop(by),
    "pause": lambda w, by: w.operators.pause(by),
    "resume": lambda w, by: w.operators.resume(by),
    "change_setting": lambda w, by: w.operators.change_setting(by, SettingChange(key="access.direct", value="open")),
    "try_model": lambda w, by: w.operators.try_model(by, ModelName(model="openai:small")),
    "console_link": lambda w, by: w.operators.console_link(by),
    "close_consoles": lambda w, by: w.operators.close_consoles(by),
}
"""Each action, done somehow."""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    store = await quick_store(tmp_path / "tenk.db")
    yield await World(store).fill()
    await store.aclose()


def test_every_action_is_tried_here() -> None:
    assert set(ACTIONS) == set(ANYHOW)


@pytest.mark.parametrize("name", sorted(name for name, declared in ACTIONS.items() if declared.audit))
async def test_an_action_leaves_the_audit_row_that_it_declares(world: World, name: str) -> None:
    before = len(await world.store.read(reports.audit_log))
    await ANYHOW[name](world, "cli")
    rows = await world.store.read(reports.audit_log)
    assert ACTIONS[name].audit in [row.action for row in rows[: len(rows) - before] if row.actor == "cli"]


async def test_no_action_is_done_below_its_rank_and_none_changes_anything(world: World) -> None:
    before = await world.store.read(reports.audit_log)
    done = []
    for name, declared in ACTIONS.items():
        below = [world.ids[MEMBER], "nobody"]
        if declared.least.name == "MACHINE":
            below += [world.ids["telegram:0"], f"key:{world.ids['key']}"]
        done += [f"{name} by {by}" for by in below if not await is_refused(world, name, by)]
    assert [] == done
    assert before == await world.store.read(reports.audit_log)


async def is_refused(world: World, name: str, by: str) -> bool:
    try:
        await ANYHOW[name](world, by)
    except NotAllowed:
        return True
    return False
