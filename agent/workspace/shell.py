"""The tool that runs a shell command in the person's folder, in a sandbox if the machine has one."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from agent.child_process import ProgramEnded
from agent.foreign_code import ForeignThreads
from agent.ports import Principal
from agent.tools.base import Effect, Tool, ToolContext, ToolError
from agent.workspace.config import CONFINED, UNCONFINED, WorkspaceConfig
from agent.workspace.folder import Folders
from agent.workspace.sandbox import INSIDE, CommandLimits, Sandbox, TooLarge, run_unconfined
from agent.workspace.shell_parse import MAX_COMMAND_CHARS
from agent.workspace.shell_rules import Judged, deny_rules, judge

SHOWN_CHARS = 30_000
"""Maximum length of a command's output for the model; the middle of a longer one is left out."""

_GRACE_S = 5.0


class ShellCommand(BaseModel):
    """Arguments of `shell`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str = Field(min_length=1, max_length=MAX_COMMAND_CHARS, description="Command for bash.")


class UnconfinedCommand(ShellCommand):
    """Arguments of `shell_without_sandbox`: a command that its person is shown whole."""

    command: str = Field(min_length=1, max_length=300, description="Short command for bash.")
    warning: SkipJsonSchema[str | None] = Field(default=None, max_length=1000)
    """Reason why it asks, in the person's language; filled in before the person is asked."""


class Shell:
    """The shell of one tenant."""

    def __init__(self, folders: Folders, config: WorkspaceConfig) -> None:
        self._folders = folders
        self._config = config
        self._rules = deny_rules(config.deny)
        self._make = ForeignThreads(self._make_folder)

    def reconfigure(self, config: WorkspaceConfig) -> None:
        self._rules = deny_rules(config.deny)

    def judge(self, command: str) -> Judged:
        """Return the decision about a command under the groups in force."""
        return judge(command, self._rules)

    def confined_tool(self, sandbox: Sandbox, skills: Callable[[], Mapping[str, Path]] = dict) -> Tool:
        """Return the tool whose commands run in this sandbox; they can read the folders of these skills."""

        async def run(context: ToolContext, given: ShellCommand) -> object:
            writable = not self.judge(given.command).only_reads
            folder = await self._make.call(context)
            return await self._result(sandbox.run(_bash(given), folder, writable=writable, skills=skills()))

        def permission(_context: ToolContext, given: ShellCommand) -> str:
            return "allow" if self.judge(given.command).only_reads else "ask"

        def only_reads(given: ShellCommand) -> bool:
            return self.judge(given.command).only_reads

        return self._tool(
            name=CONFINED,
            description=f"Run a bash command in the person's folder ({INSIDE}), in a sandbox without network.",
            arguments=ShellCommand,
            run=run,
            validate=self._refuse_denied,
            read_only=only_reads,
            concurrency_safe=only_reads,
            permission=permission,
        )

    def unconfined_tool(self, may_use: Callable[[Principal], bool], warn: Callable[[str | None], str]) -> Tool:
        """Return the tool whose commands run without a sandbox; the person is asked each time.

        `may_use` says who has the gateway's own rights on this machine; `warn` returns the reason for the person, in
        their language.
        """

        def check(context: ToolContext, given: UnconfinedCommand) -> None:
            if not may_use(context.principal):
                raise ToolError(
                    "This machine has no sandbox, so only an owner of the installation may run commands. Tell the "
                    "person, and use the other tools."
                )
            self._refuse_denied(context, given)

        limits = CommandLimits(self._config.memory_mb, self._config.processes)

        async def run(context: ToolContext, given: UnconfinedCommand) -> object:
            folder = await self._make.call(context)
            return await self._result(run_unconfined(_bash(given), folder, limits))

        def fill_in(context: ToolContext, given: UnconfinedCommand) -> UnconfinedCommand:
            return given.model_copy(update={"warning": warn(context.principal.locale)})

        return self._tool(
            name=UNCONFINED,
            description="Run a bash command in the person's folder. The person is asked each time.",
            arguments=UnconfinedCommand,
            run=run,
            read_only=False,
            destructive=True,
            validate=check,
            permission=lambda _context, _given: "ask",
            backfill=fill_in,
        )

    def _tool(self, **flags: Any) -> Tool:
        return Tool(
            effect=Effect.UNSAFE,
            cancellable=True,
            says="workspace.shell",
            timeout_s=self._config.time_s + _GRACE_S,
            max_result_chars=SHOWN_CHARS,
            **flags,
        )

    def _refuse_denied(self, _context: ToolContext, given: ShellCommand) -> None:
        """Refuse a command of a deny group, whatever rules and modes allow."""
        if "\0" in given.command:
            raise ToolError("A command cannot contain a null character.")
        judged = self.judge(given.command)
        if judged.denied:
            raise ToolError(
                f"Denied: {judged.part!r} is in the group {judged.denied!r} of commands that never run here. "
                "Do not try it another way."
            )

    def _make_folder(self, context: ToolContext) -> Any:
        with self._folders.open(context.principal):
            return self._folders.path_of(context.principal)

    async def _result(self, running: Any) -> object:
        try:
            async with asyncio.timeout(self._config.time_s):
                ended: ProgramEnded = await running
        except TimeoutError:
            raise ToolError(f"Stopped: the command ran longer than {self._config.time_s:.3g} s.") from None
        except TooLarge as stopped:
            raise ToolError(f"Stopped: the command used {stopped}.") from None
        except OSError as problem:
            raise ToolError(f"The command could not be started: {problem.strerror}.") from None
        return {"exit_code": ended.code, "output": _shorten(ended.output), "errors": _shorten(ended.errors)}


def _bash(given: ShellCommand) -> Sequence[str]:
    return ["bash", "--noprofile", "--norc", "-c", given.command]


def _shorten(output: bytes) -> str:
    text, most = output.decode(errors="replace"), SHOWN_CHARS // 3
    return text if len(text) <= most else f"{text[: most // 2]}\n… (+{len(text) - most}) …\n{text[-most // 2 :]}"
