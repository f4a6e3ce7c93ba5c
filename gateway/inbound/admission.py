"""Admission: the rows and replies of one event, written in the commit that takes it in.

Synchronous work in the writer's transaction: inbox rows, immediate replies, pairing, parked lanes and moved chats.
`gateway.inbound.intake` announces the result after the commit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from agent.calendar import is_zone
from channels.base import Channel, HasButtons
from channels.messages import (
    Address,
    Button,
    ButtonPressed,
    ButtonStyle,
    ChatKind,
    ChatMigrated,
    CommandInvoked,
    InboundEvent,
    InboundMessage,
    Membership,
    MembershipChanged,
    MessageDeleted,
    Rejected,
)
from gateway.access import invites, tickets, words
from gateway.access.buttons import SealedButtons, short_id
from gateway.access.limits import Bound, Over
from gateway.access.pasted import hide_secrets
from gateway.access.policy import GROUP_NOT_LISTED, Admit, AskGroup, Decision, Enrol, Pair
from gateway.delivery.lane import ParkedLanes
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.inbound.reception import ReceptionDeps, ReceptionResult, StrangerReception, is_talk, open_row
from gateway.inbound.session_key import group_key
from gateway.inbound.typed_answers import TypedAnswer, may_answer
from gateway.store import chats, earlier, groups, inbox, outbox, people
from gateway.store.causes import Notice, ReplyTo
from gateway.store.engine import Connection
from gateway.store.inbox import InboxRow, NewRow, Outcome
from gateway.store.people import Person
from gateway.texts import HARNESS


@dataclass(frozen=True, slots=True)
class Plan:
    """Decision about one event, made before the commit."""

    event: InboundEvent
    decision: Decision
    agent: str  # that it is for
    over: Over | None = None  # the limit that the person reached
    waiting: int = 0  # number of their messages that wait already
    flood: bool = False  # many strangers write just now
    counted: str | None = None  # key of the limit that was charged
    reads_talk: bool = True  # the group's context is stored


@dataclass(slots=True, kw_only=True)
class CommitResult(ReceptionResult):
    """Result of a commit, announced after it."""

    channel: str
    parked: list[str] = field(default_factory=list)
    unparked: list[str] = field(default_factory=list)
    moved: list[tuple[Address, str]] = field(default_factory=list)  # old address and new chat id
    noted: list[Address] = field(default_factory=list)  # chats that were recorded
    duplicates: int = 0
    refused: list[dict[str, object]] = field(default_factory=list)  # for the log: row, sender, reason


class Admission:
    """Admission of the events of one commit; made anew for each, so that a repeated job starts fresh."""

    def __init__(
        self,
        connection: Connection,
        channel: Channel,
        deps: ReceptionDeps,
        parked: ParkedLanes,
        noted: Mapping[Address, datetime],
        now: datetime,
        *,
        keeps_talk: bool = True,
    ) -> None:
        """Take the lanes of unreachable people (`parked`) and the chats recorded lately (`noted`).

        With `keeps_talk` false, messages between people of a group are not stored.
        """
        self._connection = connection
        self._channel = channel
        self._deps = deps
        self._parked = parked
        self._noted = noted
        self._now = now
        self._keeps_talk = keeps_talk
        self.done = CommitResult(channel=channel.name)
        self._reception = StrangerReception(connection, channel, deps, self._put, now, self.done)

    def admit(self, plan: Plan) -> None:
        """Write one event; an event that is stored already changes nothing."""
        code = invites.code_in(plan.event, self._deps.talk)
        if code is not None and self._hides(plan, code):
            plan = replace(plan, event=invites.without_code(plan.event, self._deps.talk))
        if isinstance(plan.decision, Admit) and plan.over is None and may_answer(plan.event):
            plan = replace(plan, event=self._as_press(plan.event, plan.decision.person, plan.agent))
        row = self._row(plan)
        id_ = inbox.admit(self._connection, row, self._now)
        if id_ is None:
            self.done.duplicates += 1
        else:
            self._go_on(plan, code, row, id_)

    def _as_press(self, event: InboundEvent, person: Person, agent: str) -> InboundEvent:
        """Return the press that a typed answer to an open question stands for, or the event unchanged."""
        key = open_row(event, person, agent).session_key
        seals = SealedButtons(self._deps.keys.buttons)
        if key is None or not isinstance(event, InboundMessage):
            return event
        return TypedAnswer(event, key, person.user_id, seals, self._now).to_press(self._connection)

    def _go_on(self, plan: Plan, code: str | None, row: NewRow, id_: int) -> None:
        """Write everything that belongs to a new row."""
        self._note_refused(row, id_)
        self._note_reachable(plan.event)
        self._change_kept(plan.event)
        if row.user_id is not None:
            self._note_chat(plan.event, row.user_id, row.session_key)
        if isinstance(plan.decision, Pair):
            before = len(self.done.people)
            self._reception.receive(plan.event, id_, code, flood=plan.flood)
            for person in self.done.people[before:]:
                self._note_chat(plan.event, person.user_id, None)
        elif row.outcome is None and row.user_id is not None and row.session_key is not None:
            self.done.admitted.append(
                InboxRow(id_, plan.event.tenant, row.session_key, row.user_id, plan.event, self._now)
            )
        elif row.outcome is Outcome.REFUSED:
            self._answer_refused(plan, id_)

    def _note_refused(self, row: NewRow, id_: int) -> None:
        """Record a refusal for the log, except for talk between people of a group."""
        event = row.event
        whose = {"user_id": row.user_id} if row.user_id else {"sender": event.sender_key}
        if row.outcome is Outcome.REFUSED and not is_talk(event):
            account = f"{event.address.channel}:{event.address.account}"
            self.done.refused.append({"inbox_id": id_, "account": account, **whose, "why": row.detail})

    def _answer_refused(self, plan: Plan, id_: int) -> None:
        """Answer a refused event if its sender expects an answer; apply a stranger's edit or deletion."""
        if plan.over is not None:
            if plan.over.tell:
                self._reply(plan.event, id_, _over_text(plan))
        elif isinstance(plan.decision, AskGroup):
            self._offer_group(plan.event, plan.decision.person, id_)
        elif inbox.route_of(plan.event) is not None:
            self._reply(plan.event, id_, words.not_here_text(getattr(plan.event, "locale", None)))
        else:
            self._reception.change_kept(plan.event)

    def _offer_group(self, event: InboundEvent, person: Person, id_: int) -> None:
        """Ask the operator who wants the bot in this group to allow it, by a button that only they can press, or words.

        Their message is stored and answered once it is allowed.
        """
        group = groups.find(self._connection, event.tenant, event.address)
        account, locale = f"{event.address.channel}:{event.address.account}", person.locale
        seal = SealedButtons(self._deps.keys.buttons).seal
        data = seal("group_allow", short_id(group.id), person.user_id, account, self._now + groups.KEPT_FOR)
        button = Button(HARNESS.text(locale, "groups.button"), data, ButtonStyle.PRIMARY)
        text = HARNESS.text(locale, "groups.not_yet")
        if not isinstance(self._channel, HasButtons):
            text += f" {HARNESS.text(locale, 'groups.not_yet_typed')}"
        self._reply(event, id_, text, (button,))
        if (said := _to_keep_for_all(event)) is not None:
            groups.keep(self._connection, group.id, said, person.user_id, self._now)

    def _change_kept(self, event: InboundEvent) -> None:
        """Apply an edit or deletion to the message stored for a group that is not allowed yet."""
        if not (isinstance(event, MessageDeleted) or (isinstance(event, InboundMessage) and event.edited)):
            return
        found = groups.kept_in(self._connection, event.tenant, event.address)
        if found is not None and tickets.is_about(found[1], event.message_id):
            said = _to_keep_for_all(event) if isinstance(event, InboundMessage) else None
            groups.keep(self._connection, found[0], said, found[2], self._now)

    def quarantine(self, rejected: Sequence[Rejected], tenant: str) -> None:
        """Store updates that could not be parsed."""
        for rejection in rejected:
            kept = hide_secrets(rejection)
            inbox.quarantine(self._connection, tenant, self._channel.name, self._channel.account, kept, self._now)

    def move_cursor(self, cursor: str, tenant: str, number: int) -> None:
        """Record the resume point of this connection of the account."""
        name, account = self._channel.name, self._channel.account
        chats.move_cursor(self._connection, tenant, name, account, cursor, self._now, number)

    def _hides(self, plan: Plan, code: str) -> bool:
        """Return True if the text must be redacted: any code-like text of a stranger, or a live invitation code."""
        key, tenant = self._deps.keys.invites, plan.event.tenant
        return isinstance(plan.decision, Pair) or invites.is_live(self._connection, key, tenant, code, self._now)

    def _row(self, plan: Plan) -> NewRow:
        """Return the row with the outcome of its access decision; open if a turn or command follows."""
        event, decision = plan.event, plan.decision
        if isinstance(decision, Pair):
            return NewRow(event, outcome=Outcome.REFUSED, detail="pairing")
        if isinstance(decision, Enrol):
            person = people.enrol(self._connection, decision.newcomer, self._now)
            self.done.people.append(person)
        elif isinstance(decision, Admit):
            person = decision.person
        elif isinstance(decision, AskGroup):
            return NewRow(event, decision.person.user_id, outcome=Outcome.REFUSED, detail=GROUP_NOT_LISTED)
        else:
            about_chat = isinstance(event, MembershipChanged | ChatMigrated)
            return NewRow(event, outcome=Outcome.CONTEXT if about_chat else Outcome.REFUSED, detail=decision.reason)
        person = self._with_zone(event, person)
        if plan.over is not None:
            over = f"over the {plan.over.bound} bound"
            return NewRow(event, person.user_id, outcome=Outcome.REFUSED, detail=over)
        keeps = self._keeps_talk and plan.reads_talk
        row = open_row(event, person, plan.agent)
        if isinstance(event, InboundMessage) and event.edited and not self._deps.agents.is_single:
            row = replace(row, session_key=earlier.session_of(self._connection, event) or row.session_key)
        return replace(row, kept=keeps or not is_talk(event))

    def _with_zone(self, event: InboundEvent, person: Person) -> Person:
        """Take the zone of the person's device, and tell them, or that of the settings, if they have not set one."""
        if not person.lacks_zone:
            return person
        told = event.timezone if isinstance(event, InboundMessage) else None
        from_device = told is not None and is_zone(told)
        zone = told if from_device else self._deps.timezone
        if zone is None:
            return person
        if people.guess_timezone(self._connection, person.user_id, zone) and from_device:
            text = words.zone_text(person.locale, zone)
            self._put(
                event.tenant, OutboundMessage(event.address, Notice("zone", person.user_id), text, locale=person.locale)
            )
        known = people.person_of(self._connection, person.user_id) or person
        self.done.people.append(known)
        return known

    def _reply(self, event: InboundEvent, id_: int, text: str, buttons: tuple[Button, ...] = ()) -> None:
        answers = id_ if inbox.route_of(event) is not None else None
        said = OutboundMessage(
            event.address,
            ReplyTo(id_),
            text,
            reply_route_of=answers,
            locale=getattr(event, "locale", None),
            buttons=buttons,
        )
        self._put(event.tenant, said)

    def _put(self, tenant: str, said: OutboundMessage) -> None:
        channel = self._deps.channel_at(self._channel, said.address) or self._channel
        outbox.put(self._connection, tenant, to_parts(channel, said), self._now)

    def _note_chat(self, event: InboundEvent, user_id: str, key: str | None) -> None:
        """Record the chat in which a person talks to the bot; a group only if the bot was addressed."""
        if not isinstance(event, InboundMessage | CommandInvoked | ButtonPressed):
            return
        direct = event.kind is ChatKind.DIRECT
        noted_at = self._noted.get(event.address)
        if (direct or key is not None) and (noted_at is None or self._now - noted_at > chats.NOTED_FOR):
            chats.note(self._connection, event.tenant, event.address, user_id, self._now, direct=direct)
            self.done.noted.append(event.address)

    def _note_reachable(self, event: InboundEvent) -> None:
        """Park the chat when its person blocks the bot; unpark it when they write again; record a chat's new id."""
        lane = event.address.lane
        if isinstance(event, MembershipChanged) and event.change in (Membership.BLOCKED, Membership.LEFT):
            outbox.park(self._connection, event.tenant, lane, event.change.value, self._now)
            self.done.parked.append(lane)
        elif isinstance(event, ChatMigrated):
            self._move(event)
        elif lane in self._parked and lane not in self.done.unparked and self._wakes(event):
            outbox.unpark(self._connection, lane)
            self.done.unparked.append(lane)

    def _wakes(self, event: InboundEvent) -> bool:
        """Return True if a parked lane may be tried again: the bot was added, or addressed and the last try is long
        enough ago.
        """
        if isinstance(event, MembershipChanged):
            return True
        return _meant_for_us(event) and self._parked.may_try(event.address.lane, self._now)

    def _move(self, event: ChatMigrated) -> None:
        chats.move_chat(self._connection, event.tenant, event.address, event.new_chat, self._now)
        for agent in sorted(self._deps.agents.names):
            old, new = group_key(event.address, agent), group_key(event.address, agent, event.new_chat)
            chats.move_sessions(self._connection, event.tenant, old, new)
        self.done.moved.append((event.address, event.new_chat))


def _to_keep_for_all(event: InboundEvent) -> str | None:
    """Return the message to store until its group is allowed; None for private commands and `/group`."""
    match event:
        case CommandInvoked(name=name, route=route) if name == "group" or (route is not None and route.private):
            return None
        case InboundMessage(text=text) if text.lstrip().lower().startswith("/group"):
            return None
        case CommandInvoked() | InboundMessage():
            return tickets.to_keep(event)
    return None


def _meant_for_us(event: InboundEvent) -> bool:
    if isinstance(event, InboundMessage):
        return event.kind is ChatKind.DIRECT or event.mentions_bot
    return isinstance(event, CommandInvoked | ButtonPressed)


def _over_text(plan: Plan) -> str:
    over, locale = plan.over, getattr(plan.event, "locale", None)
    if isinstance(plan.decision, Admit):
        locale = plan.decision.person.locale or locale
    if over is None or over.bound is Bound.RATE:
        return words.too_fast_text(locale, 1.0 if over is None else over.retry_after_s)
    return words.too_many_text(locale, plan.waiting)
