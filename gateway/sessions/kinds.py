"""What a row is: a message that starts a turn, a command that answers by itself, or one that cannot wait. Pure."""

from channels.messages import ButtonPressed, CommandInvoked, InboundMessage, MessageDeleted
from gateway.commands.base import Command
from gateway.commands.table import CommandTable
from gateway.store.inbox import InboxRow

CHAT = "chat"

TALK = "coach"
"""The native command whose text is a message like any other."""


class Kinds:
    """Tells rows apart by the command table."""

    def __init__(self, table: CommandTable) -> None:
        self._table = table

    def kind_of(self, row: InboxRow) -> str | None:
        """The kind of turn a row starts; None where it is a command that answers by itself."""
        if isinstance(row.event, ButtonPressed | MessageDeleted):
            return None
        said = _said(row)
        if not said.startswith("/"):
            return CHAT
        command = self._command(said)
        return None if command is None else command.turn

    def is_urgent(self, row: InboxRow) -> bool:
        """Whether it passes the backlog by."""
        said = _said(row)
        command = self._command(said) if said.startswith("/") else None
        return command is not None and command.urgent

    def _command(self, said: str) -> Command | None:
        parsed = self._table.parse(said)
        return None if parsed is None else parsed[0]


def _said(row: InboxRow) -> str:
    event = row.event
    if isinstance(event, CommandInvoked):
        return event.arguments if event.name == TALK else f"/{event.name} {event.arguments}"
    return event.text if isinstance(event, InboundMessage) and not event.edited else ""
