"""OAuth 2.0 with PKCE for configured providers, through authlib: authorization, codes, renewals.

A flow is valid for ten minutes, for one person and one use. Flows are rows, so that a restart loses none.
"""

import hashlib
import json
from collections.abc import MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from agent.credentials import Credential, CredentialKind
from gateway.credentials.config import OAuthConfig
from gateway.credentials.formats import read_kept
from gateway.errors import GatewayError

if TYPE_CHECKING:
    from authlib.integrations.httpx_client import AsyncOAuth2Client  # type: ignore[import-untyped]  # it has no stubs
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from agent.ports import Principal
from gateway.access import tickets
from gateway.access.tickets import POLICIES
from gateway.safety.vault import CannotOpen, SecretOf, Vault
from gateway.store.engine import Connection, Store
from gateway.store.tables.base import new_id
from gateway.store.tickets import TICKETS, Ticket, TicketKind, TicketState

TIMEOUT_S = 20.0


class NotExchanged(GatewayError):
    """Error: the provider gave no token; the message says why and reveals nothing that was sent."""


def authorize_url(config: OAuthConfig, state: str, verifier: str) -> str:
    """Return the page on which a person agrees."""
    client = _client(config)
    url, _ = client.create_authorization_url(config.authorize_url, state=state, code_verifier=verifier)
    return str(url)


async def exchange(config: OAuthConfig, code: str, state: str, verifier: str) -> Credential:
    """Exchange a code for tokens.

    Raises:
        NotExchanged: the provider refuses, or gives no usable answer.
    """
    fields = {"code": code, "code_verifier": verifier, "redirect_uri": config.redirect_url}
    if config.send_state:
        fields["body"] = urlencode({"state": state})  # authlib reserves a field of that name
    return await _ask(config, "authorization_code", fields)


async def renew(config: OAuthConfig, credential: Credential) -> Credential:
    """Return fresh tokens; keep the refresh token if the provider gives no new one.

    Raises:
        NotExchanged: the provider refuses, or gives no usable answer.
    """
    fresh = await _ask(config, "refresh_token", {"refresh_token": credential.refresh_token})
    return fresh if fresh.refresh_token else replace(fresh, refresh_token=credential.refresh_token)


async def _ask(config: OAuthConfig, grant: str, fields: dict[str, str]) -> Credential:
    from authlib.common.errors import AuthlibBaseError  # type: ignore[import-untyped]  # noqa: PLC0415  as below
    from httpx2 import HTTPError, InvalidURL  # noqa: PLC0415  as above

    headers = {"Accept": "application/json", **config.headers}
    try:
        async with _client(config) as client:
            answer = await client.fetch_token(config.token_url, grant_type=grant, headers=headers, **fields)
    except AuthlibBaseError as refusal:
        raise NotExchanged(f"the provider refuses it ({_word(refusal.error)})") from None
    except (HTTPError, InvalidURL) as problem:
        raise NotExchanged(f"the token URL gives no usable answer ({type(problem).__name__})") from None
    except (ValueError, TypeError, AttributeError):  # HTML, or JSON that is not an object
        raise NotExchanged("the token URL does not answer with JSON; check connect's token_url") from None
    kept = read_kept(json.dumps({"type": "oauth", **dict(answer)}), lambda _secret: CredentialKind.OAUTH)
    if kept is None:
        raise NotExchanged("the token URL answers without an access token")
    return kept.credential


def _word(error: object) -> str:
    """Return a provider's error code, cleaned and shortened."""
    return "".join(letter for letter in str(error)[:64] if letter.isascii() and (letter.isalnum() or letter in "_-."))


def _client(config: OAuthConfig) -> "AsyncOAuth2Client":
    from authlib.integrations.httpx_client import AsyncOAuth2Client  # noqa: PLC0415  0.2 s, only for people who connect

    def show_client(
        client: Any, _method: str, uri: str, headers: MutableMapping[str, str], body: bytes | str
    ) -> tuple[str, MutableMapping[str, str], bytes]:
        written = body.decode() if isinstance(body, bytes) else body
        fields = {**dict(parse_qsl(written)), "client_id": client.client_id}
        if client.client_secret:
            fields["client_secret"] = client.client_secret
        if config.token_encoding == "form":  # noqa: S105  no token
            return uri, headers, urlencode(fields).encode()
        headers["Content-Type"] = "application/json"
        return uri, headers, json.dumps(fields).encode()

    secret = config.client_secret.get_secret_value() if config.client_secret is not None else None
    return AsyncOAuth2Client(
        client_id=config.client_id,
        client_secret=secret,
        scope=" ".join(config.scopes) or None,
        redirect_uri=config.redirect_url,
        code_challenge_method="S256",
        token_endpoint_auth_method=show_client,
        timeout=TIMEOUT_S,
        trust_env=False,
    )


HOLDS = POLICIES[TicketKind.OAUTH].valid


@dataclass(frozen=True, slots=True, repr=False)
class OAuthFlow:
    """One authorization in progress."""

    provider: str
    state: str
    verifier: str  # of PKCE: 64 characters


class OAuthFlows:
    """Authorizations in progress."""

    def __init__(self, store: Store, vault: Vault, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._vault = vault
        self._clock = clock

    async def begin(self, who: Principal, provider: str) -> OAuthFlow:
        """Begin a flow, replacing the person's earlier one with this provider."""
        flow = OAuthFlow(provider, secrets.token_urlsafe(32), secrets.token_urlsafe(48))
        sealed = self._vault.seal(json.dumps([flow.state, flow.verifier]), _secret_of(who, provider))
        now = self._clock()
        ticket = Ticket(
            id=new_id(),
            tenant=who.tenant,
            kind=TicketKind.OAUTH,
            user_id=who.user_id,
            provider=provider,
            code_mac=_digest_of(flow.state),
            sealed=sealed,
            created_at=now,
            expires_at=now + HOLDS,
        )
        await self._store.commit(tickets.issue, ticket)
        return flow

    async def of_person(self, who: Principal, provider: str) -> OAuthFlow | None:
        """Return the flow that a person has begun with a provider, expired or not."""
        find = partial(
            TICKETS.get,
            kind=TicketKind.OAUTH,
            tenant=who.tenant,
            user_id=who.user_id,
            provider=provider,
            state=(TicketState.PENDING, TicketState.EXPIRED),
            order=TICKETS.c.created_at.desc(),
        )
        return self._open(who, await self._store.read(find, lasting=True))

    async def redeem(self, who: Principal, state: str) -> OAuthFlow | None:
        """Return the flow with this state, which ends with it; None if it had ended, or is another person's."""
        ticket = await self._store.commit(_take, who, state, self._clock())
        return self._open(who, ticket) if ticket is not None and self._clock() < ticket.expires_at else None

    def _open(self, who: Principal, ticket: Ticket | None) -> OAuthFlow | None:
        if ticket is None or ticket.sealed is None:
            return None
        try:
            state, verifier = json.loads(self._vault.open(ticket.sealed, _secret_of(who, ticket.provider)))
        except CannotOpen:  # its key was removed since
            return None
        return OAuthFlow(ticket.provider, state, verifier)


def _take(connection: Connection, who: Principal, state: str, now: datetime) -> Ticket | None:
    own = {"kind": TicketKind.OAUTH, "tenant": who.tenant, "user_id": who.user_id}
    ticket = TICKETS.get(connection, code_mac=_digest_of(state), state=TicketState.PENDING, **own)
    if ticket is None or not tickets.settle(connection, ticket.id, TicketState.APPROVED, who.user_id, now):
        return None
    return ticket


def _digest_of(state: str) -> str:
    return hashlib.sha256(state.encode("utf-8", "surrogatepass")).hexdigest()


def _secret_of(who: Principal, provider: str) -> SecretOf:
    return SecretOf(who.tenant, who.user_id, f"oauth:{provider}")
