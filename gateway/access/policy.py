"""Decides from memory who may be answered: pure, without a query, so that admission costs nothing.

The snapshot is what the store holds about people; it is loaded once and told of each change after its commit. What a
person may do once inside is a matter of roles and commands.
"""

import hmac
import os
from collections.abc import Iterable
from dataclasses import dataclass
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
    """Somebody as a turn's principal."""
    return Principal(
        user_id=person.user_id, tenant=person.tenant, display_name=person.display_name, role=person.role,
        timezone=person.timezone, locale=person.locale, week_start=person.week_start, model=person.model,
    )  # fmt: skip


class AccessSnapshot:
    """Everybody the store knows, by sender and by user id. Read and changed in the event loop only."""

    def __init__(self, people: Iterable[Person] = ()) -> None:
        """`people` as `gateway.store.people.everybody` gives them."""
        self._rules: dict[str, AccessConfig] = {}  # by tenant, those in force
        self._languages: dict[str, str | None] = {}  # by tenant
        self._by_sender: dict[tuple[str, str], Person] = {}
        self._by_user: dict[str, Person] = {}
        self._groups: dict[tuple[str, str, str, str], Group] = {}
        self._first_ids: dict[str, str] = {}  # a chat that moved, by its new id: its first one
        self._key = os.urandom(32)
        self._forgotten: dict[tuple[str, str], Forgotten] = {}  # by tenant and mark
        self._last_forgotten_at = _LONG_AGO
        self.replace(people)

    def configure(self, tenant: str, rules: AccessConfig, language: str | None = None) -> None:
        """Decide about a tenant's people by these rules; `language` is for people who have not chosen one."""
        self._rules[tenant], self._languages[tenant] = rules, language

    def rules_of(self, tenant: str) -> AccessConfig:
        """Return the access rules in force; a tenant that is not configured lets nobody in."""
        return self._rules.get(tenant, _NOTHING_SET)

    def language_of(self, tenant: str) -> str | None:
        """Return the language of people who have not chosen one; None if the tenant has not set it."""
        return self._languages.get(tenant)

    def replace(self, people: Iterable[Person]) -> None:
        """Know these people and nobody else, from one moment to the next."""
        known = list(people)
        by_sender = {(person.tenant, identity): person for person in known for identity in person.identities}
        self._by_sender, self._by_user = by_sender, {id_: person for person in known for id_ in _ids(person)}

    def put(self, person: Person) -> None:
        """Know this person as they are now."""
        self.drop(person.user_id)
        for identity in person.identities:
            self._by_sender[person.tenant, identity] = person
        self._by_user.update(dict.fromkeys(_ids(person), person))

    def drop(self, user_id: str) -> None:
        """Know this person no longer."""
        person = self._by_user.get(user_id)
        if person is None:
            return
        for identity in person.identities:
            self._by_sender.pop((person.tenant, identity), None)
        for id_ in _ids(person):
            if self._by_user.get(id_) is person:
                del self._by_user[id_]

    def begin(self, key: bytes, forgotten: Iterable[Forgotten]) -> None:
        """Mark with this key from now on; `forgotten` as `gateway.store.erasure.lately` gives them."""
        self._key = key
        self.forget("", forgotten)

    def mark(self, tenant: str, sender_key: str) -> str:
        """A sender as nobody can read it who has not the home's key."""
        return hmac.new(self._key, f"{tenant} {sender_key}".encode(), "sha256").hexdigest()

    def forget(self, user_id: str, forgotten: Iterable[Forgotten]) -> None:
        """Know this person no longer, but that whoever they were was forgotten."""
        self.drop(user_id)
        for sender in forgotten:
            self._forgotten[sender.tenant, sender.mark] = sender
            self._last_forgotten_at = max(self._last_forgotten_at, sender.at)

    def is_forgotten(self, event: InboundEvent) -> bool:
        """Whether its sender said it and was forgotten then: a platform's history tells it once more."""
        if event.received_at > self._last_forgotten_at:  # said since: nothing more is looked up
            return False
        found = self._find_forgotten(event.tenant, event.sender_key)
        return found is not None and event.received_at <= found.at

    def former_id(self, tenant: str, sender_key: str) -> str | None:
        """The user that a sender was until they were forgotten; None: not lately."""
        found = self._find_forgotten(tenant, sender_key)
        return None if found is None else found.former_id

    def _find_forgotten(self, tenant: str, sender_key: str) -> Forgotten | None:
        return self._forgotten.get((tenant, self.mark(tenant, sender_key))) if self._forgotten else None

    def find(self, tenant: str, sender_key: str) -> Person | None:
        """Who this sender is, compared letter by letter."""
        return self._by_sender.get((tenant, sender_key))

    def person(self, user_id: str) -> Person | None:
        """The person with this user id, or whom that user is by a link."""
        return self._by_user.get(user_id)

    def everybody(self, tenant: str | None = None) -> list[Person]:
        """Each person once, in the order they came; of one tenant, or of all."""
        known = [person for id_, person in sorted(self._by_user.items()) if id_ == person.user_id]
        return known if tenant is None else [person for person in known if person.tenant == tenant]

    def principal(self, user_id: str) -> Principal | None:
        """The person as they are at this moment; None once they are blocked or gone."""
        person = self._by_user.get(user_id)
        return None if person is None or person.role == Role.BLOCKED else principal_of(person)

    def chat_moved(self, channel: str, old_chat: str, new_chat: str) -> None:
        """A chat goes on under another id: what a list says of the old one holds for it (A31)."""
        old = f"{channel}:{old_chat}"
        self._first_ids[f"{channel}:{new_chat}"] = self._first_ids.get(old, old)

    def may_command(self, user_id: str, account: str) -> bool:
        """Whether this person may command the bot at an account (`telegram:main`) at this moment: not once they are
        blocked or gone, or what let them in there was taken back, be it before a restart. Asked before every tool.
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
        """Whether the configuration, as it is now, still lets in whom it has let into this account."""
        channel, _, name = account.partition(":")
        rules = self.rules_of(person.tenant).rules_of(channel, name)
        if rules.direct is Policy.OPEN or rules.groups is Policy.OPEN:
            return True
        return any(rules.lists(sender) for sender in person.identities if sender.startswith(f"{channel}:"))

    def put_group(self, group: Group) -> None:
        """Know this group as it is set now."""
        self._groups[group.tenant, group.channel, group.account, group.chat] = group

    def group(self, tenant: str, where: Address) -> Group | None:
        """The group of a chat as it was set from there, also where the chat has moved since; None: it never was."""
        if not self._groups:
            return None
        first = self.first_id(f"{where.channel}:{where.chat}").partition(":")[2]
        found = (self._groups.get((tenant, where.channel, where.account, chat)) for chat in (where.chat, first))
        return next((group for group in found if group is not None), None)

    def context_of(self, tenant: str, where: Address) -> int:
        """How many messages said before are read there when the bot is meant."""
        group = self.group(tenant, where)
        return MOST_CONTEXT if group is None else group.context

    def first_id(self, chat: str) -> str:
        """The id under which an operator may have listed this chat."""
        return self._first_ids.get(chat, chat)

    def __len__(self) -> int:
        """How many people are known."""
        return sum(id_ == person.user_id for id_, person in self._by_user.items())


def _ids(person: Person) -> tuple[str, ...]:
    """Return every user id of this person."""
    return (person.user_id, *person.aliases)


GROUP_NOT_LISTED = "group not allowed"
"""Why nobody is answered in a group that no list of the configuration names."""


@dataclass(frozen=True, slots=True)
class Admit:
    """Take it: it is from this person."""

    person: Person

    @property
    def principal(self) -> Principal:
        """Whom a turn about it acts for."""
        return principal_of(self.person)


@dataclass(frozen=True, slots=True)
class Enrol:
    """Take it, and make its sender a user with `gateway.store.people.enrol` in the commit that admits it."""

    newcomer: Newcomer


@dataclass(frozen=True, slots=True)
class Pair:
    """Ask `gateway.access.pairing.request`, in the commit that admits it, whether the stranger is told a code."""


@dataclass(frozen=True, slots=True)
class Silence:
    """A person who is not let in: the row ends as refused, nothing is said."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """Nothing that could be let in, a bot or a post without a person: the row ends as refused, nothing is said."""

    reason: str


@dataclass(frozen=True, slots=True)
class AskGroup:
    """An operator asks for the bot in a group that is not allowed: offer them to allow it."""

    person: Person


Decision = Admit | Enrol | Pair | AskGroup | Silence | Refuse


def decide(snapshot: AccessSnapshot, config: AccessConfig, event: InboundEvent) -> Decision:
    """What becomes of an event, by its sender's id, its account's rules and what the store knows.

    Changes of the bot's own membership and migrations of chats are not asked for by anybody: Silence here means only
    that no turn comes of them.
    """
    if event.sender.is_bot:
        return Refuse("sent by a bot")
    if not event.sender.id:
        return Refuse("sent by nobody")
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
        return Silence("not on the allowlist")
    if isinstance(event, InboundMessage) and event.edited:
        return Silence("edited by a stranger")
    return Pair()


def _in_group(
    rules: Rules, person: Person | None, event: InboundMessage | CommandInvoked, snapshot: AccessSnapshot
) -> Decision:
    here = f"{event.address.channel}:{event.address.chat}"
    group = snapshot.group(event.tenant, event.address)
    from_there = group is not None and group.allowed
    if not (from_there or rules.lists_group(here) or rules.lists_group(snapshot.first_id(here))):
        asks = isinstance(event, CommandInvoked) or (event.mentions_bot and not event.edited)
        may = person is not None and Role(person.role).allows(Role.OPERATOR)
        return AskGroup(person) if asks and may and person is not None else Silence(GROUP_NOT_LISTED)
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
    """For events that do not say what kind of chat they are from: whether the person is let into any."""
    return any(_let_in(policy, rules, person, event) for policy in (rules.direct, rules.groups))


def _let_in(policy: Policy, rules: Rules, person: Person | None, event: InboundEvent) -> bool:
    if policy is Policy.OPEN or rules.lists(event.sender_key):
        return True
    if policy is Policy.ALLOWLIST or person is None:
        return False
    account = f"{event.address.channel}:{event.address.account}"
    return account in person.grants or Role(person.role).allows(Role.OPERATOR)


def is_let_in(snapshot: AccessSnapshot, rules: Rules, tenant: str, sender_key: str, account: str) -> bool:
    """Whether somebody decided that this sender may talk to an account; that everybody may (`open`) is no decision."""
    person = snapshot.find(tenant, sender_key)
    if person is None:
        return sender_key in rules.allow
    role = Role(person.role)
    if role is Role.BLOCKED:
        return False
    return sender_key in rules.allow or account in person.grants or role.allows(Role.OPERATOR)
