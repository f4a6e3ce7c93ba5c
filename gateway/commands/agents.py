"""`/agent`: which agent answers here. A person chooses in direct chats, operators in groups."""

from collections.abc import Sequence
from functools import partial

from agent.catalogue import escape
from agent.wellformed import clean
from channels.base import CommandOption
from gateway.access.agents import AgentChoice, OfferedAgent
from gateway.access.policy import AccessSnapshot
from gateway.commands.base import Changed, Command, HelpGroup, Invocation, Reply, Write
from gateway.commands.decisions import VOID
from gateway.commands.session import person_changed
from gateway.operators.actions import NotAllowed
from gateway.operators.models import GroupChange
from gateway.operators.service import Operators
from gateway.store import groups, people
from gateway.store.engine import Connection

SHOWN_CHARS = 60


def agent_commands(choice: AgentChoice, snapshot: AccessSnapshot, operators: Operators) -> Sequence[Command]:
    """Return `/agent`, if there is more than one."""
    if choice.is_single:
        return ()
    names = tuple(agent.name for agent in choice.offered if not agent.for_operators)
    option = CommandOption("name", "menu.agent.name", choices=names)
    handle = _AgentCommand(choice, snapshot, operators).choose
    return (Command("agent", "menu.agent", handle, options=(option,), shared=True, group=HelpGroup.CHAT),)


class _AgentCommand:
    """Handler of `/agent`."""

    def __init__(self, choice: AgentChoice, snapshot: AccessSnapshot, operators: Operators) -> None:
        self._choice = choice
        self._people = snapshot
        self._operators = operators

    async def choose(self, asked: Invocation) -> Reply | Write:
        """List the agents, or choose the one that answers what is written here from now on."""
        wanted = clean(asked.arguments).casefold()
        if not wanted:
            return Reply(asked.say("agents.list", rows=self._rows(asked)))
        found = next((agent for agent in self._mine(asked) if agent.name == wanted), None)
        if found is None:
            return Reply(asked.say("agents.unknown", name=escape(wanted[:SHOWN_CHARS]), rows=self._rows(asked)))
        if self._is_direct(asked):
            return Write(self._set_own, asked, found.name)
        return Write(self._set_group, asked, found.name) if asked.by_operator else Reply(asked.say("agents.in_groups"))

    def _is_direct(self, asked: Invocation) -> bool:
        route = getattr(asked.row.event, "route", None)
        return asked.direct or (route is not None and route.private)

    def _mine(self, asked: Invocation) -> list[OfferedAgent]:
        """Return the agents that the person may choose."""
        return [agent for agent in self._choice.offered if asked.by_operator or not agent.for_operators]

    def _rows(self, asked: Invocation) -> str:
        now = self._choice.choose(asked.row.event, self._people.person(asked.principal.user_id))
        rows = []
        for agent in self._mine(asked):
            name = escape(agent.name)
            rows.append(f"- {f'**{name}**' if agent.name == now else name}: {escape(agent.about)}")
        return "\n".join(rows)

    def _set_own(self, connection: Connection, asked: Invocation, name: str) -> Reply:
        where = f"{asked.address.channel}:{asked.address.account}"
        people.set_agent(connection, asked.principal.user_id, where, name)
        return Reply(asked.say("agents.chosen", name=escape(name)), changed=person_changed(connection, asked))

    def _set_group(self, connection: Connection, asked: Invocation, name: str) -> Reply:
        group = groups.find(connection, asked.principal.tenant, asked.address)
        try:
            wanted = GroupChange(agent=name)
            changed = self._operators.change_group(asked.principal.user_id, connection, group, wanted)
        except NotAllowed:
            return Reply(asked.say(VOID))
        known = Changed(after=partial(self._people.put_group, changed))
        return Reply(asked.say("agents.chosen_here", name=escape(name)), changed=known)
