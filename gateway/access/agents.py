"""The choice of the agent that a message is for, among the agents of a tenant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from channels.messages import ChatKind, InboundEvent
from gateway.access.config import Role
from gateway.access.policy import AccessSnapshot
from gateway.store.people import Person


@dataclass(frozen=True, slots=True)
class OfferedAgent:
    """An agent as people see it in a list."""

    name: str
    about: str  # one line
    for_operators: bool = False  # only operators may choose it


class AgentChoice:
    """The agents of one tenant, and where each answers. A reload changes it."""

    def __init__(self, default: str, people: AccessSnapshot) -> None:
        """Take the tenant's own agent, which answers where no other is set or chosen."""
        self.default = default
        self.offered: Sequence[OfferedAgent] = ()
        """The tenant's own first; empty if there is no other."""
        self._people = people
        self._names: frozenset[str] = frozenset()
        self._for_operators: frozenset[str] = frozenset()
        self._accounts: Mapping[str, str] = {}
        self._groups: Mapping[str, str] = {}

    def reconfigure(
        self, offered: Sequence[OfferedAgent], accounts: Mapping[str, str], groups: Mapping[str, str]
    ) -> None:
        """Apply the agents and settings of a reload to the next message."""
        self.offered, self._accounts, self._groups = offered, accounts, groups
        self._names = frozenset(agent.name for agent in offered)
        self._for_operators = frozenset(agent.name for agent in offered if agent.for_operators)

    @property
    def names(self) -> frozenset[str]:
        """Return the names of all agents."""
        return self._names or frozenset((self.default,))

    @property
    def is_single(self) -> bool:
        """Return True if the tenant's own agent is the only one."""
        return not self._names

    def choose(self, event: InboundEvent, person: Person | None) -> str:
        """Return the agent for an event: chosen in its chat, else set for its group or account, else the default."""
        if self.is_single:
            return self.default
        address, route = event.address, getattr(event, "route", None)
        account = f"{address.channel}:{address.account}"
        is_private = route is not None and route.private
        if getattr(event, "kind", ChatKind.DIRECT) is ChatKind.DIRECT or is_private:
            return self._first(self._find_choice(person, account), account)
        group, chat = self._people.group(event.tenant, address), f"{address.channel}:{address.chat}"
        listed = self._groups.get(chat) or self._groups.get(self._people.first_id(chat))
        return self._first(None if group is None else group.agent, account, listed)

    def of_sender(self, tenant: str, sender_key: str, account: str) -> str:
        """Return the agent of a sender's direct chat with an account (`web:main`)."""
        person = self._people.find(tenant, sender_key)
        return self._first(self._find_choice(person, account), account)

    def _find_choice(self, person: Person | None, account: str) -> str | None:
        """Return the person's choice, unless it is for operators by now and they are none."""
        name = None if person is None else person.agents.get(account)
        if person is None or name not in self._for_operators or Role(person.role).allows(Role.OPERATOR):
            return name
        return None

    def _first(self, chosen: str | None, account: str, listed: str | None = None) -> str:
        wanted = (chosen, listed, self._accounts.get(account))
        return next((name for name in wanted if name in self._names), self.default)
