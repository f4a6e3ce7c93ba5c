"""The tools `think` and `todo` as a capability."""

from collections.abc import Sequence

from agent.tools.base import Tool
from agent.tools.notes import note_tools
from agent.tools.notes_config import NotesConfig
from gateway.capabilities.base import Capability


class NotesCapability(Capability):
    """The tools that the settings switch on."""

    def __init__(self, config: NotesConfig) -> None:
        self._tools = note_tools(config)

    def tools(self) -> Sequence[Tool]:
        return self._tools
