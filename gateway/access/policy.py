"""Access decisions from memory: pure, without a query.

The snapshot holds what the store knows about people. It is loaded once and updated after each commit that changes them.
"""

import hmac
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from agent.ports import Principal
from channels.messages import (
    Address,
    ChatKind,
    ChatMigrated,
    CommandInvoked,
    InboundEvent,
    InboundMessage,
    MembershipChanged,
)
from gateway.access.config import AccessConfig, Policy, Role, Rules
from gateway.store.erasure import Forgotten
from gateway.store.groups import MOST_CONTEXT, Group
from gateway.store.people import BY_POLICY, Newcomer, Person

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_NOTHING_SET = AccessConfig()


def principal_of(person: Person) -> Principal:
    """Return the person as the principal of a turn."""
    return Principal(
        user_id=person.user_id,
        tenant=person.tenant,
        display_name=person.display_name,
        role=person.role,
        timezone=person.timezone,
        locale=person.locale,
        week_start=person.week_start,
        model=person.model,
        keeps_language=person.keeps_language,
        wants_voice=person.wants_voice,
    )


class AccessSnapshot:
    """All people that the store knows, by sender and by user id. Used in the event loop only."""

    def __init__(self, people: Iterable[Person] = ()) -> None:
        """Take the people that `gateway.store.people.everybody` returns."""
        self._rules: dict[str, AccessConfig] = {}  # by tenant
        self._languages: dict[str, str | None] = {}  # by tenant
        self._zones: dict[str, str | None] = {}  # by tenant
        self._by_sender: dict[tuple[str, str], Person] = {}
        self._by_user: dict[str, Person] = {}
        self._groups: dict[tuple[str, str, str, str], Group] = {}
        self._first_ids: dict[str, str] = {}  # by the new id of a chat that moved: its first id
        self._key = os.urandom(32)
        self._forgotten: dict[tuple[str, str], Forgotten] = {}  # by tenant and mark
        self._last_forgotten_at = _LONG_AGO
        self.replace(people)

    def configure(
        self, tenant: str, rules: AccessConfig, language: str | None = None, timezone: str | None = None
    ) -> None:
        """Decide about a tenant's people by these rules; language and zone are for people who have not chosen one."""
        self._rules[tenant], self._languages[tenant], self._zones[tenant] = rules, language, timezone

    def rules_of(self, tenant: str) -> AccessConfig:
        """Return the access rules in force; for an unknown tenant those that let in no people."""
        return self._rules.get(tenant, _NOTHING_SET)

    def language_of(self, tenant: str) -> str | None:
        """Return the language of people who have not chosen one; None if the tenant has not set it."""
        return self._languages.get(tenant)

    def replace(self, people: Iterable[Person]) -> None:
        """Replace all people at once."""
        known = [self._with_zone(person) for person in people]
        by_sender = {(person.tenant, identity): person for person in known for identity in person.identities}
        self._by_sender, self._by_user = by_sender, {id_: person for person in known for id_ in _ids(person)}

    def put(self, person: Person) -> None:
        """Add a person, or replace their earlier state."""
        self.drop(person.user_id)
        person = self._with_zone(person)
        for identity in person.identities:
            self._by_sender[person.tenant, identity] = person
        self._by_user.update(dict.fromkeys(_ids(person), person))

    def _with_zone(self, person: Person) -> Person:
        zone = self._zones.get(person.tenant) if person.lacks_zone else None
        return person if zone is None else replace(person, timezone=zone)

    def drop(self, user_id: str) -> None:
        """Remove a person."""
        person = self._by_user.get(user_id)
        if person is None:
            return
        for identity in person.identities:
            self._by_sender.pop((person.tenant, identity), None)
        for id_ in _ids(person):
            if self._by_user.get(id_) is person:
                del self._by_user[id_]

    def begin(self, key: bytes, forgotten: Iterable[Forgotten]) -> None:
        """Set the key for marks, and the erased senders that `gateway.store.erasure.lately` returns."""
        self._key = key
        self.forget("", forgotten)

    def mark(self, tenant: str, sender_key: str) -> str:
        """Return a sender's keyed hash, which reveals the sender only to a holder of the home's key."""
        return hmac.new(self._key, f"{tenant} {sender_key}".encode(), "sha256").hexdigest()

    def forget(self, user_id: str, forgotten: Iterable[Forgotten]) -> None:
        """Remove a person and remember their senders as erased."""
        self.drop(user_id)
        for sender in forgotten:
            self._forgotten[sender.tenant, sender.mark] = sender
            self._last_forgotten_at = max(self._last_forgotten_at, sender.at)

    def is_forgotten(self, event: InboundEvent) -> bool:
        """Return True if the event is older than the erasure of its sender, as in a platform's history."""
        if event.received_at > self._last_forgotten_at:  # newer than every erasure
            return False
        found = self._find_forgotten(event.tenant, event.sender_key)
        return found is not None and event.received_at <= found.at

    def former_id(self, tenant: str, sender_key: str) -> str | None:
        """Return the user id that a sender had before a recent erasure, or None."""
        found = self._find_forgotten(tenant, sender_key)
        return None if found is None else found.former_id

    def _find_forgotten(self, tenant: str, sender_key: str) -> Forgotten | None:
        return self._forgotten.get((tenant, self.mark(tenant, sender_key))) if self._forgotten else None

    def find(self, tenant: str, sender_key: str) -> Person | None:
        """Return the person of this sender, compared exactly."""
        return self._by_sender.get((tenant, sender_key))

    def person(self, user_id: str) -> Person | None:
        """Return the person with this user id, also by the id of a linked user."""
        return self._by_user.get(user_id)

    def everybody(self, tenant: str | None = None) -> list[Person]:
        """Return each person once, in the order they came, of one tenant or of all."""
        known = [person for id_, person in sorted(self._by_user.items()) if id_ == person.user_id]
        return known if tenant is None else [person for person in known if person.tenant == tenant]

    def principal(self, user_id: str) -> Principal | None:
        """Return the person as a principal, or None if they are blocked or gone."""
        person = self._by_user.get(user_id)
        return None if person is None or person.role == Role.BLOCKED else principal_of(person)

    def chat_moved(self, channel: str, old_chat: str, new_chat: str) -> None:
        """Record a chat's new id, so that lists with the old one still apply."""
        old = f"{channel}:{old_chat}"
        self._first_ids[f"{channel}:{new_chat}"] = self._first_ids.get(old, old)

    def may_command(self, user_id: str, account: str) -> bool:
        """Return True if this person may command the bot at an account (`telegram:main`) now.

        Checked before every tool: False once they are blocked, gone, or their access there was taken back.
        """
        person = self._by_user.get(user_id)
        if person is None or person.role == Role.BLOCKED:
            return False
        if account in person.grants:
            return True
        if account in person.policy_grants and self._takes_by_policy(person, account):
            return True
        return Role(person.role).allows(Role.OPERATOR)

    def _takes_by_policy(self, person: Person, account: str) -> bool:
        """Return True if the current configuration still lets in a person whom it let in before."""
        channel, _, name = account.partition(":")
        rules = self.rules_of(person.tenant).rules_of(channel, name)
        if rules.direct is Policy.OPEN or rules.groups is Policy.OPEN:
            return True
        return any(rules.lists(sender) for sender in person.identities if sender.startswith(f"{channel}:"))

    def put_group(self, group: Group) -> None:
        """Add a group, or replace its earlier settings."""
        self._groups[group.tenant, group.channel, group.account, group.chat] = group

    def group(self, tenant: str, where: Address) -> Group | None:
        """Return the settings of a chat's group, also after the chat moved; None if it was never set."""
        if not self._groups:
            return None
        first = self.first_id(f"{where.channel}:{where.chat}").partition(":")[2]
        found = (self._groups.get((tenant, where.channel, where.account, chat)) for chat in (where.chat, first))
        return next((group for group in found if group is not None), None)

    def context_of(self, tenant: str, where: Address) -> int:
        """Return how many earlier messages of a group the bot reads when it is addressed."""
        group = self.group(tenant, where)
        return MOST_CONTEXT if group is None else group.context

    def first_id(self, chat: str) -> str:
        """Return the first id of this chat, under which an operator may have listed it."""
        return self._first_ids.get(chat, chat)

    def __len__(self) -> int:
        return sum(id_ == person.user_id for id_, person in self._by_user.items())


def _ids(person: Person) -> tuple[str, ...]:
    """Return every user id of this person."""
    return (person.user_id, *person.aliases)


GROUP_NOT_LISTED = "group not allowed"
"""Reason for silence in a group that no list names."""


@dataclass(frozen=True, slots=True)
class Admit:
    """Accept the event of this person."""

    person: Person

    @property
    def principal(self) -> Principal:
        return principal_of(self.person)


@dataclass(frozen=True, slots=True)
class Enrol:
    """Accept the event and enrol its sender with `gateway.store.people.enrol` in the same commit."""

    newcomer: Newcomer


@dataclass(frozen=True, slots=True)
class Pair:
    """Let `gateway.access.pairing.request` decide, in the same commit, if the stranger is told a code."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Refuse the event of a person without an answer."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """Refuse the event of a bot, or a post without a sender, without an answer."""

    reason: str


@dataclass(frozen=True, slots=True)
class AskGroup:
    """Offer an operator to allow the group in which they addressed the bot."""

    person: Person


Decision = Admit | Enrol | Pair | AskGroup | Silence | Refuse


def decide(snapshot: AccessSnapshot, config: AccessConfig, event: InboundEvent) -> Decision:
    """Decide about an event by its sender's id, its account's rules and what the store knows.

    For changes of the bot's membership and migrations of chats, Silence means only that no turn follows.
    """
    if event.sender.is_bot:
        return Refuse("sent by a bot")
    if not event.sender.id:
        return Refuse("without a sender")
    person = snapshot.find(event.tenant, event.sender_key)
    if person is not None and person.role == Role.BLOCKED:
        return Silence("blocked")
    rules = config.rules_of(event.address.channel, event.address.account)
    if isinstance(event, InboundMessage | CommandInvoked):
        if event.kind is ChatKind.DIRECT:
            return _direct(rules, person, event)
        return _in_group(rules, person, event, snapshot)
    if person is not None and _knows(rules, person, event):
        return Admit(person)
    about_chat = isinstance(event, MembershipChanged | ChatMigrated)
    return Silence("about the chat" if about_chat else "not let in")


def _direct(rules: Rules, person: Person | None, event: InboundMessage | CommandInvoked) -> Decision:
    if _let_in(rules.direct, rules, person, event):
        return _admit_or_enrol(person, event)
    if rules.direct is not Policy.PAIRING:
        return Silence("not on the allowlist" if rules.direct is Policy.ALLOWLIST else "access revoked")
    if isinstance(event, InboundMessage) and event.edited:
        return Silence("edited by a stranger")
    return Pair()


def _allows_group(event: InboundMessage | CommandInvoked) -> bool:
    """Return True for `/group on`, by which operators allow the group they write in, with or without a button."""
    if isinstance(event, CommandInvoked):
        return (event.name, event.arguments.strip().lower()) == ("group", "on")
    return event.text.lower().split() == ["/group", "on"]


def _in_group(
    rules: Rules, person: Person | None, event: InboundMessage | CommandInvoked, snapshot: AccessSnapshot
) -> Decision:
    here = f"{event.address.channel}:{event.address.chat}"
    group = snapshot.group(event.tenant, event.address)
    from_there = group is not None and group.allowed
    if not (from_there or rules.lists_group(here) or rules.lists_group(snapshot.first_id(here))):
        asks = isinstance(event, CommandInvoked) or (event.mentions_bot and not event.edited)
        may = person is not None and Role(person.role).allows(Role.OPERATOR)
        if not asks or not may or person is None:
            return Silence(GROUP_NOT_LISTED)
        return Admit(person) if _allows_group(event) else AskGroup(person)
    if _let_in(rules.groups, rules, person, event):
        return _admit_or_enrol(person, event)
    return Silence("not let in")


def _admit_or_enrol(person: Person | None, event: InboundMessage | CommandInvoked) -> Decision:
    account = f"{event.address.channel}:{event.address.account}"
    if person is not None and (account in person.grants or account in person.policy_grants):
        return Admit(person)
    return Enrol(
        Newcomer(
            tenant=event.tenant,
            sender_key=event.sender_key,
            account=account,
            display_name=event.sender.display_name,
            role=Role.MEMBER,
            granted_by=BY_POLICY,
            locale=event.locale,
        )
    )


def _knows(rules: Rules, person: Person, event: InboundEvent) -> bool:
    """Return True if the person is let into any kind of chat, for events that do not name theirs."""
    return any(_let_in(policy, rules, person, event) for policy in (rules.direct, rules.groups))


def _let_in(policy: Policy, rules: Rules, person: Person | None, event: InboundEvent) -> bool:
    account = f"{event.address.channel}:{event.address.account}"
    is_revoked = person is not None and account in person.revoked
    if not is_revoked and (policy is Policy.OPEN or rules.lists(event.sender_key)):
        return True
    if policy is Policy.ALLOWLIST or person is None:
        return False
    return account in person.grants or Role(person.role).allows(Role.OPERATOR)


def is_let_in(snapshot: AccessSnapshot, rules: Rules, tenant: str, sender_key: str, account: str) -> bool:
    """Return True if an operator or a list let this sender into the account; `open` does not count."""
    person = snapshot.find(tenant, sender_key)
    if person is None:
        return sender_key in rules.allow
    role = Role(person.role)
    if role is Role.BLOCKED:
        return False
    is_listed = sender_key in rules.allow and account not in person.revoked
    return is_listed or account in person.grants or role.allows(Role.OPERATOR)
