"""Approval messages to owners about requests, replaced by the decision once it is made.

Synchronous work in the writer's transaction.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent.catalogue import escape
from channels.base import Channel, HasButtons
from channels.messages import Address, Button, ButtonStyle
from gateway.access import words
from gateway.access.buttons import SealedButtons, short_id
from gateway.access.codes import AccessKeys
from gateway.access.config import Role
from gateway.access.policy import GROUP_NOT_LISTED
from gateway.command_line import PLAIN, CommandLine
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.operators.shown_people import lookalikes
from gateway.store import chats, groups, outbox, people
from gateway.store.causes import Cause, Notice, ReplyTo
from gateway.store.engine import Connection
from gateway.store.outbox import Action
from gateway.store.people import Person
from gateway.store.tickets import TICKETS, Ticket, TicketKind, TicketState
from gateway.texts import HARNESS

DECISIONS = (
    ("access.button_approve", "approve", ButtonStyle.PRIMARY),
    ("access.button_deny", "deny", ButtonStyle.SECONDARY),
    ("access.button_block", "block", ButtonStyle.DANGER),
)
"""Buttons under a request: label key, verb, style; `gateway.commands.decisions` handles them."""

ChannelOf = Callable[[Address], Channel | None]
"""Lookup of an address's channel, if it is loaded."""


@dataclass(frozen=True, slots=True)
class OwnerCards:
    """Approval messages of one commit."""

    connection: Connection
    channel_of: ChannelOf
    now: datetime

    def ask(
        self,
        asked: Ticket,
        keys: AccessKeys,
        put: Callable[[str, OutboundMessage], None],
        tenk: CommandLine = PLAIN,
        *,
        named: bool = False,
    ) -> None:
        """Send each owner the request with buttons of their own; `named`: again, under the name the stranger gave."""
        known = people.holding(self.connection, asked.tenant, Role.OWNER, Role.OPERATOR)
        names, seal = lookalikes(known), SealedButtons(keys.buttons).seal
        for owner, where in self._places(asked.tenant, asked.channel, asked.account):
            account, id_ = f"{where.channel}:{where.account}", short_id(asked.id)
            buttons = tuple(
                Button(
                    HARNESS.text(owner.locale, label), seal(verb, id_, owner.user_id, account, asked.expires_at), style
                )
                for label, verb, style in DECISIONS
            )
            text = words.asked_text(asked, names, owner.locale, tenk)
            cause = _cause(asked, owner, named=named)
            put(asked.tenant, OutboundMessage(where, cause, text, buttons=buttons, locale=owner.locale))

    def warn_of_crowd(
        self, tenant: str, account: str, put: Callable[[str, OutboundMessage], None], tenk: CommandLine
    ) -> None:
        """Tell owners, at most once an hour, that many strangers write."""
        place = hashlib.blake2s(account.encode(), digest_size=4).hexdigest()
        channel, _, name = account.partition(":")
        for owner, where in self._places(tenant, channel, name):
            cause = Notice("crowd", f"{place}:{self.now:%Y%m%d%H}:{owner.user_id[-8:]}")
            text = words.crowd_text(account, owner.locale, tenk)
            put(tenant, OutboundMessage(where, cause, text, locale=owner.locale))

    def show_verdict(self, asked: Ticket, verdict: str, by: str) -> None:
        """Replace every message about this request by the decision.

        `verdict` is the end of the text's key: approved, denied or blocked.
        """
        owners = people.holding(self.connection, asked.tenant, Role.OWNER, Role.OPERATOR)
        names, by_cause = lookalikes(owners), dict[Cause, Person]()
        for owner in owners:
            by_cause |= {_cause(asked, owner, named=named): owner for named in (False, True)}
        decider = people.person_of(self.connection, by)
        for cause, where in outbox.said_for(self.connection, by_cause):
            owner, channel = by_cause[cause], self.channel_of(where)
            if channel is None:
                continue
            who = words.decider_text(decider, owner, names)
            text = words.verdict_text(asked, verdict, who, names, owner.locale)
            (part, *_) = to_parts(channel, OutboundMessage(where, cause, text, locale=owner.locale))
            outbox.put(self.connection, asked.tenant, [replace(part, revision=1, action=Action.EDIT)], self.now)

    def show_allowed(self, group_id: str, by: str) -> None:
        """Replace every message that asked to allow a group by the name of who allowed it."""
        group, decider = groups.GROUPS.get(self.connection, id=group_id), people.person_of(self.connection, by)
        if group is None or not group.allowed or decider is None:
            return
        since = self.now - groups.KEPT_FOR
        asked = [ReplyTo(id_) for id_ in groups.refused_in(self.connection, group, GROUP_NOT_LISTED, since)]
        for cause, where in outbox.said_for(self.connection, asked):
            if (channel := self.channel_of(where)) is not None:
                text = HARNESS.text(decider.locale, "groups.verdict", who=escape(decider.display_name))
                (part, *_) = to_parts(channel, OutboundMessage(where, cause, text, locale=decider.locale))
                outbox.put(self.connection, group.tenant, [replace(part, revision=1, action=Action.EDIT)], self.now)

    def _places(self, tenant: str, channel: str, account: str) -> Sequence[tuple[Person, Address]]:
        """Return each owner with the chat to ask them in: at the request's account if possible, else the latest one."""
        found = []
        for owner in people.holding(self.connection, tenant, Role.OWNER):
            let_in = TICKETS.find(
                self.connection,
                kind=TicketKind.PAIRING,
                tenant=tenant,
                sender=owner.identities,
                state=TicketState.APPROVED,
                order=TICKETS.c.created_at,
            )
            known = [Address(request.channel, request.account, request.chat) for request in reversed(let_in)]
            heard = chats.own_chats(self.connection, tenant, owner.user_id)
            here = [where for where in (*known, *heard) if (where.channel, where.account) == (channel, account)]
            usable = (where for where in (*here, *heard, *known) if isinstance(self.channel_of(where), HasButtons))
            place = next(usable, None)
            found += [(owner, place)] if place is not None else []
        return found


def _cause(asked: Ticket, owner: Person, *, named: bool) -> Notice:
    return Notice("asked", f"{asked.id}:{owner.user_id[-8:]}{':n' if named else ''}")
