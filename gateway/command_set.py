"""The commands of an agent: its own, those of every agent, and their runner."""

from collections.abc import Mapping

from agent.catalogue import DEFAULT
from channels.clocks import steady_now
from channels.messages import DEFAULT_TENANT
from channels.slack.manifest import AppDescription
from gateway.access.buttons import SealedButtons
from gateway.access.policy import AccessSnapshot
from gateway.commands.base import Handle
from gateway.commands.connect import Connecting, connect_command, model_command
from gateway.commands.conversations import CONVERSATION_BUTTONS, conversation_commands
from gateway.commands.decisions import CONSENT_BUTTONS, DECLINE, RUN_COMMAND, SAY, decline
from gateway.commands.groups import group_command
from gateway.commands.linking import LinkDeps, link_commands
from gateway.commands.people import NAME, PeopleServices, people_commands
from gateway.commands.permissions import PERMISSIONS
from gateway.commands.personal_data import personal_commands
from gateway.commands.session import SESSION_COMMANDS
from gateway.commands.table import CommandTable, with_own
from gateway.commands.usage import Left, no_cap, usage_command
from gateway.config.settings import Settings
from gateway.errors import SettingsError
from gateway.extensions import FLAWS, first_words
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from gateway.product import AgentProduct, load_product
from gateway.sessions.command_runner import CommandDeps, CommandRunner
from gateway.sessions.deps import SessionDeps
from gateway.sessions.presses import SuggestionButtons
from gateway.shared import Shared
from gateway.store.engine import Store, engine_for

ON_SLACK = frozenset({"btw", "link", "mode", "new", "retry", "sessions", "stop"})
"""Common commands with a name of their own among the apps of a Slack workspace."""


def command_table(
    product: AgentProduct,
    store: Store,
    services: PeopleServices,
    connecting: Connecting,
    left: Left = no_cap,
) -> CommandTable:
    """Return the product's commands, and those that every agent has; a product's own replaces one of its name."""
    every = (
        *SESSION_COMMANDS,
        *conversation_commands(services.linking.seals),
        PERMISSIONS,
        usage_command(left),
        connect_command(store, connecting),
        model_command(connecting),
        *people_commands(services),
        *link_commands(services.linking, services.operators),
        group_command(services.people, services.operators),
        NAME,
        *personal_commands(product.tables),
    )
    return CommandTable(with_own(product.commands(store), every), product.name, product.catalogue)


def make_commands(
    product: AgentProduct,
    store: Store,
    table: CommandTable,
    sessions: SessionDeps,
    buttons: Mapping[str, Handle],
    shared: Shared,
) -> CommandRunner:
    """Make the command runner of one tenant; `buttons` are its own beside those of every agent."""
    suggestions = SuggestionButtons(table)
    deps = CommandDeps(
        process=sessions.process,
        store=store,
        bus=shared.bus,
        table=table,
        buttons=SealedButtons(shared.secrets.keys.buttons),
        handles={
            SAY: suggestions.say,
            RUN_COMMAND: suggestions.run,
            DECLINE: decline,
            **CONSENT_BUTTONS,
            **CONVERSATION_BUTTONS,
            **buttons,
        },
        texts=product.catalogue,
        user_items=sessions.user_items,
    )
    return CommandRunner(deps, shared.sessions.tasks)


def list_commands(product: AgentProduct) -> CommandTable:
    """Return the commands of a product for menus and manifests; none of them can be run."""
    store, key = Store(engine_for("sqlite:///never-opened.db")), bytes(32)
    services = PeopleServices(
        operators=Operators(store, key, steady_now, DetachedProcess()),
        linking=LinkDeps(key, SealedButtons(key), lambda *_: None, lambda *_: None),
        people=AccessSnapshot(),
    )
    return command_table(product, store, services, Connecting())


def check_commands(settings: Settings) -> None:
    """Check that the commands of each tenant's agent have names of their own.

    Raises:
        SettingsError: two commands have one name, or the agent's cannot be made.
    """
    for name in (DEFAULT_TENANT, *settings.tenants):
        product = load_product(settings.of_tenant(name).agent.product)
        try:
            list_commands(product)
        except FLAWS as flaw:
            raise SettingsError(f"the commands of the agent {product.name!r}: {first_words(flaw)}") from None


def describe_slack_app(product: AgentProduct) -> AppDescription:
    """Return what people on Slack see of an agent: the command that talks first, its own, and those of every agent."""
    own = {command.name for command in product.commands(Store(engine_for("sqlite:///never-opened.db")))}
    menu = list_commands(product).menus()[DEFAULT]
    shown = [spec for spec in menu if spec.talks or spec.name in own or spec.name in ON_SLACK]
    return AppDescription(product.title, product.catalogue.text(DEFAULT, product.description), shown)
