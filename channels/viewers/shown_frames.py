"""Parts of the frames that the chat page and the terminal are both shown; pure."""

from collections.abc import Sequence

from pydantic import JsonValue

from channels.base import CommandSpec
from channels.messages import Button
from channels.viewers.viewer_hub import Frame


def to_button_list(buttons: Sequence[Button]) -> list[JsonValue]:
    """Return the buttons of a message for its frame."""
    return [{"label": button.label, "data": button.data, "style": button.style.value} for button in buttons]


def commands_frame(menu: Sequence[CommandSpec]) -> Frame:
    """Return the frame of the available commands."""
    return {"type": "commands", "commands": [[spec.name, spec.summary] for spec in menu if not spec.talks]}
