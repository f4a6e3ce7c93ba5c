"""The assembly of the API: its handlers in one table, and the people that callers act for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version

from agent.ports import Principal
from channels.api.adapter import ACCOUNT, CHANNEL
from gateway.access.config import Policy, Role
from gateway.access.policy import AccessSnapshot, principal_of
from gateway.commands.connect import Connecting
from gateway.http.api.chat import ChatRoutes, chat_routes, user_of
from gateway.http.api.conversations import Conversations
from gateway.http.api.oauth import OAuthRoutes, oauth_routes
from gateway.http.api.openai_chat import OpenAiRoutes, openai_routes
from gateway.http.api.openai_responses import ResponseRoutes, response_routes
from gateway.http.api.operators import operator_routes
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.routes import ApiRoute
from gateway.http.api.server import ApiDeps
from gateway.operators.service import Operators
from gateway.store import people
from gateway.store.api_keys import ApiKey
from gateway.store.engine import Store
from gateway.store.people import BY_POLICY, Newcomer

OwnRoutes = Callable[[Store, Conversations], Sequence[ApiRoute]]
"""Makes the routes of one agent product."""


@dataclass(frozen=True, slots=True)
class ApiParts:
    """The parts of a gateway that the API uses."""

    store: Store
    conversations: Conversations
    operators: Operators
    snapshot: AccessSnapshot
    clock: Callable[[], datetime]
    connecting: Connecting


def api_deps(parts: ApiParts, agent: str, title: str, own_routes: OwnRoutes) -> ApiDeps:
    """Make the API of one tenant: the agent with this name and its own routes."""
    conversations = parts.conversations
    routes = (
        *chat_routes(ChatRoutes(conversations, parts.store)),
        *own_routes(parts.store, conversations),
        *oauth_routes(OAuthRoutes(parts.store, parts.connecting)),
        *openai_routes(OpenAiRoutes(conversations, agent)),
        *response_routes(ResponseRoutes(conversations, agent)),
        *operator_routes(parts.operators),
    )
    callers = ApiCallers(parts.store, parts.snapshot, parts.clock)
    return ApiDeps(
        store=parts.store, routes=routes, principal=callers.principal, title=title, version=version("tenk-gateway")
    )


class ApiCallers:
    """The people that API keys act for."""

    def __init__(self, store: Store, snapshot: AccessSnapshot, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._snapshot = snapshot
        self._clock = clock

    async def principal(self, key: ApiKey, named: str | None, locale: str | None) -> Principal:
        """Return the person that a key acts for. The account's policy decides on new ones.

        Raises:
            ApiRefusal: the person has no access.
        """
        user = user_of(key, named)
        sender = f"{CHANNEL}:{key.id}:{user}"
        person = self._snapshot.find(key.tenant, sender)
        if person is None:
            rules = self._snapshot.rules_of(key.tenant).rules_of(CHANNEL, ACCOUNT)
            if rules.direct is not Policy.OPEN and not rules.lists(sender):
                raise _not_let_in()
            account, former_id = f"{CHANNEL}:{ACCOUNT}", self._snapshot.former_id(key.tenant, sender)
            newcomer = Newcomer(key.tenant, sender, account, user, Role.MEMBER, BY_POLICY, locale, former_id)
            person = await self._store.commit(people.enrol, newcomer, self._clock())
            self._snapshot.put(person)
        if person.role == Role.BLOCKED or f"{CHANNEL}:{ACCOUNT}" in person.revoked:
            raise _not_let_in()
        return principal_of(person)


def _not_let_in() -> ApiRefusal:
    return ApiRefusal(403, "not_let_in", "this person has no access", "Ask the operator of the gateway.")
