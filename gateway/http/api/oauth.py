"""The routes by which a program connects its people to model providers by OAuth, like `/connect` in a chat."""

from dataclasses import dataclass
from datetime import datetime

import structlog
from pydantic import Field

from agent.credentials import Credential
from agent.ports import Principal
from gateway.access.api_keys import Scope
from gateway.commands.connect import Connecting, Provider
from gateway.credentials.formats import dump
from gateway.credentials.oauth import HOLDS, NotExchanged, OAuthFlows, authorize_url, exchange
from gateway.credentials.places import OwnPlace, PlaceUnreadable
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.routes import NAME, ApiModel, ApiRequest, ApiRoute, WhoseQuery
from gateway.store import credentials
from gateway.store.credentials import Connected
from gateway.store.engine import Store

log = structlog.get_logger()


class OAuthInitRequest(ApiModel):
    """A provider to connect a person to."""

    provider: str = Field(min_length=1, max_length=200, description="A provider's name from GET /v1/oauth/status.")
    user: str | None = Field(None, pattern=NAME)


class OAuthBegun(ApiModel):
    """A started flow; it replaces an earlier one with the same provider."""

    provider: str
    authorize_url: str = Field(description="The URL to open in the person's browser.")
    state: str = Field(description="The provider returns it with the code. It works once, for this person.")
    expires_at: datetime


class OAuthExchangeRequest(ApiModel):
    """The code and state with which the provider redirected the person."""

    code: str = Field(min_length=1, max_length=10_000)
    state: str = Field(min_length=1, max_length=1_000)
    user: str | None = Field(None, pattern=NAME)


class OAuthConnection(ApiModel):
    """A provider and the person's connection to it."""

    provider: str
    title: str = Field(description="The name for people.")
    oauth: bool = Field(description="True: people connect by OAuth. False: with an API key, by /connect.")
    connected: bool
    kind: str | None = Field(description="oauth or api; null: not connected.")
    expires_at: datetime | None = Field(description="null: it does not expire.")
    renews: bool = Field(description="The gateway renews it before it expires.")


class OAuthStatus(ApiModel):
    """All providers that people may connect to."""

    providers: tuple[OAuthConnection, ...]


@dataclass(frozen=True, slots=True)
class OAuthRoutes:
    """The handlers for one tenant's providers."""

    store: Store
    connecting: Connecting

    async def init(self, call: ApiRequest) -> OAuthBegun:
        """Start an OAuth login for a person whom the caller's key speaks for."""
        body = call.body
        assert isinstance(body, OAuthInitRequest), "the route table names this model"
        provider = self.connecting.providers.get(body.provider)
        if provider is None:
            mend = "GET /v1/oauth/status lists them."
            raise ApiRefusal(404, "not_found", "there is no such provider", mend, param="provider")
        if provider.oauth is None:
            mend = "Send /connect with a key in a chat."
            raise ApiRefusal(409, "refused", f"people connect to {provider.title} with an API key", mend)
        flow = await self._flows().begin(await call.principal(body.user), body.provider)
        return OAuthBegun(
            provider=body.provider,
            authorize_url=authorize_url(provider.oauth, flow.state, flow.verifier),
            state=flow.state,
            expires_at=self.connecting.clock() + HOLDS,
        )

    async def exchange(self, call: ApiRequest) -> OAuthConnection:
        """Exchange a code for tokens and store them for the person."""
        body = call.body
        assert isinstance(body, OAuthExchangeRequest), "the route table names this model"
        who = await call.principal(body.user)
        flow = await self._flows().redeem(who, body.state)
        provider = self.connecting.providers.get(flow.provider) if flow is not None else None
        if flow is None or provider is None or provider.oauth is None:
            why = "this state was used, has expired or belongs to another person"
            raise ApiRefusal(409, "refused", why, "Start again: POST /v1/oauth/init.", param="state")
        try:
            credential = await exchange(provider.oauth, body.code, body.state, flow.verifier)
        except NotExchanged as problem:
            log.warning("code_not_exchanged", provider=flow.provider, error=str(problem))
            why = f"{provider.title} gives no token for this code: {problem}"
            raise ApiRefusal(409, "refused", why, "Start again: POST /v1/oauth/init.", param="code") from None
        await self._keep(who, flow.provider, credential)
        return await self._connection(who, flow.provider, provider)

    async def status(self, call: ApiRequest) -> OAuthStatus:
        """List a person's connections and their expiry."""
        query = call.query
        assert isinstance(query, WhoseQuery), "the route table names this model"
        who, providers = await call.principal(query.user), self.connecting.providers
        return OAuthStatus(providers=tuple([await self._connection(who, *each) for each in providers.items()]))

    def _flows(self) -> OAuthFlows:
        return OAuthFlows(self.store, self.connecting.vault, self.connecting.clock)

    async def _keep(self, who: Principal, name: str, credential: Credential) -> None:
        sealed = self.connecting.vault.seal(dump(credential), credentials.secret_of(who.tenant, who.user_id, name))
        connected = Connected(name, credential.kind.value, self.connecting.clock())
        await self.store.commit(credentials.put, who.tenant, who.user_id, connected, sealed)

    async def _connection(self, who: Principal, name: str, provider: Provider) -> OAuthConnection:
        try:
            kept = await OwnPlace(self.store, self.connecting.vault, name).read(who)
        except PlaceUnreadable:  # its encryption key is gone, so it is not used
            kept = None
        credential = None if kept is None else kept.credential
        return OAuthConnection(
            provider=name,
            title=provider.title,
            oauth=provider.oauth is not None,
            connected=credential is not None,
            kind=None if credential is None else credential.kind.value,
            expires_at=None if credential is None else credential.expires_at,
            renews=credential is not None and provider.oauth is not None and bool(credential.refresh_token),
        )


def oauth_routes(handlers: OAuthRoutes) -> tuple[ApiRoute, ...]:
    """Return the rows of the route table."""
    return (
        ApiRoute(
            method="POST",
            path="/v1/oauth/init",
            scope=Scope.CHAT,
            tag="oauth",
            summary="Start to connect a person to a provider.",
            handle=handlers.init,
            body=OAuthInitRequest,
            answer=OAuthBegun,
        ),
        ApiRoute(
            method="POST",
            path="/v1/oauth/exchange",
            scope=Scope.CHAT,
            tag="oauth",
            summary="Exchange the provider's code and connect the person.",
            handle=handlers.exchange,
            body=OAuthExchangeRequest,
            answer=OAuthConnection,
        ),
        ApiRoute(
            method="GET",
            path="/v1/oauth/status",
            scope=Scope.CHAT,
            tag="oauth",
            summary="List a person's connections and their expiry.",
            handle=handlers.status,
            query=WhoseQuery,
            answer=OAuthStatus,
        ),
    )
