"""The gateway's own parts over a real store, between a channel and a model in memory, with kill and restart."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from agent.context.sections import PromptBuilder, Section
from agent.hooks.chain import HookChain
from agent.loop import Agent
from agent.models.health import HealthBoard
from agent.ports import ModelFacts, ModelRequest, OnModelEvent, Principal, TextDelta, Turn, TurnPorts
from agent.tools.base import Tool
from agent.transcript import EndReason, ModelResponded
from channels.clocks import Clocks
from channels.messages import Address, ButtonPressed, ChatKind, InboundEvent, InboundMessage, MessageDeleted, Sender
from gateway.access.buttons import SealedButtons
from gateway.access.codes import AccessKeys
from gateway.access.config import Role
from gateway.access.policy import AccessSnapshot, principal_of
from gateway.answering import make_agent, make_permissions, make_sessions, make_user_items
from gateway.coach.product import COACH
from gateway.coach.tables import PRACTICE_TABLES
from gateway.command_set import command_table, make_commands
from gateway.commands.base import Command, Handle
from gateway.commands.connect import Connecting
from gateway.commands.linking import LinkDeps
from gateway.commands.people import PeopleServices
from gateway.commands.session import RETRY
from gateway.config.settings import AgentSettings, Settings
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.delivery import Delivery
from gateway.delivery.sender import SendTimeContent
from gateway.inbound.session_key import session_key
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from gateway.ops.model_cooldowns import RetryTurns
from gateway.ownership import Ownership
from gateway.product import AgentProduct, load_hooks
from gateway.safety.guard import GuardConfig, InputGuard
from gateway.safety.output import Scrubber
from gateway.safety.vault import Vault
from gateway.sessions.command_runner import CommandRunner
from gateway.sessions.config import SessionsConfig
from gateway.sessions.deps import AgentInForce, SessionDeps
from gateway.sessions.inbox_rules import RowClassifier
from gateway.sessions.prompt_hooks import HeardItems
from gateway.sessions.router import Router
from gateway.sessions.turn_limit import TurnLimit
from gateway.sessions.user_items import UserItemBuilder
from gateway.sessions.waiting_rows import WaitingRows, make_bus
from gateway.shared import Secrets, Shared
from gateway.store import inbox, journal, outbox
from gateway.store.agent_tables import bring_up
from gateway.store.engine import Store
from gateway.store.inbox import InboxRow, NewRow
from gateway.store.outbox import OutboxRow
from gateway.store.people import Person
from gateway.store.tables.traffic import inbox as inbox_table
from gateway.store.writer import take_news
from gateway.supervision import Faults, Supervised
from tests.fakes.chat import FakeChannel, FakeChannels
from tests.fakes.fresh_database import QuickStore, WatchedEngine, copy_fresh
from tests.fakes.practice_reader import add_people
from tests.fakes.strict_transcripts import flaws_in_items

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
AGENT = "coach"
KEY = f"agent:{AGENT}:sim:main:direct:p1"
BUTTON_KEY = bytes(32)
NEVER_S = 1e6
SORRY = "Something broke while I answered this, several times over. The person who runs this bot can see it in the log."
IDLE_TICKS = 40
"""Steps of the event loop without a call of the store, after which the gateway counts as idle."""

T = TypeVar("T")


async def quick_store(path: Path) -> QuickStore:
    """Return a store that is fast because it forgets at power loss: a copy of a fresh one if there is none."""
    if not path.exists():
        await copy_fresh(path)
    return await QuickStore(WatchedEngine(path)).start()


def put_unheard(connection: sa.Connection, *args: Any, **more: Any) -> list[OutboxRow]:
    """Add parts to the outbox as another process does: this one gets no news of it."""
    rows = outbox.put(connection, *args, **more)
    take_news(connection)
    return rows


class GatedModel:
    """A model that answers on demand and keeps every request."""

    name = "test:gated"
    facts = ModelFacts()

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []
        self.asked: asyncio.Future[ModelResponded | Exception] | None = None
        self.on_event: OnModelEvent | None = None
        self.answer_at_once: Callable[[ModelRequest], ModelResponded] | None = None

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Wait for `give`."""
        self.requests.append(request)
        flaws = flaws_in_items(request.items)
        assert not flaws, flaws
        if self.answer_at_once is not None:
            return self.answer_at_once(request)
        self.on_event = on_event
        asked = self.asked = asyncio.get_running_loop().create_future()
        try:
            given = await asked
        finally:
            if self.asked is asked:
                self.asked = None
        if isinstance(given, Exception):
            raise given
        return given

    def stream(self, text: str) -> None:
        """Stream more of the answer."""
        assert self.on_event is not None
        self.on_event(TextDelta(text))

    def finish(self, text: str) -> None:
        """End the stream."""
        self.give(ModelResponded(0, text))

    def give(self, response: ModelResponded | Exception | str) -> None:
        """Respond to the last request."""
        assert self.asked is not None, "the model was not asked"
        if isinstance(response, str):
            self.stream(response)
            response = ModelResponded(0, response)
        asked, self.asked = self.asked, None
        asked.set_result(response)

    async def aclose(self) -> None:
        pass


class FakePeople:
    """The people who may command the bot."""

    def __init__(self) -> None:
        self.known = {user: Principal(user, "default", user.title(), locale="en") for user in ("p1", "p2")}

    def principal(self, user_id: str) -> Principal | None:
        return self.known.get(user_id)

    def may_command(self, user_id: str, account: str) -> bool:
        return user_id in self.known

    def put(self, person: Person) -> None:
        if person.role != Role.BLOCKED:
            self.known[person.user_id] = principal_of(person)


@dataclass
class Spine:
    """Bus, router, sessions, commands and delivery. Call `begin` after construction and after `kill`."""

    store: QuickStore
    channel: FakeChannel = field(default_factory=FakeChannel)
    model: GatedModel = field(default_factory=GatedModel)
    people: FakePeople = field(default_factory=FakePeople)
    sessions: SessionsConfig = field(default_factory=SessionsConfig)
    live: DeliveryConfig = field(default_factory=lambda: DeliveryConfig(typing_after_s=NEVER_S))
    tools: tuple[Tool, ...] = ()
    practice: bool = False  # the coach's commands, weekly plan and changes, over the store
    prompt: PromptBuilder = field(default=lambda *_: {Section.IDENTITY: "be kind"})
    agent: Callable[[Turn, TurnPorts], Awaitable[EndReason]] | None = None
    clean: Callable[[str], str] = str
    reader: UserItemBuilder | None = field(default_factory=lambda: UserItemBuilder(InputGuard(GuardConfig()), AGENT))
    """None: the gateway's own."""
    hooks: tuple[Any, ...] = ()  # HookConfig
    now: datetime = NOON
    clock: Callable[[], datetime] | None = None  # None: `now`, which stands until it is moved
    decisions: Mapping[str, Handle] = field(default_factory=dict)
    vault: Vault = field(default_factory=Vault.fresh)
    buttons: SealedButtons = field(default_factory=lambda: SealedButtons(BUTTON_KEY))
    more_commands: tuple[Command, ...] = ()

    def __post_init__(self) -> None:
        self.channels = FakeChannels(self.channel)
        self.faults = Faults()
        self.breaks = False  # whether something is to break; else whatever does fails the test
        self.rested_s: list[float] = []
        self.rested = asyncio.Event()  # set: what broke is tried again
        self._said = self._epoch = 0
        self._main: asyncio.Task[None] | None = None

    # ------------------------------------------------------------ life

    async def begin(self) -> None:
        """Start everything anew from what the store holds."""
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._main = asyncio.ensure_future(self._live(begun))  # noqa: TID251  kill() ends it
        await asyncio.wait([self._main, begun], return_when=asyncio.FIRST_COMPLETED)

    async def stop(self) -> None:
        """End as told to, with whatever runs still undone."""
        await self.store.commit(journal.let_go, epoch=self._epoch)
        await self.kill()

    async def kill(self) -> None:
        """Drop everything that is in memory; what is queued in the store's writer still commits."""
        assert self._main is not None
        self.check()
        self._main.cancel()
        with suppress(asyncio.CancelledError):
            await self._main

    async def rest(self, seconds: float) -> None:
        self.rested_s.append(seconds)
        await self.rested.wait()

    def check(self) -> None:
        """Fail if the gateway has ended or reported an unexpected error."""
        assert self._main is not None
        assert self.breaks or not self.faults.noted, "something broke; see the log"
        if self._main.done():
            self._main.result()
            raise AssertionError("the gateway ended")

    async def _live(self, begun: asyncio.Future[None]) -> None:
        async with Supervised(self.faults, self.rest) as tasks:
            epoch = self._epoch = await self.store.commit(journal.take_all_shards, owner="test")
            if self.practice:
                await self.store.commit(bring_up, agent=AGENT, tables=PRACTICE_TABLES)
            product, clock = self._product(), self.clock or (lambda: self.now)
            settings = Settings(sessions=self.sessions, delivery=self.live, agent=AgentSettings(), hooks=self.hooks)
            tenants: dict[str, OneTenant] = {}
            secrets = Secrets(
                bytes(32), replace(AccessKeys.fresh(), buttons=BUTTON_KEY), self.vault, _Cleans(self.clean)
            )
            clocks, ownership = Clocks(clock, clock), Ownership(epoch)
            rows = WaitingRows(self.store, self.channels, self.people, tenants)
            self.bus = make_bus(self.sessions.bus_size, rows, ownership)
            self.delivery = Delivery(
                self.store,
                self.channels,
                self.live,
                clock,
                SendTimeContent(lambda _ref, text: text),
                tasks,
                self.vault,
                ownership,
            )
            turn_limit = TurnLimit(self.store, self.sessions.max_turns)
            self.router = Router(self.bus, self.store, self.channels, ownership, tenants, turn_limit, clocks, tasks)
            self.parking = self.router.parking
            shared = Shared(
                self.store, self.channels, self.delivery, self.bus, self.router, self.people, clocks, secrets
            )
            table = command_table(product, self.store, self._services(), Connecting())
            kinds = RowClassifier(table, product.kind_of_words)
            hooks = HookChain(load_hooks(settings.hooks), product.catalogue)
            model = _CurrentModel(self)
            permissions = make_permissions(settings, product, model)
            agent = make_agent(settings, product, self.tools, model, permissions, hooks, clock)
            turns = {RETRY: RetryTurns(HealthBoard()).run, **product.turns(self.store)}
            store, in_force = self.store.of("default"), AgentInForce(agent)
            items = self.reader or make_user_items(settings, product.name, store, in_force, self.people, clock)
            heard = HeardItems(items, hooks)
            sessions = make_sessions(settings, product, store, kinds, in_force, heard, turns, shared)
            self.commands = make_commands(product, store, table, sessions, self.decisions, shared)
            tenants["default"] = OneTenant(sessions, self.commands, kinds)
            await self.delivery.recover()
            await self.router.recover()
            tasks.keep("routing", self.router.run)
            begun.set_result(None)

    def _services(self) -> PeopleServices:
        clock, seals = self.clock or (lambda: self.now), SealedButtons(BUTTON_KEY)
        return PeopleServices(
            operators=Operators(self.store, bytes(32), clock, DetachedProcess()),
            linking=LinkDeps(bytes(32), seals, lambda *_: None, lambda *_: None),
            people=AccessSnapshot(),
        )

    def _product(self) -> AgentProduct:
        if self.practice:
            return replace(COACH, prompt=self.prompt, commands=self._coach_commands)
        return AgentProduct(
            name=AGENT,
            title="Test",
            prompt=self.prompt,
            commands=lambda _store: self.more_commands,
            turns=lambda _store: {} if self.agent is None else {"chat": self._run_other},
        )

    def _coach_commands(self, store: Store) -> tuple[Command, ...]:
        return (*COACH.commands(store), *self.more_commands)

    async def _run_other(self, turn: Turn, ports: TurnPorts, _agent: Agent) -> EndReason:
        assert self.agent is not None
        return await self.agent(turn, ports)

    # ------------------------------------------------------------ what people do

    def message(self, text: str, user: str = "p1", chat: str = "c1", **more: object) -> InboundMessage:
        """Return a message with an id of its own; chats whose name begins with g are groups."""
        self._said += 1
        values: dict[str, object] = {
            "event_id": f"msg:{self._said}",
            "message_id": str(self._said),
            "address": Address(str(more.pop("channel", "sim")), "main", chat),
            "sender": Sender(user, user.title()),
            "received_at": self.now,
            "kind": ChatKind.GROUP if chat.startswith("g") else ChatKind.DIRECT,
            "text": text,
            "mentions_bot": True,
        }
        return InboundMessage(**(values | more))  # type: ignore[arg-type]  by name

    async def say(self, text: str, user: str = "p1", chat: str = "c1", **more: object) -> int:
        """Commit and publish a person's message; return the id of its row."""
        return await self.admit(self.message(text, user, chat, **more), user)

    async def press(self, data: str, user: str = "p1", chat: str = "c1", account: str = "main") -> int:
        """Press a button under a message of the bot."""
        return await self.admit(self.pressed(data, user, chat, account), user)

    def pressed(self, data: str, user: str = "p1", chat: str = "c1", account: str = "main") -> ButtonPressed:
        self._said += 1
        return ButtonPressed(
            event_id=f"press:{self._said}",
            message_id="m1",
            address=Address("sim", account, chat),
            data=data,
            sender=Sender(user, user.title()),
            received_at=self.now,
            kind=ChatKind.GROUP if chat.startswith("g") else ChatKind.DIRECT,
        )

    async def admit(self, event: InboundEvent, user: str = "p1", *, silently: bool = False, agent: str = AGENT) -> int:
        """Commit an event of a known person as intake does; `silently` does not publish it."""
        in_group = ChatKind.GROUP if event.address.chat.startswith("g") else ChatKind.DIRECT
        key = session_key(event, getattr(event, "kind", in_group), agent)

        def job(connection: sa.Connection) -> InboxRow:
            id_ = inbox.admit(connection, NewRow(event, user, key), self.now)
            assert id_ is not None
            return InboxRow(id_, event.tenant, key, user, event, self.now)

        if silently and self._main is not None and not self._main.done():
            await self.quiet()  # the first look at what waits is over: it would find the row
        row = await self.store.commit(job)
        if not silently:
            self.bus.publish(row)
        return row.id

    async def take_back(self, message_id: str, user: str = "p1", chat: str = "c1") -> int:
        """Delete a message of the person."""
        self._said += 1
        return await self.admit(
            MessageDeleted(
                event_id=f"del:{self._said}",
                message_id=message_id,
                address=Address("sim", "main", chat),
                sender=Sender(user, user.title()),
                received_at=self.now,
            ),
            user,
        )

    # ------------------------------------------------------------ what tests look at

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let the gateway work until this holds, five seconds at most."""
        async with asyncio.timeout(30):
            while not condition():
                self.check()
                await self.store.read(lambda _: None)

    async def quiet(self) -> None:
        """Let the gateway work until nothing more happens by itself."""
        engine, idle, begun = self.store.engine, 0, 0
        async with asyncio.timeout(30):
            while idle < IDLE_TICKS:
                self.check()
                await asyncio.sleep(0)
                if engine.under_way:
                    await engine.at_rest.wait()
                still = engine.under_way == 0 and engine.begun == begun
                idle, begun = (idle + 1 if still else 0), engine.begun

    async def asked(self) -> None:
        """Wait until the model is asked."""
        await self.until(lambda: self.model.asked is not None)

    async def outcomes(self) -> dict[int, str | None]:
        query = sa.select(inbox_table.c.id, inbox_table.c.outcome).order_by(inbox_table.c.id)
        return await self.store.read(lambda connection: {row.id: row.outcome for row in connection.execute(query)})

    def later(self, **ahead: float) -> None:
        """Move the clock."""
        self.now += timedelta(**ahead)


@dataclass
class OneTenant:
    """A tenant with the parts that answer its people."""

    sessions: SessionDeps
    commands: CommandRunner
    kinds: RowClassifier


class _Cleans(Scrubber):
    """A filter that removes what the test wants removed from a model's text."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        super().__init__()
        self._clean = clean

    def last_look(self, text: str) -> str:
        return self._clean(text)


class _CurrentModel:
    """The spine's present model: a test may exchange it at any time."""

    name = GatedModel.name

    def __init__(self, spine: Spine) -> None:
        self._spine = spine

    @property
    def facts(self) -> ModelFacts:
        return self._spine.model.facts

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        return await self._spine.model.respond(request, on_event)

    async def aclose(self) -> None:
        pass


@asynccontextmanager
async def practising(directory: Path, **options: Any) -> AsyncIterator[Spine]:
    """Run the spine of a coach whose people have rows in the store; `options` are those of a `Spine`."""
    store = await quick_store(directory / "tenk.db")
    spine = Spine(store, practice=True, **options)
    await store.commit(lambda connection: add_people(connection, *spine.people.known.values()))
    await spine.begin()
    yield spine
    await spine.kill()
    await store.aclose()
