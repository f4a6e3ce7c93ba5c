"""`/group`: an operator lets a group in from the chat itself, and says when the bot is meant there; and the button that
does the first of that.

Who of a group may command the bot is still decided by the account's rules and by roles.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from agent.ports import Principal
from channels.base import CommandOption
from gateway.access import ranks
from gateway.access.buttons import long_id
from gateway.access.policy import AccessSnapshot
from gateway.access.roles import Role
from gateway.commands.base import Command, Invocation, Reply
from gateway.commands.decisions import VOID, Decision
from gateway.store import groups, people
from gateway.store.engine import Connection, Store
from gateway.store.groups import MOST_CONTEXT, Group
from gateway.store.people import AuditRow
from gateway.texts import HARNESS

log = structlog.get_logger()

ALLOW = "group_allow"
"""The word of the button under "not allowed yet"."""

WORDS: Mapping[str, Mapping[str, bool]] = {
    "on": {"allowed": True},
    "off": {"allowed": False},
    "mention": {"every_message": False},
    "all": {"every_message": True},
}

Find = Callable[[Connection], Group | None]


FollowAllowed = Callable[[str, str], Awaitable[None]]
"""What follows once the group of this id was allowed by this user: see `AccessOperations.follow_allowed`."""


async def _follow_nothing(_group_id: str, _by: str) -> None:
    """Nothing asked for it, nothing is kept."""


@dataclass(frozen=True, slots=True)
class GroupDeps:
    """What it works with in a running gateway."""

    store: Store
    people: AccessSnapshot
    clock: Callable[[], datetime]


def group_command(deps: GroupDeps) -> Command:
    """For operators and owners, in groups."""
    what = CommandOption("what", "menu.group.what", choices=(*WORDS, "context"))
    handle = _GroupReplies(deps).group
    return Command("group", "menu.group", handle, least_role=Role.OPERATOR, options=(what,), shared=True)


def group_decisions(deps: GroupDeps, follow: FollowAllowed = _follow_nothing) -> Mapping[str, Decision]:
    """The button, made for the operator who mentioned the bot."""
    return {ALLOW: _GroupReplies(deps, follow).allow}


class _GroupReplies:
    """What is done, and said about it."""

    def __init__(self, deps: GroupDeps, follow: FollowAllowed = _follow_nothing) -> None:
        self._deps = deps
        self._follow = follow

    async def group(self, asked: Invocation) -> Reply:
        """How it is set here, or set it."""
        locale, where = asked.principal.locale, asked.address
        if asked.direct or where is None:
            return Reply(HARNESS.text(locale, "groups.only_there"))
        word, _, number = asked.arguments.strip().lower().partition(" ")
        wanted: Mapping[str, object] | None = WORDS.get(word)
        if word == "context" and number.strip().isdecimal():
            wanted = {"context": min(int(number.strip()[:4]), MOST_CONTEXT)}
        if word and wanted is None:
            return Reply(HARNESS.text(locale, "groups.how", most=MOST_CONTEXT))
        tenant = asked.principal.tenant
        return await self._set(lambda c: groups.find(c, tenant, where), wanted or {}, asked.principal)

    async def allow(self, subject: str, principal: Principal) -> Reply:
        """As `/group on`, of the group that the button is about."""
        group_id = long_id(subject)
        if not group_id:
            return Reply(HARNESS.text(principal.locale, VOID))
        reply = await self._set(lambda c: groups.GROUPS.get(c, id=group_id), WORDS["on"], principal)
        if principal.role in (Role.OPERATOR, Role.OWNER):
            await self._follow(group_id, principal.user_id)
        return reply

    async def _set(self, find: Find, wanted: Mapping[str, object], principal: Principal) -> Reply:
        deps = self._deps

        def job(connection: Connection) -> Group | None:
            group = find(connection)
            if group is None or not ranks.may_decide(connection, principal.user_id):
                return None
            changed = replace(group, **wanted)  # type: ignore[arg-type]  # fields of Group, by WORDS and /group
            if changed != group:
                groups.GROUPS.save(connection, changed)
                said = ", ".join(f"{name} {value}" for name, value in wanted.items())
                where = f"{group.channel}:{group.account}:{group.chat}"
                row = AuditRow(deps.clock(), principal.user_id, "group_changed", where, said)
                people.record(connection, principal.tenant, row)
            return changed

        group = await deps.store.commit(job)
        if group is None:
            return Reply(HARNESS.text(principal.locale, VOID))
        deps.people.put_group(group)
        log.info("group_set", channel=group.channel, chat=group.chat, by=principal.user_id, **wanted)
        return Reply(self._standing(group, principal.locale))

    def _standing(self, group: Group, locale: str | None) -> str:
        rules = self._deps.people.rules_of(group.tenant).rules_of(group.channel, group.account)
        listed = rules.lists_group(f"{group.channel}:{group.chat}")
        if not (listed or group.allowed):
            return HARNESS.text(locale, "groups.off")
        rule = HARNESS.text(locale, "groups.all" if group.every_message else "groups.mention")
        kept = HARNESS.plural(locale, "groups.context", group.context)
        by = [] if not listed else [HARNESS.text(locale, "groups.listed")]
        return " ".join([HARNESS.text(locale, "groups.on"), rule, kept, *by])
