"""The parts that answer one tenant's people: agent, model input and sessions."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

from agent.context.sections import AddSections, add_nothing
from agent.definition import Agent
from agent.hooks.chain import HookChain
from agent.permission_rules import PermissionRule, Source
from agent.permissions.chain import PermissionChain
from agent.permissions.judge import Judge
from agent.ports import ChatModel
from agent.tools.base import Tool
from agent.tools.guards import ChainPermissions, Permissions, name_rules
from channels.clocks import Clock
from channels.messages import InboundEvent, InboundMessage, Quoted
from gateway.access.buttons import SealedButtons
from gateway.access.policy import AccessSnapshot
from gateway.config.settings import Settings
from gateway.delivery.live_answer import LiveDeps
from gateway.ops.instrumentation import MeasuredTurns
from gateway.product import AgentProduct
from gateway.safety.guard import InputGuard
from gateway.sessions.deps import TURNS, AgentInForce, ProcessDeps, RunTurn, SessionDeps, Shown
from gateway.sessions.inbox_rules import RowClassifier
from gateway.sessions.pictures import PictureFetcher
from gateway.sessions.presses import SuggestedReplies
from gateway.sessions.prompt_hooks import HeardItems
from gateway.sessions.questions import Questions
from gateway.sessions.signs import StatusReactions
from gateway.sessions.user_items import UserItemBuilder
from gateway.sessions.voice import VoiceMessages
from gateway.shared import Shared
from gateway.store import earlier, groups
from gateway.store.engine import Store
from gateway.store.outbox import put_file


def make_agent(
    settings: Settings,
    product: AgentProduct,
    tools: tuple[Tool, ...],
    model: ChatModel,
    permissions: Permissions,
    hooks: HookChain,
    dates: Clock,
    sections: AddSections = add_nothing,
) -> Agent:
    """Make the agent that runs turns."""
    return Agent(
        model=model,
        prompt=product.prompt,
        sections=sections,
        texts=product.catalogue,
        tools=tools,
        limits=settings.agent,
        clock=dates,
        tell=product.tell,
        permissions=permissions,
        hooks=hooks,
    )


def make_permissions(
    settings: Settings, product: AgentProduct, judge: ChatModel, flags: Sequence[PermissionRule] = ()
) -> ChainPermissions:
    """Make the operator's and the product's permissions for tool calls; mode auto asks `judge`."""
    config, limits = settings.permissions, settings.agent
    by_names = name_rules(limits.allow_tools, limits.deny_tools)
    rules = (*config.all_rules(), *flags, *by_names, *product.permissions.rules(Source.PROJECT))
    return ChainPermissions(
        chain=PermissionChain(rules=rules, mode=config.mode, confirm=config.confirm, domains=config.domains),
        can_use_tool=product.can_use_tool,
        judge=Judge(judge, config.auto),
    )


def make_user_items(
    settings: Settings,
    talk: str,
    store: Store,
    in_force: AgentInForce,
    people: AccessSnapshot,
    clock: Clock,
    voices: VoiceMessages | None = None,
) -> UserItemBuilder:
    """Make the builder of model input from messages; `talk` is the command that carries a message."""
    kept = StoredContext(store, people, clock)
    is_foreign = ":" in settings.agent.product
    sees = (lambda: settings.agent.sees_images) if is_foreign else in_force.sees_images
    pictures = PictureFetcher(settings.pictures, sees, kept.keep_file)
    return UserItemBuilder(InputGuard(settings.guard), talk, kept.find_quoted, kept.read_talk, pictures, voices)


class StoredContext:
    """Context of a message in one tenant's store."""

    def __init__(self, store: Store, people: AccessSnapshot, clock: Clock) -> None:
        self._store = store
        self._people = people
        self._clock = clock

    async def find_quoted(self, reply: InboundMessage) -> Quoted | None:
        return await self._store.read(partial(earlier.replied_to, reply=reply), lasting=True)

    async def read_talk(self, asked: InboundEvent) -> list[InboundMessage]:
        """Return the messages before this one in its group, of people with access, if the account keeps group talk."""
        address = asked.address
        if not self._people.rules_of(asked.tenant).rules_of(address.channel, address.account).group_talk:
            return []
        found = await self._store.read(partial(groups.said_before, asked=asked), lasting=True)
        shown = [said.message for said in found if self._people.principal(said.user_id) is not None]
        most = self._people.context_of(asked.tenant, address)
        return shown[-most:] if most else []

    async def keep_file(self, tenant: str, id_: str, content: bytes, whose: str) -> None:
        job = partial(put_file, tenant=tenant, id_=id_, content=content, now=self._clock(), whose=whose)
        await self._store.commit(job)


def make_sessions(
    settings: Settings,
    product: AgentProduct,
    store: Store,
    kinds: RowClassifier,
    in_force: AgentInForce,
    heard: HeardItems,
    turns: Mapping[str, RunTurn],
    shared: Shared,
) -> SessionDeps:
    """Make the dependencies of one tenant's sessions; `turns` are its additional kinds of turns."""
    router, secrets, clocks, texts = shared.sessions, shared.secrets, shared.clocks, product.catalogue
    voice = settings.voice
    clean, buttons = secrets.scrubber.last_look, SealedButtons(secrets.keys.buttons)
    process = ProcessDeps(
        delivery=shared.delivery,
        channels=shared.channels,
        people=shared.people,
        clocks=clocks,
        scrubber=secrets.scrubber,
        parking=router.parking,
        turn_limit=router.turn_limit,
        ownership=router.ownership,
    )
    now_s = asyncio.get_running_loop().time
    shown = Shown(
        texts=texts,
        live=LiveDeps(store, shared.delivery, settings.delivery, now_s, clean, router.tasks, texts),
        replies=SuggestedReplies(buttons, clean, clocks.now, texts),
        questions=Questions(buttons, texts, timedelta(seconds=settings.permissions.expires_s)),
        signs=StatusReactions(shared.channels, wanted=settings.delivery.reactions != "off"),
        watch=MeasuredTurns([tool.name for tool in in_force.agent.tools]),
        speech_chars=0 if voice is None or voice.speech_url is None else voice.speech_max_chars,
    )
    return SessionDeps(
        process=process,
        store=store,
        config=settings.sessions,
        in_force=in_force,
        turns_of={**TURNS, **turns},
        kinds=kinds,
        user_items=heard,
        shown=shown,
    )
