"""The capabilities of one tenant's agent, made from its settings."""

import asyncio
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from agent.context.sections import Section, join_sections
from agent.delegation.delegation_config import DELEGATION_TOOLS
from agent.delegation.teams_config import BOARD_TOOLS
from agent.ports import NoteCost, Principal
from agent.tools.base import Tool
from agent.workspace.config import TOOL_NAMES
from channels.chat.probing import Finding
from gateway.capabilities.base import Capability, CapabilityDeps
from gateway.capabilities.mcp import make_mcp
from gateway.capabilities.trust import SHOWN_DIGEST_CHARS, TrustState, TrustSubject
from gateway.commands.base import Command, Handle
from gateway.config.settings import Settings
from gateway.errors import SettingsError
from gateway.sessions.deps import RunTurn
from gateway.supervision import Run
from gateway.threads import run_in_thread

Make = Callable[[Settings, CapabilityDeps], Capability | None]
"""Function that makes a capability if the tenant's settings have its table; it raises SettingsError if it cannot."""


def make_workspace(settings: Settings, deps: CapabilityDeps) -> Capability | None:
    """Make the workspace.

    Raises:
        SettingsError: it cannot be made.
    """
    if settings.workspace is None:
        return None
    if sys.platform == "win32":
        raise SettingsError("workspace: it needs Linux or another system with descriptors of directories")
    try:
        from gateway.capabilities import workspace  # noqa: PLC0415  with a parser that only it needs
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("tree_sitter"):
            raise
        needs = f"workspace: it needs {error.name}: pip install 'tenk-gateway[workspace]'"
        raise SettingsError(needs) from None
    return workspace.make_workspace(settings.workspace, settings, deps)


def make_web(settings: Settings, deps: CapabilityDeps) -> Capability | None:
    """Make the tools of the web.

    Raises:
        SettingsError: it cannot be made.
    """
    if settings.web is None:
        return None
    from gateway.capabilities import web  # noqa: PLC0415  which only an agent with them needs

    return web.make_web(settings.web, deps)


def make_programs(settings: Settings, _deps: CapabilityDeps) -> Capability | None:
    """Make the programs with secrets."""
    if not settings.cli:
        return None
    from gateway.capabilities.programs import Programs  # noqa: PLC0415  nothing of it loads without its table

    return Programs(settings.cli)


def make_skills(settings: Settings, deps: CapabilityDeps) -> Capability | None:
    """Make the skills.

    Raises:
        SettingsError: a plug-in does not exist.
    """
    if settings.skills is None or not settings.skills.enabled:
        return None
    from gateway.capabilities import skills  # noqa: PLC0415  with PyYAML

    return skills.make_skills(settings, settings.skills, deps)


def make_memory(settings: Settings, deps: CapabilityDeps) -> Capability | None:
    """Make the memory."""
    if settings.memory is None or not settings.memory.enabled:
        return None
    from gateway.capabilities import memory  # noqa: PLC0415  with PyYAML

    return memory.make_memory(settings, settings.memory, deps)


def make_consolidation(settings: Settings, deps: CapabilityDeps) -> Capability | None:
    """Make the consolidation of conversations."""
    memory = settings.memory
    if memory is None or not memory.enabled or memory.consolidation is None:
        return None
    from gateway.capabilities.consolidation import ConsolidationCapability  # noqa: PLC0415  nothing of it loads without its table

    return ConsolidationCapability(memory.consolidation, deps, settings.agent.name, settings.model.name)


def make_schedules(settings: Settings, deps: CapabilityDeps) -> Capability | None:
    """Make the schedules."""
    if settings.schedules is None or not settings.schedules.enabled:
        return None
    from gateway.capabilities import schedules  # noqa: PLC0415  nothing of it loads without its table

    return schedules.make_schedules(settings, settings.schedules, deps)


def make_notes(settings: Settings, _deps: CapabilityDeps) -> Capability | None:
    """Make the tools `think` and `todo`."""
    if settings.tools is None:
        return None
    from gateway.capabilities.notes import NotesCapability  # noqa: PLC0415  nothing of it loads without its table

    return NotesCapability(settings.tools)


def make_delegation(settings: Settings, deps: CapabilityDeps) -> Capability | None:
    """Make the tools that give tasks to agents."""
    if settings.delegation is None or not settings.delegation.enabled:
        return None
    from gateway.capabilities.delegation import Delegation  # noqa: PLC0415  nothing of it loads without its table

    return Delegation(settings.delegation, settings, deps)


def make_teams(settings: Settings, deps: CapabilityDeps) -> Capability | None:
    """Make the board of tasks."""
    if settings.teams is None or not settings.teams.enabled:
        return None
    from gateway.capabilities.teams import Teams  # noqa: PLC0415  nothing of it loads without its table

    has_workers = settings.delegation is not None and settings.delegation.enabled
    return Teams(settings.teams, deps.store, deps.clocks.now, has_workers=has_workers)


MAKERS: tuple[Make, ...] = (
    make_consolidation,
    make_delegation,
    make_mcp,
    make_memory,
    make_notes,
    make_programs,
    make_schedules,
    make_skills,
    make_teams,
    make_web,
    make_workspace,
)
"""One function for each capability. What it needs is imported inside, so that nothing loads without its table."""


def tool_names(settings: Settings) -> tuple[str, ...]:
    """Return the names of tools that these settings may add, so that rules may name them."""
    names = [f"cli__{name}" for name in settings.cli]
    for is_on, added in (
        (settings.tools is not None, ["think", "todo"]),
        (settings.memory is not None, ["memory", "memory_expand", "memory_search"]),
        (settings.schedules is not None, ["schedule"]),
        (settings.web is not None, ["web_fetch", "web_search", "social_search"]),
        (settings.skills is not None, ["skill", "skill_search"]),
        (settings.delegation is not None, DELEGATION_TOOLS),
        (settings.teams is not None, BOARD_TOOLS),
        (settings.workspace is not None, TOOL_NAMES),
    ):
        names += added if is_on else ()
    return tuple(names)


SUBJECTS_S = 30.0
"""Seconds between two looks at what needs trust, for operators and owners."""

MAX_NAME_CHARS = 100
"""Longest name of a part that does not work: the end of a path. The key of an alert has room for it."""


class Capabilities:
    """All capabilities of one tenant's agent."""

    def __init__(self, settings: Settings, deps: CapabilityDeps, makers: Sequence[Make] = MAKERS) -> None:
        """Make those that the settings have.

        Raises:
            SettingsError: one of them cannot be made.
        """
        deps = replace(deps, find_tool=self._find_tool)
        self._all = [made for make in makers if (made := make(settings, deps)) is not None]
        self._trusting = [each for each in self._all if each.needs_trust]
        self._trust = deps.trust
        self._untrusted: tuple[str, ...] | None = None if self._trusting else ()  # None: not looked yet

    def tools(self) -> tuple[Tool, ...]:
        return tuple(tool for each in self._all for tool in each.tools())

    def _find_tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools() if tool.name == name), None)

    def commands(self) -> tuple[Command, ...]:
        return tuple(command for each in self._all for command in each.commands())

    def turns(self) -> Mapping[str, RunTurn]:
        """Return the kinds of turns that their commands start."""
        return {kind: run for each in self._all for kind, run in each.turns().items()}

    def buttons(self) -> Mapping[str, Handle]:
        """Return the handlers of all buttons by word."""
        return {word: handle for each in self._all for word, handle in each.buttons().items()}

    async def recall(self, principal: Principal, words: str, seen: str, note_cost: NoteCost) -> str:
        """Return the data of all beside a message of this person."""
        found = [await each.recall(principal, words, seen, note_cost) for each in self._all]
        return "\n".join(filter(None, found))

    async def read_memory(self, principal: Principal) -> str:
        """Return what all remember of this person."""
        return "\n\n".join(filter(None, [await each.read_memory(principal) for each in self._all]))

    def sections(self, principal: Principal) -> Mapping[Section, str]:
        """Return the sections of all for this person's prompt."""
        return join_sections(*(each.sections(principal) for each in self._all))

    def sections_with(self, has_tool: Callable[[str], bool], principal: Principal) -> Mapping[Section, str]:
        """Return the sections of those that add no tools, or one that an agent has."""
        used = [each for each in self._all if not (tools := each.tools()) or any(has_tool(tool.name) for tool in tools)]
        return join_sections(*(each.sections(principal) for each in used))

    def troubles(self) -> dict[str, str]:
        """Return, for each part, the reason why it does not work now; "" if it works."""
        return {name[-MAX_NAME_CHARS:]: why for each in self._all for name, why in each.troubles().items()}

    def list_untrusted(self) -> Sequence[str] | None:
        """Return what waits until an operator trusts it, as it was at the last look; None before the first."""
        return self._untrusted

    def states(self) -> dict[str, str]:
        """Return the state of each part that has one."""
        return {name: state for each in self._all for name, state in each.states().items()}

    def subjects(self) -> list[TrustSubject]:
        """Return what runs only if an operator trusts it; reads files."""
        return [subject for each in self._trusting for subject in each.subjects()]

    def state_of(self, subject: TrustSubject) -> TrustState:
        """Return the standing of a subject."""
        return self._trust.state_of(subject)

    async def check(self) -> list[Finding]:
        """Return what `tenk doctor` reports about all, which may ask servers."""
        return [finding for each in self._all for finding in await each.check()]

    async def check_trust(self) -> list[Finding]:
        """Return a finding for each thing that runs only if an operator trusts it."""
        return [self._finding(subject) for subject in await run_in_thread(self.subjects)]

    def _finding(self, subject: TrustSubject) -> Finding:
        if why := self._why_not(subject):
            seen = f"{shlex.quote(subject.key)} --digest {subject.digest[:SHOWN_DIGEST_CHARS]}"
            return Finding(subject.key, why, f"look at it, then: tenk trust add {seen}")
        return Finding(subject.key, f"trusted: {subject.runs}")

    def _why_not(self, subject: TrustSubject) -> str:
        """Return the reason why a subject does not run; "" if it is trusted."""
        match self.state_of(subject):
            case TrustState.TRUSTED:
                return ""
            case TrustState.CHANGED:
                return f"it has changed since it was trusted and does not run: {subject.runs}"
            case TrustState.WAITING:
                return f"it is not trusted and does not run: {subject.runs}"

    def reconfigure(self, settings: Settings) -> None:
        """Apply the tenant's settings of a reload."""
        for each in self._all:
            each.reconfigure(settings)

    async def forget(self, user_id: str) -> None:
        """Delete what all keep of a person outside of the database."""
        for each in self._all:
            await each.forget(user_id)

    @property
    def needs_trust(self) -> bool:
        """Return True if one of them runs things that operators have to trust."""
        return bool(self._trusting)

    def __bool__(self) -> bool:
        return bool(self._all)

    def work(self, changed: Callable[[], None]) -> list[Run]:
        """Return the background work of all, each to be run and restarted apart from the others."""
        follow = [partial(self._follow_trust, changed)] if self.needs_trust else []
        return [*follow, *(partial(each.run, changed) for each in self._all)]

    async def _follow_trust(self, changed: Callable[[], None]) -> None:
        """Note what is not trusted, and call `changed` when operators trust a thing or no longer do."""
        trust, seen = self._trust.whole, self._trust.whole.changes
        while True:
            found = await run_in_thread(self.subjects)
            self._untrusted = tuple(subject.key for subject in found if self._why_not(subject))
            if trust.changes == seen:
                with suppress(TimeoutError):
                    async with asyncio.timeout(SUBJECTS_S):
                        await trust.until_changed()
            if trust.changes != seen:
                seen = trust.changes
                changed()

    async def aclose(self) -> None:
        for each in self._all:
            await each.aclose()
