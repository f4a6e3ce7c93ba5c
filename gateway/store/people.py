"""People as the store knows them: users, their identities, what they were granted, and the audit log.

Plain functions over a connection. Who is let in is decided in `gateway.access`; what they
ask for lives in `gateway.store.tickets`.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import sqlalchemy as sa

from gateway.safety import names
from gateway.safety.redaction import escape_controls
from gateway.store import budgets
from gateway.store.rows import Rows
from gateway.store.tables.base import new_id
from gateway.store.tables.people import audit, grants, identities, users
from gateway.store.tables.traffic import inbox

Connection = sa.Connection
"""The connection that every function here takes; for rooms that may not import SQLAlchemy."""

BY_POLICY = "policy"
"""The grantor of access by policy: an open account or a list in the configuration."""

REVOKED = "revoked"
"""Stands as the grantor of access that was withdrawn, so that the account's policy does not give it again."""

MAX_NAME_CHARS = 128
IDS_AT_ONCE = 400  # bound in one statement; SQLite before 3.32 takes 999
NOBODY = "nobody"
"""Said a person's zone."""


@dataclass(frozen=True, slots=True)
class Person:
    """One user with everything access is decided by."""

    user_id: str
    tenant: str
    role: str  # a gateway.access.config.Role
    display_name: str
    locale: str | None  # BCP 47
    timezone: str  # IANA name
    week_start: int  # 0 Monday ... 6 Sunday
    identities: frozenset[str]  # canonical senders: telegram:42
    grants: frozenset[str]  # accounts a person let them into: telegram:main
    policy_grants: frozenset[str] = frozenset()  # accounts that took them by policy
    revoked: frozenset[str] = frozenset()  # accounts whose policy does not take them again
    lacks_zone: bool = False  # nobody has said theirs, and nothing told it
    model: str | None = None  # that they want to be answered by
    agents: Mapping[str, str] = field(default_factory=dict, hash=False)  # chosen in direct chats, by account
    aliases: frozenset[str] = frozenset()  # ids of the users linked to this one
    keeps_language: bool = False  # they are answered in `locale`, whatever they write in
    wants_voice: bool = False  # they are answered by voice, too


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A person about to be let into one account."""

    tenant: str
    sender_key: str  # telegram:42
    account: str  # telegram:main; "" for none
    display_name: str
    role: str  # only for a user that is not there yet
    granted_by: str  # user id, "cli" or BY_POLICY
    locale: str | None = None
    former_id: str | None = None  # the user they were until they were forgotten; None: not lately


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One change of who may do what."""

    at: datetime
    actor: str  # user id, "cli", "policy", or the sender who asked
    action: str
    subject: str
    detail: str


@dataclass(frozen=True, slots=True)
class KnownIdentity:
    """A sender on a platform, and the user they are."""

    tenant: str
    channel: str
    scope: str
    sender: str
    user_id: str
    linked_at: datetime


@dataclass(frozen=True, slots=True)
class Grant:
    """That a user is let into an account."""

    tenant: str
    user_id: str
    channel: str
    account: str
    granted_by: str
    granted_at: datetime


IDENTITIES = Rows(identities, KnownIdentity)
GRANTS = Rows(grants, Grant)


def everybody(connection: Connection) -> list[Person]:
    """Every user of every tenant: the whole of what access is decided from. A system query."""
    return _people(connection, users.c.alias_of.is_(None))


def names_of(connection: Connection, user_ids: Collection[str]) -> Mapping[str, str]:
    """Return the names of these users by id; of too many for one statement, the names of all users."""
    query = sa.select(users.c.id, users.c.display_name)
    if len(user_ids) <= IDS_AT_ONCE:
        query = query.where(users.c.id.in_(user_ids))
    return {row.id: row.display_name for row in connection.execute(query)} if user_ids else {}


def holding(connection: Connection, tenant: str, *roles: str) -> list[Person]:
    """Return a tenant's users with one of these roles, in the order they came."""
    of_tenant = sa.and_(users.c.tenant_id == tenant, users.c.role.in_(roles), users.c.alias_of.is_(None))
    return [person for person in _people(connection, of_tenant) if person.role in roles]


def person_of(connection: Connection, user_id: str) -> Person | None:
    """Return the person with this user id, or to whom this user is linked."""
    return next(iter(_people(connection, users.c.id == now_of(connection, user_id))), None)


_user_of_sender = sa.select(identities.c.user_id).where(
    identities.c.tenant_id == sa.bindparam("b_tenant"),
    identities.c.channel == sa.bindparam("b_channel"),
    identities.c.scope == sa.bindparam("b_scope"),
    identities.c.sender == sa.bindparam("b_sender"),
)


def find_sender(connection: Connection, tenant: str, sender_key: str) -> Person | None:
    """Return the user of this canonical sender, compared letter by letter."""
    user_id = _find_user_id(connection, tenant, sender_key)
    return None if user_id is None else person_of(connection, user_id)


def _find_user_id(connection: Connection, tenant: str, sender_key: str) -> str | None:
    """Return the sender's own user id, also while that user is linked to another."""
    channel, scope, sender = _parts(sender_key)
    whose = {"b_tenant": tenant, "b_channel": channel, "b_scope": scope, "b_sender": sender}
    found: str | None = connection.execute(_user_of_sender, whose).scalar()
    return found


def senders_of(connection: Connection, user_id: str) -> list[str]:
    """Return the canonical senders of a person on every channel."""
    found = IDENTITIES.find(connection, user_id=ids_of(user_id))
    return sorted(_join_key(each.channel, each.scope, each.sender) for each in found)


def now_of(connection: Connection, user_id: str) -> str:
    """Return the id of the user to whom this one is linked; the same id without a link."""
    return connection.execute(sa.select(users.c.alias_of).where(users.c.id == user_id)).scalar() or user_id


def ids_of(user_id: str) -> sa.CompoundSelect[str]:
    """Select every user id of a person: their own and those of the users linked to it."""
    linked = sa.select(users.c.id).where(users.c.alias_of == user_id)
    return sa.union_all(sa.select(sa.literal(user_id, users.c.id.type)), linked)


def roles_of(connection: Connection, user_id: str) -> list[str]:
    """Return the roles that a person's users have without their links."""
    return list(connection.execute(sa.select(users.c.role).where(users.c.id.in_(ids_of(user_id)))).scalars())


def has_owner(connection: Connection, tenant: str, *, beside: str = "") -> bool:
    """Return True if the tenant has an owner who can be reached, not counting the user `beside`."""
    owner = (users.c.tenant_id == tenant, users.c.role == "owner", users.c.id != beside, users.c.alias_of.is_(None))
    somebody = sa.exists().where(identities.c.user_id == users.c.id)  # who is being forgotten is nobody
    return connection.execute(sa.select(users.c.id).where(*owner, somebody).limit(1)).first() is not None


def is_only_owner(connection: Connection, person: Person) -> bool:
    """Return True if their tenant would have no owner without them."""
    return person.role == "owner" and not has_owner(connection, person.tenant, beside=person.user_id)


def enrol(connection: Connection, newcomer: Newcomer, now: datetime) -> Person:
    """Make the sender a user, or find theirs, and grant the account. The same again changes nothing.

    A grant by a person replaces one by policy, never the other way round.
    """
    known = _find_user_id(connection, newcomer.tenant, newcomer.sender_key)
    user_id = known or _create(connection, newcomer, now)
    if newcomer.account:
        _grant(connection, user_id, newcomer, now)
    enrolled = person_of(connection, user_id)
    assert enrolled is not None, "written above, in this transaction"
    return enrolled


def _create(connection: Connection, newcomer: Newcomer, now: datetime) -> str:
    user_id = new_id()
    connection.execute(
        sa.insert(users),
        {
            "id": user_id,
            "tenant_id": newcomer.tenant,
            "role": newcomer.role,
            "display_name": shown_name(newcomer.display_name),
            "locale": tag_of(newcomer.locale),
            "timezone": "UTC",
            "week_start": 0,
            "created_at": now,
        },
    )
    link(connection, newcomer.tenant, newcomer.sender_key, user_id, now)
    created = AuditRow(now, newcomer.granted_by, "user_created", newcomer.sender_key, newcomer.role)
    record(connection, newcomer.tenant, created)
    if newcomer.former_id is not None:
        budgets.go_on(connection, newcomer.former_id, user_id, now)
    return user_id


def link(connection: Connection, tenant: str, sender_key: str, user_id: str, now: datetime) -> None:
    """Assign a canonical sender to this user; one that has a user keeps it."""
    IDENTITIES.add(connection, KnownIdentity(tenant, *_parts(sender_key), user_id, now))


def _grant(connection: Connection, user_id: str, newcomer: Newcomer, now: datetime) -> None:
    channel, _, account = newcomer.account.partition(":")
    granted = Grant(newcomer.tenant, user_id, channel, account, newcomer.granted_by, now)
    keep = GRANTS.add if newcomer.granted_by == BY_POLICY else GRANTS.put
    keep(connection, granted)


def revoke(connection: Connection, person: Person, account: str, by: str, now: datetime) -> bool:
    """Take back what let a user into `telegram:main`, with its audit row; False where there was nothing.

    It lasts until a person lets them in again, there (`enrol`) or everywhere (`end_revocations`).
    """
    channel, _, name = account.partition(":")
    held = GRANTS.find(
        connection, GRANTS.c.granted_by != REVOKED, user_id=ids_of(person.user_id), channel=channel, account=name
    )
    for grant in held:
        GRANTS.put(connection, replace(grant, granted_by=REVOKED, granted_at=now))
    taken = bool(held)
    if taken:
        record(connection, person.tenant, AuditRow(now, by, "access_revoked", person.user_id, account))
    return taken


def end_revocations(connection: sa.Connection, person: Person) -> None:
    """Let the policies of all accounts decide about a person again."""
    GRANTS.delete(connection, user_id=ids_of(person.user_id), granted_by=REVOKED)


def set_role(connection: Connection, person: Person, role: str, by: str, now: datetime) -> bool:
    """Give a person and the users linked to them a role, with its audit row; False if all of them had it."""
    whose = users.c.id.in_(ids_of(person.user_id))
    changed = connection.execute(sa.update(users).where(whose, users.c.role != role).values(role=role))
    if changed.rowcount:
        change = AuditRow(now, by, "role_changed", person.user_id, f"{person.role} to {role}")
        record(connection, person.tenant, change)
    return changed.rowcount > 0


def join(connection: Connection, user_id: str, into_id: str) -> None:
    """Make a user an alias of another one. No rows move: readers select the rows of every id of a person (`ids_of`).

    The other user takes the zone, language and agents that they never set. Waiting messages are answered as theirs.
    """
    row = connection.execute(sa.select(users).where(users.c.id == user_id)).one()
    if row.zone_from != NOBODY:
        lacking = (users.c.id == into_id, users.c.zone_from == NOBODY)
        connection.execute(sa.update(users).where(*lacking).values(timezone=row.timezone, zone_from=row.zone_from))
    speechless = (users.c.id == into_id, users.c.locale.is_(None))
    connection.execute(sa.update(users).where(*speechless).values(locale=row.locale, keeps_language=row.keeps_language))
    chosen = connection.execute(sa.select(users.c.agents).where(users.c.id == into_id)).scalar() or {}
    agents = {**(row.agents or {}), **chosen} or None
    connection.execute(sa.update(users).where(users.c.id == into_id).values(agents=agents))
    waiting = (inbox.c.user_id == user_id, inbox.c.outcome.is_(None))
    connection.execute(sa.update(inbox).where(*waiting).values(user_id=into_id))
    connection.execute(sa.update(users).where(users.c.id == user_id).values(alias_of=into_id))


def part(connection: Connection, user_id: str) -> None:
    """End the alias."""
    connection.execute(sa.update(users).where(users.c.id == user_id).values(alias_of=None))


def set_timezone(connection: Connection, user_id: str, timezone: str) -> None:
    """Keep the person's zone, an IANA name checked by the caller."""
    connection.execute(sa.update(users).where(users.c.id == user_id).values(timezone=timezone, zone_from="person"))


def guess_timezone(connection: Connection, user_id: str, timezone: str) -> bool:
    """Keep the zone that a person's device told, checked by the caller, where there is none; whether it was kept."""
    lacking = sa.and_(users.c.id == user_id, users.c.zone_from == NOBODY)
    return (
        connection.execute(sa.update(users).where(lacking).values(timezone=timezone, zone_from="device")).rowcount > 0
    )


def set_name(connection: Connection, person: Person, name: str, now: datetime) -> None:
    """Keep the name that the person gave, with its audit row; it decides nothing."""
    mine = sa.update(users).where(users.c.id == person.user_id)
    connection.execute(mine.values(display_name=shown_name(name)))
    told = AuditRow(now, person.user_id, "name_given", person.user_id, f"{person.display_name} to {shown_name(name)}")
    record(connection, person.tenant, told)


def set_locale(connection: Connection, user_id: str, locale: str, *, keeps: bool = True) -> None:
    """Set the language of a person: the one that they chose, which `keeps`, or the one in which they write now."""
    mine = sa.update(users).where(users.c.id == user_id)
    connection.execute(mine.values(locale=locale, keeps_language=keeps))


def follow_language(connection: Connection, user_id: str) -> None:
    """Answer a person in the language of their messages again."""
    connection.execute(sa.update(users).where(users.c.id == user_id).values(keeps_language=False))


def set_voice(connection: Connection, user_id: str, *, wanted: bool) -> None:
    """Answer a person by voice, too, or no longer."""
    connection.execute(sa.update(users).where(users.c.id == user_id).values(wants_voice=wanted))


def set_model(connection: Connection, user_id: str, model: str | None) -> None:
    """Keep the model that the person chose; None: whichever comes first."""
    connection.execute(sa.update(users).where(users.c.id == user_id).values(model=model))


def set_agent(connection: Connection, user_id: str, account: str, agent: str) -> None:
    """Keep the agent that the person chose for direct chats at an account (`telegram:main`)."""
    mine = users.c.id == user_id
    before = connection.execute(sa.select(users.c.agents).where(mine)).scalar() or {}
    connection.execute(sa.update(users).where(mine).values(agents={**before, account: agent}))


def record(connection: Connection, tenant: str, row: AuditRow) -> None:
    """Add an audit row."""
    values = {
        "tenant_id": tenant,
        "at": row.at,
        "actor": row.actor[:128],
        "action": row.action,
        "subject": escape_controls(row.subject)[:256],
        "detail": escape_controls(row.detail),
    }
    connection.execute(sa.insert(audit), values)


def shown_name(name: str) -> str:
    """Return a display name fit for one line of a terminal or a prompt: no invisible characters, 128 at most."""
    return names.shown_name(name)[:MAX_NAME_CHARS]


def tag_of(locale: str | None) -> str | None:
    """Return the language tag of a platform's hint, if it can be one at all."""
    if locale and len(locale) <= 35 and locale.isascii() and locale.replace("-", "").replace("_", "").isalnum():
        return locale
    return None


def _parts(sender_key: str) -> tuple[str, str, str]:
    """`slack:T1:U2` is channel, scope and sender; `telegram:42` has no scope. Two keys never have the same parts."""
    channel, _, identity = sender_key.partition(":")
    scope, _, sender = identity.rpartition(":")
    return (channel, scope, sender) if scope else (channel, "", identity)


def _join_key(channel: str, scope: str, sender: str) -> str:
    return f"{channel}:{scope}:{sender}" if scope else f"{channel}:{sender}"


_owner = sa.func.coalesce(users.c.alias_of, users.c.id).label("owner")
_senders = sa.select(_owner, identities.c.channel, identities.c.scope, identities.c.sender).join(
    users, users.c.id == identities.c.user_id
)
_grants = sa.select(_owner, grants.c.channel, grants.c.account, grants.c.granted_by).join(
    users, users.c.id == grants.c.user_id
)
_users = sa.select(*(column for column in users.c if column is not users.c.created_at))  # instants are slow to read
_RANKS = ("blocked", "member", "operator", "owner")


def _people(connection: Connection, which: sa.ColumnElement[bool]) -> list[Person]:
    """Return these users, each with what the users linked to them bring."""
    found = connection.execute(_users.where(which).order_by(users.c.id)).all()
    chosen = sa.select(users.c.id).where(which)
    every_id = sa.or_(which, users.c.alias_of.in_(chosen))
    senders = _group(
        (row.owner, _join_key(row.channel, row.scope, row.sender))
        for row in connection.execute(_senders.where(every_id)).all()
    )
    granted = connection.execute(_grants.where(every_id)).all()
    linked = connection.execute(_users.where(users.c.alias_of.in_(chosen))).all()
    accounts = [(row.owner, f"{row.channel}:{row.account}", row.granted_by) for row in granted]
    by_people = _group((owner, name) for owner, name, by in accounts if by not in (BY_POLICY, REVOKED))
    by_policy = _group((owner, name) for owner, name, by in accounts if by == BY_POLICY)
    revoked = _group((owner, name) for owner, name, by in accounts if by == REVOKED)
    aliases = _group((row.alias_of, row.id) for row in linked)
    roles = _group((row.alias_of, row.role) for row in linked)
    return [
        Person(
            user_id=row.id,
            tenant=row.tenant_id,
            role=_lesser_role(row.role, roles.get(row.id, frozenset())),
            display_name=row.display_name,
            locale=row.locale,
            timezone=row.timezone,
            week_start=row.week_start,
            identities=senders.get(row.id, frozenset()),
            grants=by_people.get(row.id, frozenset()),
            policy_grants=by_policy.get(row.id, frozenset()),
            revoked=revoked.get(row.id, frozenset()),
            lacks_zone=row.zone_from == NOBODY,
            model=row.model,
            agents=row.agents or {},
            aliases=aliases.get(row.id, frozenset()),
            keeps_language=row.keeps_language,
            wants_voice=row.wants_voice,
        )
        for row in found
    ]


def _lesser_role(role: str, of_linked: Iterable[str]) -> str:
    """Return an owner's role as it is, any other no higher than those of the linked users."""
    return role if role == "owner" else min((role, *of_linked), key=_RANKS.index)


def _group(pairs: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for owner, value in pairs:
        found.setdefault(owner, set()).add(value)
    return {owner: frozenset(values) for owner, values in found.items()}
