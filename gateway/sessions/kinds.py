"""What a row is: a message that starts a turn, a command that answers by itself, or one that cannot wait. Pure."""

import re

from channels.messages import ButtonPressed, CommandInvoked, InboundEvent, InboundMessage, MessageDeleted
from gateway.commands.base import Command
from gateway.commands.table import CommandTable
from gateway.store.inbox import InboxRow

CHAT = "chat"

HELP = "/help"
_NAMED = re.compile(r"/(\w+)(?:\s+(.*))?\Z", re.DOTALL)


class Kinds:
    """Tells rows apart by the command table."""

    def __init__(self, table: CommandTable) -> None:
        self._table = table

    def kind_of(self, row: InboxRow) -> str | None:
        """The kind of turn a row starts; None where it is a command that answers by itself."""
        if isinstance(row.event, ButtonPressed | MessageDeleted):
            return None
        said = _said(row, self._table.talk)
        if not said.startswith("/"):
            return CHAT
        command = self._command(said)
        return None if command is None else command.turn

    def is_urgent(self, row: InboxRow) -> bool:
        """Whether it passes the backlog by."""
        said = _said(row, self._table.talk)
        command = self._command(said) if said.startswith("/") else None
        return command is not None and command.urgent

    def _command(self, said: str) -> Command | None:
        parsed = self._table.parse(said)
        return None if parsed is None else parsed[0]


def words_of(event: InboundEvent, talk: str) -> str:
    """What was said, as if typed: what follows /`talk` stands for itself; alone or with "help" it asks for help.

    Nothing where the words are forwarded: they are somebody else's (A32), no command, no wish and no correction.
    """
    match event:
        case InboundMessage(forwarded=True):
            return ""
        case InboundMessage(text=text):
            said = text
        case CommandInvoked(name=name, arguments=arguments):
            said = f"/{name} {arguments}".rstrip()
        case _:
            return ""
    named = _NAMED.match(said.strip())
    if named is None or named[1].lower() != talk:
        return said
    words = (named[2] or "").strip()
    return HELP if words.lower() in {"", "help"} else words


def _said(row: InboxRow, talk: str) -> str:
    """The words that decide; an edit is never a command."""
    event = row.event
    return "" if isinstance(event, InboundMessage) and event.edited else words_of(event, talk)
