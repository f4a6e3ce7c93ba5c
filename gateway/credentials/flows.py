"""OAuth flows that people have begun: each holds for ten minutes, is theirs alone and ends with its first use.

They are kept in memory: after a restart a person begins anew. What a provider is asked is a matter of
`gateway.credentials.oauth`.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.ports import Principal

HOLDS = timedelta(minutes=10)
MOST = 1000
"""Over it the oldest is over."""


@dataclass(frozen=True, slots=True, repr=False)
class OAuthFlow:
    """One flow."""

    state: str
    verifier: str  # of PKCE: 64 characters
    person: tuple[str, str]  # tenant and user
    provider: str
    ends_at: datetime


class OAuthFlows:
    """Those of a gateway."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._flows: dict[str, OAuthFlow] = {}  # by state, the oldest first

    def begin(self, who: Principal, provider: str) -> OAuthFlow:
        """A new one, in place of that which the person had with this provider."""
        before = self.of_person(who, provider)
        if before is not None:
            del self._flows[before.state]
        if len(self._flows) >= MOST:
            del self._flows[next(iter(self._flows))]
        person, ends_at = (who.tenant, who.user_id), self._clock() + HOLDS
        flow = OAuthFlow(secrets.token_urlsafe(32), secrets.token_urlsafe(48), person, provider, ends_at)
        self._flows[flow.state] = flow
        return flow

    def of_person(self, who: Principal, provider: str) -> OAuthFlow | None:
        """That which a person has begun with a provider, over or not."""
        mine = (flow for flow in self._flows.values() if flow.person == (who.tenant, who.user_id))
        return next((flow for flow in mine if flow.provider == provider), None)

    def take(self, who: Principal, state: str) -> OAuthFlow | None:
        """The flow with this state, which is over with it; None where it is, or is another person's."""
        flow = self._flows.get(state)
        if flow is None or flow.person != (who.tenant, who.user_id):
            return None
        del self._flows[state]
        return flow if self._clock() < flow.ends_at else None
