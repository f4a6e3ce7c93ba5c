"""Reply route of a command or of a press that only one person sees, stored with its event. Pure.

`ephemeral_replies` sends by it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from channels.foreign import instant_of
from channels.messages import Route

RESPONSE_URL = "response_url"
LASTS = timedelta(minutes=30)  # docs.slack.dev/interactivity/handling-user-interaction (read 2026-11); five uses
_ALWAYS = timedelta(days=36_500)  # direct messages work after the response URL has expired


@dataclass(frozen=True, slots=True)
class ReplyRoute:
    """One response URL and its person."""

    person: str  # user id of the only person to see the answer
    ends_at: datetime  # aware UTC, whole seconds
    url: str  # a secret: never logged

    @classmethod
    def of(cls, route: Route) -> "ReplyRoute":
        """Read a stored route."""
        person, ends_s, url = (*route.token.split(" ", 2), "", "")[:3]
        return cls(person, instant_of(ends_s, route.expires_at), url)

    def as_route(self) -> Route:
        """Return the route to store. It never expires: a private answer must not become public."""
        kept = f"{self.person} {int(self.ends_at.timestamp())} {self.url}"
        return Route(RESPONSE_URL, kept, self.ends_at + _ALWAYS, private=True)

    def is_valid(self, now: datetime) -> bool:
        """Return True if Slack still accepts the URL."""
        return now < self.ends_at
