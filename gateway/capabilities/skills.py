"""Skills of one tenant's agent, and instruction files of its workspace folders."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from agent.context.sections import Section
from agent.delegation.agent_types import FORK
from agent.delegation.delegation_config import AGENT
from agent.ports import Principal
from agent.skills.command import run_skill_command
from agent.skills.config import SkillsConfig
from agent.skills.folders import KnownSkills, read_skills
from agent.skills.library import HOW_TO_WRITE, MAX_LISTED, OWN_TITLE, SKILLS_TITLE, Library, list_skills
from agent.skills.skill import SkillSource, WrittenSkill
from agent.skills.tools import SKILL, skill_tools
from agent.skills.workspace import SKILLS_FOLDER, WorkspaceFolder, join_instructions, read_workspace_folder
from agent.tools.base import Tool, ToolContext
from agent.tools.schema import fit
from agent.wellformed import clean, cut_text
from agent.workspace.config import CONFINED, UNCONFINED
from agent.workspace.folder import folder_name
from agent.workspace.sandbox import INSIDE, SHOWN_SKILLS
from channels.base import CommandOption
from channels.chat.probing import Finding
from gateway.capabilities.base import Capability, CapabilityDeps
from gateway.capabilities.trust import TenantTrust, TrustSubject
from gateway.commands.base import Command, Invocation, Reply
from gateway.config.settings import Settings
from gateway.extensions import SKILLS, find_folder, list_offered
from gateway.sessions.deps import RunTurn
from gateway.store.trusted import TrustKind
from gateway.threads import run_in_thread

LOOK_S = 2.0
"""Seconds between two looks at the folders."""

REST_FACTOR = 50
"""Pause after a look, at least, in times of its duration: with thousands of folders the looks take 2 % of the time."""

MAX_PEOPLE = 2_000
"""Folders of people that are looked at."""

FILES = "The files of this skill are in {place}. Only commands of the shell can read them."
MAX_SUMMARY_CHARS = 100
MAX_RULES_CHARS = 300
MAX_ABOUT_CHARS = 200
EVERYBODY = ""
"""Name of the folder that all people of a tenant share."""


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The files of one tenant as they were read."""

    shared: tuple[WrittenSkill, ...] = ()  # of every source but workspaces
    folders: Mapping[str, WorkspaceFolder] = field(default_factory=dict)  # by name of the person's folder, or EVERYBODY
    flaws: Mapping[str, str] = field(
        default_factory=dict
    )  # path of a skill outside of workspaces -> why it is unusable


class SkillFiles:
    """The places of one tenant's skills and instruction files; reading them blocks."""

    def __init__(self, config: SkillsConfig, settings: Settings, tenant: str) -> None:
        """Find all folders.

        Raises:
            SettingsError: a plug-in does not exist.
        """
        self._config = config
        places = {SkillSource.USER: [user_folder(settings)], SkillSource.PLUGIN: [], SkillSource.BUNDLED: []}
        if config.managed is not None:
            places[SkillSource.MANAGED] = [config.managed]
        places[SkillSource.PLUGIN] = [find_folder(SKILLS, name) for name in config.plugins]
        if config.bundled and settings.agent.name in list_offered(SKILLS):
            places[SkillSource.BUNDLED] = [find_folder(SKILLS, settings.agent.name)]
        self._places = places
        self.root: Path | None = None  # of the tenant's workspace folders; None: there are none
        self._per_person = False
        self._known: KnownSkills = {}
        if settings.workspace is not None:
            self.root = settings.workspace.root / folder_name(tenant)
            self._per_person = settings.workspace.folders == "person"

    def read(self) -> FoundFiles:
        """Read everything."""
        known = dict(self._known)
        found = [read_skills(place, source, known) for source, places in self._places.items() for place in places]
        folders = dict(self._read_folders(known))
        self._known = {folder: read for folder, read in known.items() if os.access(folder, os.F_OK)}
        flaws = {path: why for each in found for path, why in each.flaws.items()}
        return FoundFiles(tuple(skill for each in found for skill in each.skills), folders, flaws)

    def _read_folders(self, known: KnownSkills) -> Iterator[tuple[str, WorkspaceFolder]]:
        if self.root is None:
            return
        names = [EVERYBODY]
        if self._per_person:
            with suppress(OSError), os.scandir(self.root) as entries:  # there may be none yet
                names += sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))[:MAX_PEOPLE]
        for name in names:
            try:
                read = read_workspace_folder(self.root / name, self._config.instructions, known)
            except OSError as error:  # its person may have taken away the right to read it
                read = WorkspaceFolder(flaws={str(self.root / name): f"it cannot be read: {error.strerror}"})
            if read != WorkspaceFolder():
                yield name, read

    def path_of(self, folder: str) -> Path:
        """Return the path of a folder in `FoundFiles.folders`."""
        assert self.root is not None, "without workspaces there are no such folders"
        return self.root / folder


def user_folder(settings: Settings) -> Path:
    """Return the folder that `tenk skills add` fills."""
    config = settings.skills or SkillsConfig()
    return config.user or settings.home / "skills"


def subject_name(folder: str, name: str) -> str:
    """Return the name of a workspace's skill or file, as operators trust it."""
    return f"{folder}/{name}" if folder else name


def runs_what(skill: WrittenSkill) -> str:
    """Return one line about a skill for the operator who is to trust it."""
    rules = cut_text(", ".join(skill.head.allowed_tools), MAX_RULES_CHARS)
    about = cut_text(skill.head.description, MAX_ABOUT_CHARS)
    return f"{about}{f' Calls without approval: {rules}' if rules else ''}"


class Skills(Capability):
    """The skills of one tenant."""

    needs_trust = True

    def __init__(
        self,
        files: SkillFiles,
        config: SkillsConfig,
        trust: TenantTrust,
        *,
        has_model: bool = True,
        find_tool: Callable[[str], Tool | None] = lambda _name: None,
    ) -> None:
        """Read the files; `run` follows their changes. `find_tool` returns a tool of another capability."""
        self._files = files
        self._find_tool = find_tool
        self._config = config
        self._trust = trust
        self._has_model = has_model
        self._told: dict[str, str] = {}  # skills that were broken at some time, so that their repair is told
        self._found = files.read()

    # ---------------------------------------------------------------- what a person can use

    def library_of(self, principal: Principal) -> Library:
        """Return the skills that this person can use now."""
        nearest = self._found.folders.get(folder_name(principal.user_id), WorkspaceFolder()).skills
        return Library(
            self._with_files(skill, f"{INSIDE}/{SKILLS_FOLDER}" if skill in nearest else SHOWN_SKILLS)
            for skill in (*self._own_skills(principal), *self._shared)
        )

    def _with_files(self, skill: WrittenSkill, inside: str) -> WrittenSkill:
        """Return the skill with a last line that says where the shell finds its files, if there are any and a shell."""
        place = "" if skill.folder is None else f"{inside}/{skill.name}"
        if place and self._find_tool(CONFINED) is None:  # without a sandbox they are where they are
            place = str(skill.folder) if self._find_tool(UNCONFINED) is not None else ""
        return replace(skill, body=f"{skill.body}\n\n{FILES.format(place=place)}") if place else skill

    def list_folders(self) -> Mapping[str, Path]:
        """Return the folders with files of the skills that are in no person's workspace, by name."""
        every = [skill for folder, skill in self._trusted_skills() if folder == EVERYBODY]
        skills = Library([*every, *self._shared]).skills
        return {skill.name: skill.folder for skill in skills if skill.folder is not None}

    @property
    def _shared(self) -> list[WrittenSkill]:
        """Return the skills of every source but workspaces that are not disabled."""
        return [skill for skill in self._found.shared if skill.name not in self._config.disabled]

    def _folders_of(self, principal: Principal) -> Iterator[tuple[str, WorkspaceFolder]]:
        """Yield the folders whose files count for a person, the nearest first."""
        for name in (folder_name(principal.user_id), EVERYBODY):
            if (folder := self._found.folders.get(name)) is not None:
                yield name, folder

    def _own_skills(self, principal: Principal) -> list[WrittenSkill]:
        """Return the trusted skills of this person's workspace, the nearest first."""
        return [
            skill
            for name, folder in self._folders_of(principal)
            for skill in folder.skills
            if self._is_trusted(name, skill) and skill.name not in self._config.disabled
        ]

    def _is_trusted(self, folder: str, skill: WrittenSkill) -> bool:
        return self._trust.is_trusted(TrustKind.SKILL, subject_name(folder, skill.name), skill.digest)

    def sections(self, principal: Principal) -> Mapping[Section, str]:
        shared = Library(self._shared).offered
        own = Library(self._own_skills(principal)).offered
        room = max(0, MAX_LISTED - len(shared))
        parts = (list_skills(OWN_TITLE, own, room), self._unusable(principal), self._instructions(principal))
        told = (list_skills(SKILLS_TITLE, shared), HOW_TO_WRITE if self._files.root is not None else "")
        return {
            Section.SKILLS: "\n\n".join(filter(None, told)),
            Section.PROJECT: "\n\n".join(filter(None, parts)),
        }

    def _unusable(self, principal: Principal) -> str:
        """Return the note about the person's skills that do not work yet."""
        waiting = [
            f"{skill.name} waits until the operator trusts it"
            for name, folder in self._folders_of(principal)
            for skill in folder.skills
            if not self._is_trusted(name, skill)
        ]
        broken = [
            clean(f"{Path(path).name[:40]} is broken: {cut_text(why, MAX_SUMMARY_CHARS)}")
            for name, folder in self._folders_of(principal)
            if name != EVERYBODY  # others may have written those files: nothing of them is shown
            for path, why in folder.flaws.items()
        ]
        return "" if not waiting + broken else f"Not usable now: {'; '.join([*waiting, *broken][:MAX_LISTED])}."

    def _instructions(self, principal: Principal) -> str:
        files = [
            (subject_name("" if not name else "your folder", file.name), file.text)
            for name, folder in reversed(list(self._folders_of(principal)))
            for file in folder.instructions
            if self._trust.is_trusted(TrustKind.INSTRUCTIONS, subject_name(name, file.name), file.digest)
        ]
        return join_instructions(files)

    # ---------------------------------------------------------------- what the agent has

    def tools(self) -> Sequence[Tool]:
        in_folders = [skill for _, skill in self._trusted_skills()]
        every = [*self._shared, *in_folders]
        if not every:
            return ()
        return skill_tools(self.library_of, searchable=len(every) > MAX_LISTED, run_in_fork=self.run_in_fork)

    async def run_in_fork(self, context: ToolContext, skill: WrittenSkill, text: str) -> object | None:
        """Give the skill to a fork of the conversation; return None if the agent can give no tasks."""
        agent = self._find_tool(AGENT)
        if agent is None:
            return None
        given = {"description": skill.name, "prompt": text, "subagent_type": FORK, "model": skill.head.model}
        return await agent.run(context, fit(given, agent.arguments))

    def commands(self) -> Sequence[Command]:
        """Return a command for each skill that people may start; those of one person's folder are in no menu.

        If another person types such a command, the skill is unknown to the turn. Without a model there are no commands:
        rules do not read procedures.
        """
        if not self._has_model:
            return ()
        made: dict[str, Command] = {}
        shared = ((EVERYBODY, skill) for skill in Library(self._shared).skills)
        for folder, skill in (*shared, *self._trusted_skills()):
            if skill.head.user_invocable and skill.head.enabled:
                summary = cut_text(skill.head.summary or skill.head.description, MAX_SUMMARY_CHARS)
                options = (CommandOption("arguments", "menu.skill.arguments"),)
                hidden = skill.head.hidden or folder != EVERYBODY
                command = Command(skill.command, summary, _start, turn=SKILL, options=options, hidden=hidden)
                made.setdefault(skill.command, command)
        return tuple(made.values())

    def turns(self) -> Mapping[str, RunTurn]:
        return {SKILL: partial(run_skill_command, library_of=self.library_of, run_in_fork=self.run_in_fork)}

    def _trusted_skills(self) -> Iterator[tuple[str, WrittenSkill]]:
        """Yield the trusted skills of all workspace folders."""
        for name, folder in self._found.folders.items():
            for skill in folder.skills:
                if self._is_trusted(name, skill) and skill.name not in self._config.disabled:
                    yield name, skill

    # ---------------------------------------------------------------- what operators see

    def states(self) -> Mapping[str, str]:
        return {"skills": f"ready: {self._list_names()}"} if self._has_model else {}

    def troubles(self) -> Mapping[str, str]:
        broken = {f"skill {Path(path).name}": why for path, why in self._found.flaws.items()}
        self._told.update(broken)
        return dict.fromkeys(self._told, "") | broken

    def subjects(self) -> Sequence[TrustSubject]:
        found: list[TrustSubject] = []
        for name, folder in self._files.read().folders.items():
            for skill in folder.skills:
                key = subject_name(name, skill.name)
                found.append(TrustSubject(TrustKind.SKILL, key, skill.digest, runs_what(skill)))
            for file in folder.instructions:
                path = self._files.path_of(name) / file.name
                key = subject_name(name, file.name)
                found.append(TrustSubject(TrustKind.INSTRUCTIONS, key, file.digest, f"the prompt gets {path}"))
        return found

    async def check(self) -> Sequence[Finding]:
        found = self._found
        flaws = dict(found.flaws)
        for folder in found.folders.values():
            flaws |= folder.flaws
        wrong = [Finding(f"skill {path}", why, "correct it, or remove it") for path, why in flaws.items()]
        if not self._has_model:
            return [Finding("skills", "no model is configured that could follow them", "set model.name"), *wrong]
        return [Finding("skills", self._list_names()), *wrong]

    def _list_names(self) -> str:
        names = ", ".join(skill.name for skill in Library(self._shared).skills)
        return f"{names or 'none'}; in workspaces {len(list(self._trusted_skills()))} trusted"

    async def run(self, changed: Callable[[], None]) -> None:
        """Read the folders again and again, and after each change of trust."""
        now_s, took_s = asyncio.get_running_loop().time, 0.0
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(LOOK_S, REST_FACTOR * took_s)):
                    await self._trust.until_changed()
            began_s = now_s()
            found = await run_in_thread(self._files.read)
            took_s = now_s() - began_s
            if found != self._found:
                self._found = found
                changed()


async def _start(_asked: Invocation) -> Reply:
    raise RuntimeError("a skill's command starts a turn")


def make_skills(settings: Settings, config: SkillsConfig, deps: CapabilityDeps) -> Skills:
    """Make the skills of a tenant.

    Raises:
        SettingsError: a plug-in does not exist.
    """
    files = SkillFiles(config, settings, deps.trust.tenant)
    has_model = settings.model.name != "offline"
    made = Skills(files, config, deps.trust, has_model=has_model, find_tool=deps.find_tool)
    deps.skill_folders.find = made.list_folders
    return made
