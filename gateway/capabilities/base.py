"""An optional capability of a tenant's agent, such as MCP servers, skills or a workspace."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from agent.context.sections import Section
from agent.ports import ChatModel, NoteCost, Principal
from agent.tools.base import Tool
from channels.chat.probing import Finding
from channels.clocks import Clocks
from gateway.access.buttons import SealedButtons
from gateway.capabilities.trust import TenantTrust, TrustSubject
from gateway.commands.base import Command, Handle
from gateway.config.settings import Settings
from gateway.ownership import Ownership
from gateway.safety.vault import Vault
from gateway.sessions.deps import AgentInForce, RunTurn
from gateway.store.engine import Store


@dataclass(slots=True, eq=False)
class LightModel:
    """A model of the tenant's for small questions, as it is now; a reload replaces it."""

    model: ChatModel | None = None
    """Its callers note the cost of its calls. None: there is none."""


@dataclass(slots=True, eq=False)
class SkillFolders:
    """The folders of a tenant's skills that bring files, by name; the sandbox of the shell shows them."""

    find: Callable[[], Mapping[str, Path]] = dict
    """Set by the skills."""


def _find_nothing(_name: str) -> Tool | None:
    return None


@dataclass(frozen=True, slots=True)
class CapabilityDeps:
    """Objects that capabilities use."""

    store: Store
    """The tenant's part of the store."""
    vault: Vault
    clocks: Clocks
    trust: TenantTrust
    """Asked before anything runs that the operator's own configuration does not name."""
    find_tool: Callable[[str], Tool | None] = _find_nothing
    """Returns the tool of another capability of this agent by its name, as it is at the moment of the call."""
    in_force: Callable[[], AgentInForce | None] = lambda: None
    """Returns the tenant's agents as they are at the moment of the call; None beside a running gateway."""
    light: LightModel = field(default_factory=LightModel)
    """The light model; its calls reserve from the budgets of the turn at work."""
    consolidating: LightModel = field(default_factory=LightModel)
    """The model that consolidates conversations; it has a budget of its own."""
    seals: SealedButtons = field(default_factory=lambda: SealedButtons(os.urandom(32)))
    """For buttons of its commands; the default's hold until the process ends."""
    skill_folders: SkillFolders = field(default_factory=SkillFolders)
    ownership: Ownership = field(default_factory=Ownership)
    """Tells which sessions are this process's."""


class Capability:
    """A capability that adds nothing. Each subclass overrides the methods for what it adds.

    It is made once for each tenant, when its table of the configuration is there at a start.
    """

    needs_trust: ClassVar[bool] = False
    """True if it has `subjects`; without such a capability nothing looks for what operators trust."""

    def tools(self) -> Sequence[Tool]:
        """Return its tools as they are now; they are read anew after `run` has called `changed`, and when operators
        trust a thing or no longer do.
        """
        return ()

    def commands(self) -> Sequence[Command]:
        """Return its commands as they are now; they are read anew with the tools. Those of the agent go before them."""
        return ()

    def buttons(self) -> Mapping[str, Handle]:
        """Return the handlers of its buttons by word."""
        return {}

    def turns(self) -> Mapping[str, RunTurn]:
        """Return the kinds of turns that its commands start."""
        return {}

    def sections(self, principal: Principal) -> Mapping[Section, str]:
        """Return its sections of the prompt for this person."""
        return {}

    async def recall(self, principal: Principal, words: str, seen: str, note_cost: NoteCost) -> str:
        """Return framed data that stands beside a message of this person, chosen by their words; "" for none.

        It is journaled with the turn's start. `seen` is what stands beside earlier messages of the conversation;
        `note_cost` gets each response of a model.
        """
        return ""

    async def read_memory(self, principal: Principal) -> str:
        """Return its part of the prompt's section about what is remembered of this person; read for each turn."""
        return ""

    def troubles(self) -> Mapping[str, str]:
        """Return, for each part of it, the reason why it does not work now; "" if it works.

        Status, alerts and owners show it.
        """
        return {}

    def states(self) -> Mapping[str, str]:
        """Return the state of each part of it that has one, for `tenk status`."""
        return {}

    def subjects(self) -> Sequence[TrustSubject]:
        """Return what it runs only if an operator trusts it; called in a thread, as it reads files.

        `Capabilities` tells operators and owners about those that are not trusted.
        """
        return ()

    async def check(self) -> Sequence[Finding]:
        """Look for what `tenk doctor` should report; no gateway need run."""
        return ()

    def reconfigure(self, settings: Settings) -> None:
        """Apply the tenant's settings of a reload."""

    async def forget(self, user_id: str) -> None:
        """Delete what it keeps of a person outside of the database."""

    async def run(self, changed: Callable[[], None]) -> None:
        """Do its work in the background until cancelled; call `changed` when its tools have changed."""

    async def aclose(self) -> None:
        """Release its resources, when nothing runs any more."""
