"""One use of a command, as its handler sees the session in which it was given."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent.ports import Principal
from agent.transcript import EndReason
from channels.messages import InboundMessage
from gateway.commands.base import Cleared
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.sessions.deps import PeopleDirectory
from gateway.sessions.inbox_rules import words_of
from gateway.sessions.presses import delete_said
from gateway.sessions.session import Session
from gateway.sessions.user_items import read_text_file
from gateway.store import approvals, inbox
from gateway.store.engine import Connection
from gateway.store.inbox import InboxRow
from gateway.store.journal import SessionState


@dataclass(frozen=True, slots=True)
class CommandSession:
    """The `SessionControl` of one command."""

    session: Session
    state: SessionState
    row: InboxRow
    principal: Principal
    channels: ChannelDirectory
    people: PeopleDirectory
    talk: str  # the command whose text is a message

    @property
    def running(self) -> bool:
        """Whether a turn runs now."""
        return self.session.running

    @property
    def key(self) -> str:
        """The key by which the tenant's sessions are told apart."""
        return self.session.key

    def cancel(self, user_id: str | None) -> bool:
        """End the turn that answers an earlier message of a person (None: of anybody); False: there is none."""
        return self.session.cancel(EndReason.STOPPED, self.row.id, user_id)

    def clear(self, connection: Connection, why: str, user_id: str | None, now: datetime) -> Cleared:
        """Record that the earlier messages of a person (None: of anybody) are answered no more."""
        rows = inbox.clear_session(connection, self.key, self.row.id, now, why, user_id)
        running = inbox.clear_claimed(connection, self.key, self.row.id, now, why, user_id) > 0
        unparked = approvals.withdraw_session(connection, self.row.tenant, self.key, now, user_id)
        texts = [words_of(row.event, self.talk) for row in rows]
        return Cleared([row.id for row in rows], texts, running, unparked)

    async def answer_aside(self, question: str) -> str:
        """Answer a question beside the turn; "" if it is refused."""
        return await self.session.answer_aside(self.row, self.principal, question)

    async def read_files(self) -> Sequence[str]:
        """Return the text file that came with the command, if one did."""
        event = self.row.event
        files = event.attachments[:1] if isinstance(event, InboundMessage) else ()
        channel = await self.channels.when_loaded(event.address)
        return [text for file in files if (text := await read_text_file(channel, file))]

    async def delete_message(self) -> bool | None:
        """Delete the message that gave the command. False: the platform does not allow it; None: it is no message."""
        return await delete_said(await self.channels.when_loaded(self.row.event.address), self.row.event)

    def mark(self, tenant: str, sender: str) -> str:
        """Return the keyed hash of a sender."""
        return self.people.mark(tenant, sender)
