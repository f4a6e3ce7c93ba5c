"""The commands of an agent: its own and those that every agent has, and what runs them."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from pydantic import JsonValue

from agent.language import DEFAULT
from channels.clocks import steady_now
from channels.slack.manifest import AppDescription
from gateway.access.buttons import SealedButtons
from gateway.access.inviting import InviteOperations
from gateway.access.operations import AccessOperations
from gateway.access.policy import AccessSnapshot
from gateway.commands.connect import Connecting, connect_command, model_command
from gateway.commands.conversations import conversation_commands, conversation_decisions
from gateway.commands.decisions import (
    ANSWERS,
    SAY,
    Decision,
    consent_decisions,
    permissions_command,
    question_of_another,
    reply_decisions,
)
from gateway.commands.groups import GroupDeps, group_command
from gateway.commands.linking import LinkDeps, link_commands
from gateway.commands.people import PeopleServices, name_command, people_commands
from gateway.commands.session import session_commands
from gateway.commands.table import CommandTable, with_own
from gateway.commands.usage import Left, no_cap, usage_command
from gateway.product import AgentProduct
from gateway.sessions.command_runner import CommandDeps, CommandRunner
from gateway.sessions.deps import SessionDeps
from gateway.shared import Shared
from gateway.store import approvals, journal
from gateway.store.engine import Store, engine_for

ON_SLACK = frozenset({"btw", "link", "mode", "new", "retry", "sessions", "stop"})
"""Of the commands that every agent has the ones worth a name of their own among a workspace's apps."""


def command_table(
    product: AgentProduct, store: Store, services: PeopleServices, connecting: Connecting, left: Left = no_cap
) -> CommandTable:
    """Return the product's commands and those that every agent has; its own win over one of the same name."""
    texts, seals = product.catalogue, services.linking.seals
    every = (
        *session_commands(texts),
        *conversation_commands(store, seals, texts),
        permissions_command(store, texts),
        usage_command(store, texts, left),
        connect_command(store, connecting, texts),
        model_command(connecting, texts),
        *people_commands(services),
        *link_commands(services.linking, services.access.unlink),
        group_command(services.groups),
        name_command(),
    )
    return CommandTable(with_own(product.commands(store), every), product.name, texts)


def make_commands(
    product: AgentProduct,
    store: Store,
    table: CommandTable,
    sessions: SessionDeps,
    decisions: Mapping[str, Decision],
    shared: Shared,
) -> CommandRunner:
    """Make what runs the commands of one tenant; `decisions` are its buttons beside those of every conversation."""
    texts, buttons = product.catalogue, SealedButtons(shared.secrets.keys.buttons)
    every = {
        **reply_decisions(texts),
        **consent_decisions(texts),
        **conversation_decisions(store, buttons, texts),
        **decisions,
    }
    deps = CommandDeps(
        store=store,
        bus=shared.bus,
        table=table,
        delivery=shared.delivery,
        channels=shared.channels,
        people=shared.people,
        decisions=every,
        turn_limit=sessions.turn_limit,
        clock=shared.clocks.now,
        texts=texts,
        parking=sessions.turns.parking,
        user_items=sessions.turns.user_items,
        of_another=question_of_another(_people_asked(store), texts),
        buttons=buttons,
        dates=shared.clocks.dates,
    )
    return CommandRunner(deps, shared.sessions.tasks)


def _people_asked(store: Store) -> Mapping[str, Callable[[str], Awaitable[str | None]]]:
    """Return who was asked a question, by the word that its buttons carry."""

    async def by_approval(id_: str) -> str | None:
        asked = await store.read(partial(approvals.by_id, id_=id_), lasting=True)
        return None if asked is None else asked.user_id

    async def by_turn(id_: str) -> str | None:
        return await store.read(partial(journal.person_of, turn_id=id_), lasting=True)

    return {SAY: by_turn} | dict.fromkeys(ANSWERS, by_approval)


def list_commands(product: AgentProduct) -> CommandTable:
    """Return the commands of a product for menus and manifests; none of them can be run."""
    store, key = Store(engine_for("sqlite:///never-opened.db")), bytes(32)
    services = PeopleServices(
        access=AccessOperations(store, key, lambda *_: None, steady_now),
        invites=InviteOperations(store, key, steady_now),
        links=NoLinks(),
        linking=LinkDeps(store, key, SealedButtons(key), steady_now, lambda *_: None, lambda *_: None),
        groups=GroupDeps(store, AccessSnapshot(), steady_now),
    )
    return command_table(product, store, services, Connecting())


class NoLinks:
    """Links of a gateway that does not run."""

    async def ways(self, code: str, tenant: str) -> list[JsonValue]:
        return []

    async def console_link(self, by: str) -> tuple[str, str]:
        return "", ""


def describe_slack_app(product: AgentProduct) -> AppDescription:
    """Return what people on Slack see of an agent: the command that talks first, its own, and those of every agent."""
    own = {command.name for command in product.commands(Store(engine_for("sqlite:///never-opened.db")))}
    menu = list_commands(product).menus()[DEFAULT]
    shown = [spec for spec in menu if spec.talks or spec.name in own or spec.name in ON_SLACK]
    return AppDescription(product.title, product.catalogue.text(DEFAULT, product.description), shown)
