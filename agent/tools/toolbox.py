"""The tools of an agent by name, and what a model is told of one there is not. Running them is the pipeline's work."""

import difflib
from collections.abc import Sequence

from agent.tools.base import Tool


class ToolBox:
    """The tools that are enabled, by name; an alias stands for its tool unless a tool has that name."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        enabled = sorted((tool for tool in tools if tool.is_enabled()), key=lambda tool: tool.name)
        self._by_name = {alias: tool for tool in enabled for alias in tool.aliases} | {
            tool.name: tool for tool in enabled
        }
        self.specs = tuple(tool.spec for tool in enabled)

    def find(self, name: str) -> Tool | None:
        """The tool of exactly this name or alias."""
        return self._by_name.get(name)

    def missing(self, name: str) -> str:
        """What to tell a model that asked for a tool there is not."""
        known = [spec.name for spec in self.specs]
        near = difflib.get_close_matches(name.lower()[:100], known, n=1, cutoff=0.6)
        hint = f" Did you mean {near[0]}?" if near else f" Known tools: {', '.join(known)[:500]}."
        return f"There is no tool named {name[:100]!r}.{hint}"
