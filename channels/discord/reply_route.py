"""Reply route of an interaction, written to and read from the event's route. Pure.

`interaction_replies` and, for private answers, `ephemeral_replies` send by it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from channels.discord.translate import instant_of
from channels.messages import Route

ROUTE_INTERACTION = "interaction"  # by completing the deferred response, then in the chat
ROUTE_PRESS = "press"  # in the chat; by the interaction only if the bot may not write there
ROUTE_PRIVATE = "private"  # to one person alone: by the interaction, then in their direct messages, never in the chat

TOKEN_LIFE = timedelta(minutes=14)  # Discord's tokens live 15
_ALWAYS = timedelta(days=36_500)  # direct messages work after the token has expired


@dataclass(frozen=True, slots=True)
class ReplyRoute:
    """The data needed to answer one interaction."""

    kind: str  # one of the routes
    interaction: str  # its id
    token: str  # a secret: never logged
    person: str = ""  # the only person to see the answer; "": all

    @classmethod
    def of(cls, route: Route) -> "ReplyRoute":
        """Read a stored route."""
        interaction, token, person = (*route.token.split("/"), "", "")[:3]
        return cls(route.kind, interaction, token, person)

    def as_route(self) -> Route:
        """Return the route to store. A private route never expires: a private answer must not become public."""
        life = _ALWAYS if self.person else TOKEN_LIFE
        kept = f"{self.interaction}/{self.token}/{self.person}" if self.person else f"{self.interaction}/{self.token}"
        return Route(self.kind, kept, instant_of(self.interaction) + life, private=bool(self.person))

    def is_valid(self, now: datetime) -> bool:
        """Return True if Discord still accepts the token, with a minute to spare."""
        return now < instant_of(self.interaction) + TOKEN_LIFE
