"""The parts of one session share its mailbox, its conversation, its turn and the reactions on its messages."""

from collections.abc import Collection
from dataclasses import dataclass

from channels.base import Sign
from channels.messages import InboundMessage
from gateway.sessions.conversation import Conversation
from gateway.sessions.deps import ChannelDirectory, PeopleDirectory
from gateway.sessions.mailbox import Mailbox
from gateway.sessions.turn import SessionTurn
from gateway.store.inbox import InboxRow
from gateway.store.journal import Fence


class StatusReactions:
    """Shows the people of one session what became of their messages; the look of a sign is its channel's."""

    def __init__(self, channels: ChannelDirectory, *, wanted: bool) -> None:
        """Where reactions are not wanted nothing is shown."""
        self._channels = channels
        self._wanted = wanted
        self._waiting: dict[int, InboxRow] = {}

    def show(self, row: InboxRow, sign: Sign | None) -> None:
        """This sign in place of the one before; None takes it away."""
        if sign is Sign.QUEUED:
            self._waiting[row.id] = row
        else:
            self._waiting.pop(row.id, None)
        if isinstance(row.event, InboundMessage) and self._wanted:
            self._channels.react(row.event.address, row.event.message_id, sign)

    def end_wait(self, ids: Collection[int]) -> None:
        """The wait of these rows is over."""
        for id_ in ids:
            if (row := self._waiting.get(id_)) is not None:
                self.show(row, None)


@dataclass(frozen=True, slots=True)
class SessionContext:
    """One session as its runner and its turns see it."""

    key: str
    fence: Fence
    mailbox: Mailbox
    conversation: Conversation
    reactions: StatusReactions
    people: PeopleDirectory
    turn: SessionTurn

    def may_command(self, user_id: str) -> bool:
        """Whether this person may command the bot at this moment."""
        return self.people.principal(user_id) is not None
