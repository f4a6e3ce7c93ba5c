"""OAuth flows that people have begun: each holds for ten minutes, is theirs alone and ends with its first use.

They stand in the database, so that a restart between link and code loses none: the state hashed, and with the verifier
sealed for its person. What a provider is asked is a matter of `gateway.credentials.oauth`.
"""

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from agent.ports import Principal
from gateway.safety.vault import CannotOpen, SecretOf, Vault
from gateway.store import credentials
from gateway.store.credentials import KeptFlow
from gateway.store.engine import Store

HOLDS = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, repr=False)
class OAuthFlow:
    """One flow."""

    provider: str
    state: str
    verifier: str  # of PKCE: 64 characters


class OAuthFlows:
    """Those of a gateway."""

    def __init__(self, store: Store, vault: Vault, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._vault = vault
        self._clock = clock

    async def begin(self, who: Principal, provider: str) -> OAuthFlow:
        """A new one, in place of that which the person had with this provider."""
        flow = OAuthFlow(provider, secrets.token_urlsafe(32), secrets.token_urlsafe(48))
        sealed = self._vault.seal(json.dumps([flow.state, flow.verifier]), _secret_of(who, provider))
        now = self._clock()
        kept = KeptFlow(who.tenant, who.user_id, provider, sealed, now + HOLDS)
        await self._store.write(partial(credentials.begin_flow, state=flow.state, kept=kept, now=now))
        return flow

    async def of_person(self, who: Principal, provider: str) -> OAuthFlow | None:
        """That which a person has begun with a provider, over or not."""
        find = partial(credentials.flow_of, tenant=who.tenant, user_id=who.user_id, provider=provider)
        return self._open(who, await self._store.read(find, lasting=True))

    async def take(self, who: Principal, state: str) -> OAuthFlow | None:
        """The flow with this state, which is over with it; None where it is, or is another person's."""
        take = partial(credentials.take_flow, tenant=who.tenant, user_id=who.user_id, state=state)
        kept = await self._store.write(take)
        return self._open(who, kept) if kept is not None and self._clock() < kept.ends_at else None

    def _open(self, who: Principal, kept: KeptFlow | None) -> OAuthFlow | None:
        if kept is None:
            return None
        try:
            state, verifier = json.loads(self._vault.open(kept.sealed, _secret_of(who, kept.provider)))
        except CannotOpen:  # its key was taken out since
            return None
        return OAuthFlow(kept.provider, state, verifier)


def _secret_of(who: Principal, provider: str) -> SecretOf:
    return SecretOf(who.tenant, who.user_id, f"oauth:{provider}")
