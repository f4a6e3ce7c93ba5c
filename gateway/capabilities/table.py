"""The capabilities of one tenant's agent, made from its settings."""

import asyncio
from collections.abc import Callable, Mapping

from agent.context.sections import Section, join_sections
from agent.ports import Principal
from agent.tools.base import Tool
from channels.chat.probing import Finding
from gateway.capabilities.base import Capability, CapabilityDeps
from gateway.commands.base import Command
from gateway.config.settings import Settings

Make = Callable[[Settings, CapabilityDeps], Capability | None]
"""Function that makes a capability if the tenant's settings have its table; it raises SettingsError if it cannot."""

MAKERS: tuple[Make, ...] = ()
"""One function for each capability. What it needs is imported inside, so that nothing loads without its table."""


class Capabilities:
    """All capabilities of one tenant's agent."""

    def __init__(self, settings: Settings, deps: CapabilityDeps) -> None:
        """Make those that the settings have.

        Raises:
            SettingsError: one of them cannot be made.
        """
        self._all = [made for make in MAKERS if (made := make(settings, deps)) is not None]

    def tools(self) -> tuple[Tool, ...]:
        return tuple(tool for each in self._all for tool in each.tools())

    def commands(self) -> tuple[Command, ...]:
        return tuple(command for each in self._all for command in each.commands())

    def sections(self, principal: Principal) -> Mapping[Section, str]:
        """Return the sections of all for this person's prompt."""
        return join_sections(*(each.sections(principal) for each in self._all))

    def troubles(self) -> dict[str, str]:
        """Return the reason for each part that does not work now."""
        return {name: why for each in self._all for name, why in each.troubles().items()}

    async def check(self) -> list[Finding]:
        """Return what `tenk doctor` reports about all."""
        return [finding for each in self._all for finding in await each.check()]

    def reconfigure(self, settings: Settings) -> None:
        """Apply the tenant's settings of a reload."""
        for each in self._all:
            each.reconfigure(settings)

    def __bool__(self) -> bool:
        return bool(self._all)

    async def run(self, changed: Callable[[], None]) -> None:
        """Run the work of all in the background until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for each in self._all:
                tasks.create_task(each.run(changed))

    async def aclose(self) -> None:
        for each in self._all:
            await each.aclose()
