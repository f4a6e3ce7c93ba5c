"""A command or a press that only one person sees keeps the way to answer it as the route of its event. Pure.

What is said by it is decided in `ephemeral_replies`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from channels.foreign import instant_of
from channels.messages import Route

RESPONSE_URL = "response_url"
LASTS = timedelta(minutes=30)  # docs.slack.dev/interactivity/handling-user-interaction (read 2026-11); five uses
_ALWAYS = timedelta(days=36_500)  # a person can be written to when their response URL is over


@dataclass(frozen=True, slots=True)
class ReplyRoute:
    """One response URL, and whose it is."""

    person: str  # user id: who alone sees the answer
    ends_at: datetime  # aware UTC, whole seconds
    url: str  # a secret: never logged

    @classmethod
    def of(cls, route: Route) -> "ReplyRoute":
        """The way that a route is."""
        person, ends_s, url = (*route.token.split(" ", 2), "", "")[:3]
        return cls(person, instant_of(ends_s, route.expires_at), url)

    def as_route(self) -> Route:
        """The way as it is kept: without an end, for what one person asked alone is never answered to others."""
        kept = f"{self.person} {int(self.ends_at.timestamp())} {self.url}"
        return Route(RESPONSE_URL, kept, self.ends_at + _ALWAYS, private=True)

    def lives(self, now: datetime) -> bool:
        """Whether Slack still takes the URL."""
        return now < self.ends_at
