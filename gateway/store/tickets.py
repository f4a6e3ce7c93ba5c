"""Tickets as rows: what a person or an operator asks for and a code, a word or time ends.

`gateway.access.tickets` has the policy of each kind. No table holds a code: it is derived from the ticket's id with a
key outside the database, or the row has its keyed hash.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa

from channels.messages import Address
from gateway.store.rows import Rows
from gateway.store.tables.people import ticket_guesses, tickets


class TicketKind(StrEnum):
    """The request of a ticket."""

    PAIRING = "pairing"  # a stranger wants to be let into one account
    INVITE = "invite"  # the first who brings its code is let in
    FOUNDING = "founding"  # an invitation to be the first owner
    LINK = "link"  # a person wants two of their users to be one
    OAUTH = "oauth"  # a person wants to connect a provider
    CONSOLE = "console"  # an operator wants to open the console
    CONSOLE_SESSION = "console_session"  # an operator has opened it in a browser


class TicketState(StrEnum):
    """The states of a ticket."""

    PENDING = "pending"
    GIVEN = "given"  # of a link: the person who gave its code is asked whether that is them
    AGREED = "agreed"  # of a link: they said so; now the person who offered it is asked
    APPROVED = "approved"  # let in, used, linked, connected
    DENIED = "denied"
    EXPIRED = "expired"
    DISPLACED = "displaced"  # it gave way to another one
    REVOKED = "revoked"
    UNDONE = "undone"  # of a link: it was approved before


WAITING = (TicketState.PENDING, TicketState.GIVEN, TicketState.AGREED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """One ticket; which fields are set depends on its kind."""

    id: str
    tenant: str
    kind: TicketKind
    state: TicketState = TicketState.PENDING
    created_at: datetime
    created_by: str = ""  # of an invitation: user id or "cli"
    expires_at: datetime  # the first moment it no longer holds
    ended_at: datetime | None = None
    ended_by: str | None = None  # user id, "cli", canonical sender or "time"
    code_mac: str | None = None  # hex; of codes that are looked up by their keyed hash
    user_id: str = ""  # who offers a link, connects a provider, or (also "cli", "key:ID") uses the console
    sender: str = ""  # canonical, of the person who asks: telegram:42
    channel: str = ""
    account: str = ""
    chat: str = ""  # where they asked
    thread: str | None = None
    display_name: str = ""
    locale: str | None = None
    told_at: datetime | None = None  # when they were told the code last
    again: bool = False  # an earlier request of theirs gave way or ran out
    kept: str | None = None  # what a stranger said last, an inbound event as JSON; only while it is pending
    role: str = ""  # that an invitation gives; of a link: that the user who joins had before
    other_id: str | None = None  # the user who joins by a link
    other_sender: str | None = None
    other_place: Address | None = None
    provider: str = ""
    sealed: str | None = None  # state and verifier of OAuth; until it is used or another one is issued

    @property
    def place(self) -> Address:
        """Return the chat in which they asked."""
        return Address(self.channel, self.account, self.chat, self.thread)


@dataclass(frozen=True, slots=True)
class Guess:
    """One wrong code."""

    tenant: str
    kind: TicketKind  # PAIRING: by somebody who approves; INVITE: by somebody who brings a code
    who: str  # user id, "cli" or canonical sender
    at: datetime


TICKETS = Rows(tickets, Ticket)
GUESSES = Rows(ticket_guesses, Guess)


def expire(connection: sa.Connection, now: datetime, latest_birth: datetime) -> int:
    """End what ran out, or was born after `latest_birth`; return how many. No clock that is set back revives it."""
    late = sa.or_(tickets.c.expires_at <= now, tickets.c.created_at > latest_birth)
    over = {"state": TicketState.EXPIRED, "ended_at": now, "ended_by": "time", "kept": None}
    return TICKETS.patch(connection, over, late, state=WAITING)


def end_consoles(connection: sa.Connection, by: str, now: datetime) -> int:
    """Revoke every link to the console and every session of it; return the number of sessions."""
    ended = {"state": TicketState.REVOKED, "ended_at": now, "ended_by": by}
    TICKETS.patch(connection, ended, kind=TicketKind.CONSOLE, state=TicketState.PENDING)
    return TICKETS.patch(connection, ended, kind=TicketKind.CONSOLE_SESSION, state=TicketState.PENDING)


def forget(connection: sa.Connection, kind: TicketKind, states: Sequence[TicketState], before: datetime) -> None:
    """Delete the tickets of a kind that ended in these states before then, and guesses as old."""
    TICKETS.delete(connection, tickets.c.ended_at < before, kind=kind, state=states)
    GUESSES.delete(connection, ticket_guesses.c.at < before, kind=kind)


def links_of(connection: sa.Connection, user_id: str, states: Sequence[TicketState]) -> list[Ticket]:
    """Return the links of a user in these states, on either side, oldest first."""
    mine = sa.or_(tickets.c.user_id == user_id, tickets.c.other_id == user_id)
    return TICKETS.find(connection, mine, kind=TicketKind.LINK, state=states, order=tickets.c.created_at)


_account = tickets.c.channel, tickets.c.account
_is_pending_request = sa.and_(
    tickets.c.kind == sa.literal_column(f"'{TicketKind.PAIRING}'"),
    tickets.c.state == sa.literal_column(f"'{TicketState.PENDING}'"),
)
PENDING_COUNTS = sa.select(*_account, sa.func.count()).where(_is_pending_request).group_by(*_account)


def pending_counts(connection: sa.Connection) -> dict[str, int]:
    """Return how many strangers wait, by `telegram:main`. A system query."""
    return {f"{channel}:{account}": count for channel, account, count in connection.execute(PENDING_COUNTS)}
