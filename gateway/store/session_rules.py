"""Permission rules of one conversation: the calls that a person denied there, and the rules that they set.

They hold for that person, until they are taken back or a new conversation begins.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from agent.permission_rules import PermissionRule, Source, Verdict, parse_rule
from gateway.store.people import ids_of
from gateway.store.rows import Rows
from gateway.store.tables.people import users
from gateway.store.tables.turns import session_rules

MOST_RULES = 50
"""Rules of one person in one conversation. A further denied call replaces the oldest one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRule:
    """One rule of a person in a conversation."""

    tenant: str
    session_id: str
    user_id: str
    verdict: Verdict
    rule: str  # as in `PermissionRule.text`
    fingerprint: str = ""  # of the one call that it is about; "": of any
    about: str = ""  # the arguments of that call, shortened
    since: datetime

    def to_rule(self) -> PermissionRule:
        """Return the rule as a turn reads it."""
        if self.fingerprint:
            return PermissionRule(self.verdict, Source.SESSION, self.rule, fingerprint=self.fingerprint)
        return parse_rule(self.rule, self.verdict, Source.SESSION)


RULES = Rows(session_rules, SessionRule)


def put(connection: sa.Connection, rule: SessionRule) -> bool:
    """Add a rule in place of another verdict about the same; return False if the person has too many."""
    mine = {"session_id": rule.session_id, "user_id": rule.user_id}
    RULES.delete(connection, **mine, rule=rule.rule, fingerprint=rule.fingerprint)
    if RULES.count(connection, **mine) >= MOST_RULES:
        oldest = RULES.get(connection, RULES.c.fingerprint != "", **mine, order=RULES.c.since)
        if oldest is None or not rule.fingerprint:
            return False
        take_back(connection, [oldest])
    return RULES.add(connection, rule)


def find(connection: sa.Connection, session_id: str, user_id: str) -> Sequence[SessionRule]:
    """Return a person's rules in a conversation, the oldest first."""
    return RULES.find(connection, session_id=session_id, user_id=ids_of(user_id), order=RULES.c.since)


def take_back(connection: sa.Connection, unwanted: Sequence[SessionRule]) -> None:
    for rule in unwanted:
        key = {name: getattr(rule, name) for name in ("session_id", "user_id", "rule", "fingerprint")}
        RULES.delete(connection, **key)


def of_session(connection: sa.Connection, session_id: str) -> Mapping[str, tuple[PermissionRule, ...]]:
    """Return the rules of a conversation by the person for whom they hold."""
    owner = sa.func.coalesce(users.c.alias_of, session_rules.c.user_id)
    aliases = sa.select(session_rules.c.user_id, owner.label("owner")).distinct()
    aliases = aliases.outerjoin_from(session_rules, users, users.c.id == session_rules.c.user_id)
    found: dict[str, list[PermissionRule]] = defaultdict(list)
    rules = RULES.find(connection, session_id=session_id, order=RULES.c.since)
    if not rules:
        return {}
    owners = {row.user_id: row.owner for row in connection.execute(aliases.where(RULES.c.session_id == session_id))}
    for rule in rules:
        found[owners[rule.user_id]].append(rule.to_rule())
    return {user_id: tuple(rules) for user_id, rules in found.items()}
