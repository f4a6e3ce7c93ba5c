"""Puts the API together: the handlers over one gateway's parts, in one table. Nothing is decided here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version

from channels.api.adapter import ApiChannel
from channels.api.config import ApiAccount
from gateway.access.config import AccessConfig
from gateway.access.operations import AccessOperations
from gateway.access.policy import AccessSnapshot
from gateway.delivery.dead_letters import DeadLetters
from gateway.http.api.callers import ApiCallers
from gateway.http.api.chat import ChatRoutes, chat_routes
from gateway.http.api.conversations import Conversations
from gateway.http.api.openai_chat import OpenAiRoutes, openai_routes
from gateway.http.api.operators import OperatorRoutes, operator_routes
from gateway.http.api.routes import ApiRoute
from gateway.http.api.server import ApiDeps
from gateway.store.engine import Store


@dataclass(frozen=True, slots=True)
class ApiParts:
    """The parts of a gateway that the API is in front of."""

    store: Store
    channel: ApiChannel
    account: ApiAccount
    operations: AccessOperations
    snapshot: AccessSnapshot
    access: Callable[[], AccessConfig]  # as it is in force
    origins: frozenset[str]  # of pages that may ask
    clock: Callable[[], datetime]
    letters: DeadLetters


def api_deps(parts: ApiParts, agent: str, title: str, own_routes: Sequence[ApiRoute]) -> ApiDeps:
    """What programs of one tenant ask: the agent of this name, with the routes that only it has."""
    conversations = Conversations(parts.store, parts.channel, parts.account)
    routes = (
        *chat_routes(ChatRoutes(conversations, parts.store)),
        *own_routes,
        *openai_routes(OpenAiRoutes(conversations, agent)),
        *operator_routes(OperatorRoutes(parts.store, parts.operations, parts.clock, parts.letters)),
    )
    callers = ApiCallers(parts.store, parts.snapshot, parts.access, parts.clock)
    return ApiDeps(
        store=parts.store, routes=routes, principal=callers.principal, title=title, version=version("tenk-gateway"),
        origins=parts.origins,
    )  # fmt: skip
