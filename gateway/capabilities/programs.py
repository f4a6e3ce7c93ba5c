"""Programs with secrets as tools: `[cli.NAME]`."""

from collections.abc import Mapping, Sequence

from agent.programs.config import ProgramConfig
from agent.programs.program import Program
from agent.tools.base import Tool
from channels.chat.probing import Finding
from gateway.capabilities.base import Capability


class Programs(Capability):
    """The programs of a tenant."""

    def __init__(self, configs: Mapping[str, ProgramConfig]) -> None:
        self._programs = {name: Program(name, config) for name, config in configs.items()}
        self._configs = configs

    def tools(self) -> Sequence[Tool]:
        return [program.tool() for program in self._programs.values()]

    def troubles(self) -> Mapping[str, str]:
        return {f"cli:{name}": program.why_missing() for name, program in self._programs.items()}

    async def check(self) -> Sequence[Finding]:
        return [self._finding(name, program) for name, program in self._programs.items()]

    def _finding(self, name: str, program: Program) -> Finding:
        config, key = self._configs[name], ("cli", name, "binary")
        if why := program.why_missing():
            return Finding(f"cli:{name}", why, "install it, or correct the setting", key)
        if config.folder is not None and not config.folder.is_dir():
            return Finding(f"cli:{name}", f"there is no directory {config.folder}", "make it", ("cli", name, "folder"))
        gets = f"; it gets {', '.join(config.secrets)}" if config.secrets else ""
        return Finding(f"cli:{name}", f"{program.place()} may run: {', '.join(config.subcommands)}{gets}")
