"""`/group`: operators allow a group from its chat and set when the bot answers; and the button that allows it."""

from collections.abc import Mapping
from functools import partial

from channels.base import CommandOption
from gateway.access.buttons import long_id
from gateway.access.config import Role
from gateway.access.policy import AccessSnapshot
from gateway.commands.base import Changed, Command, Handle, Invocation, Reply, Write
from gateway.commands.decisions import VOID
from gateway.operators.actions import NotAllowed
from gateway.operators.models import GroupChange
from gateway.operators.process import AccessChange
from gateway.operators.service import Operators
from gateway.store import groups
from gateway.store.engine import Connection
from gateway.store.groups import MOST_CONTEXT, Group

ALLOW = "group_allow"
"""Word of the button under "not allowed yet"."""

WORDS: Mapping[str, GroupChange] = {
    "on": GroupChange(allowed=True),
    "off": GroupChange(allowed=False),
    "mention": GroupChange(every_message=False),
    "all": GroupChange(every_message=True),
}


def group_command(people: AccessSnapshot, operators: Operators) -> Command:
    """Return `/group`, for operators and owners, in groups."""
    what = CommandOption("what", "menu.group.what", choices=(*WORDS, "context"))
    handle = _GroupSettings(people, operators).group
    return Command("group", "menu.group", handle, least_role=Role.OPERATOR, options=(what,), shared=True)


def group_decisions(people: AccessSnapshot, operators: Operators) -> Mapping[str, Handle]:
    """Return the button for the operator who addressed the bot."""
    return {ALLOW: _GroupSettings(people, operators).allow}


class _GroupSettings:
    """Handlers of `/group` and its button."""

    def __init__(self, people: AccessSnapshot, operators: Operators) -> None:
        self._people = people
        self._operators = operators

    async def group(self, asked: Invocation) -> Reply | Write:
        """Show a group's settings, or change them."""
        if asked.direct:
            return Reply(asked.say("groups.only_there"))
        word, _, number = asked.arguments.strip().lower().partition(" ")
        wanted = WORDS.get(word)
        if word == "context" and number.strip().isdecimal():
            wanted = GroupChange(context=min(int(number.strip()[:4]), MOST_CONTEXT))
        if word and wanted is None:
            return Reply(asked.say("groups.how", most=MOST_CONTEXT))
        return Write(self._set_here, asked, wanted or GroupChange())

    def _set_here(self, connection: Connection, asked: Invocation, wanted: GroupChange) -> Reply:
        group = self._set(connection, asked, groups.find(connection, asked.principal.tenant, asked.address), wanted)
        if group is None or not wanted.allowed:
            return self._reply(asked, group)
        return self._reply(asked, group, self._take_up(connection, asked, group.id))

    async def allow(self, asked: Invocation) -> Reply | Write:
        """Allow the group that the button names."""
        group_id = long_id(asked.arguments)
        return Write(self._allow, asked, group_id) if group_id else Reply(asked.say(VOID))

    def _allow(self, connection: Connection, asked: Invocation, group_id: str) -> Reply:
        """Allow the group, and admit what the operator said there before."""
        group = self._set(connection, asked, groups.GROUPS.get(connection, id=group_id), WORDS["on"])
        if group is None:
            return self._reply(asked, None)
        return self._reply(asked, group, self._take_up(connection, asked, group_id))

    def _take_up(self, connection: Connection, asked: Invocation, group_id: str) -> AccessChange:
        return self._operators.take_up_group(connection, group_id, asked.principal.user_id, asked.clock())

    def _set(self, connection: Connection, asked: Invocation, group: Group | None, wanted: GroupChange) -> Group | None:
        """Change a group's settings and return them; None if the person may not."""
        if group is None:
            return None
        try:
            return self._operators.change_group(asked.principal.user_id, connection, group, wanted)
        except NotAllowed:
            return None

    def _reply(self, asked: Invocation, group: Group | None, taken_up: AccessChange | None = None) -> Reply:
        if group is None:
            return Reply(asked.say(VOID))
        return Reply(self._text(asked, group), changed=Changed(after=partial(self._announce, group, taken_up)))

    def _announce(self, group: Group, taken_up: AccessChange | None) -> None:
        self._people.put_group(group)
        if taken_up is not None:
            self._operators.process.announce(taken_up)

    def _text(self, asked: Invocation, group: Group) -> str:
        rules = self._people.rules_of(group.tenant).rules_of(group.channel, group.account)
        listed = rules.lists_group(f"{group.channel}:{group.chat}")
        if not (listed or group.allowed):
            return asked.say("groups.off")
        rule = asked.say("groups.all" if group.every_message else "groups.mention")
        kept = asked.plural("groups.context", group.context)
        by = [asked.say("groups.listed")] if listed else []
        return " ".join([asked.say("groups.on"), rule, kept, *by])
