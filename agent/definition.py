"""The parts of an agent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from agent.calendar import utc_now
from agent.catalogue import Catalogue
from agent.config import AgentConfig
from agent.context.sections import AddSections, PromptBuilder, Section, add_nothing, compose, join_sections
from agent.context.sizes import Calibration
from agent.end_texts import TellResult
from agent.permissions.chain import PermissionChain
from agent.ports import ChatModel, Principal, SystemPrompt
from agent.tools.base import Tool
from agent.tools.guards import ChainPermissions, NoHooks, Permissions, TurnHooks, name_rules
from agent.tools.toolbox import ToolBox


@dataclass(frozen=True, kw_only=True)
class Agent:
    """A model, tools, a prompt, texts and limits. One object serves many turns at once."""

    model: ChatModel
    prompt: PromptBuilder
    model_name: str | None = None
    """Name of the model that is asked first; None: the person's choice, or the first of the configuration."""
    texts: Catalogue
    sections: AddSections = add_nothing
    tools: Sequence[Tool] = ()
    limits: AgentConfig = field(default_factory=AgentConfig)
    clock: Callable[[], datetime] = utc_now
    tell: TellResult | None = None
    """Formats tool results for people if the model fails; None: a plain list."""
    hooks: TurnHooks = field(default_factory=NoHooks)
    for_tasks: "Agent | None" = None
    """Agent that works on the tasks that it gives; None: one like itself."""
    is_products: bool = True
    """False: a file describes it, so the product's rules never answer in its model's place."""
    permissions: Permissions | None = None  # None: the name patterns of the limits
    calibration: Calibration = field(default_factory=Calibration)
    """Correction of our token estimates by the provider's counts."""

    def system_prompt(self, principal: Principal, now: datetime, hints: str, memory: str = "") -> SystemPrompt:
        """Return the prompt for this person and time.

        `hints` say how the channel wants text formatted, `memory` what is remembered of the person.
        """
        remembered = {Section.MEMORY: memory}
        return compose(join_sections(self.prompt(principal, now, hints), self.sections(principal), remembered))

    @cached_property
    def toolbox(self) -> ToolBox:
        """Return the tools by name, their schemas built once."""
        return ToolBox(self.tools)

    @cached_property
    def permits(self) -> Permissions:
        """Return the permissions, or those of the limits' name patterns."""
        if self.permissions is not None:
            return self.permissions
        return ChainPermissions(
            chain=PermissionChain(rules=name_rules(self.limits.allow_tools, self.limits.deny_tools))
        )
