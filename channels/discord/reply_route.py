"""An interaction's answer finds its way by the route of its event, which is written and read here. Pure.

`interaction_replies` answers by it, and `ephemeral_replies` what one person alone may see.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from channels.discord.translate import instant_of
from channels.messages import Route

ROUTE_INTERACTION = "interaction"  # by completing the deferred response, then in the chat
ROUTE_PRESS = "press"  # in the chat; its own way is only taken where the bot may not write
ROUTE_PRIVATE = "private"  # to one person alone: by the interaction, then in their direct messages, never in the chat

TOKEN_LIFE = timedelta(minutes=14)  # Discord's tokens live 15
_ALWAYS = timedelta(days=36_500)  # a person can be written to when their token is over


@dataclass(frozen=True, slots=True)
class ReplyRoute:
    """One interaction, as far as its answer needs it."""

    kind: str  # one of the routes
    interaction: str  # its id
    token: str  # a secret: never logged
    person: str = ""  # who alone sees the answer; "": everybody

    @classmethod
    def of(cls, route: Route) -> "ReplyRoute":
        """What a stored route says."""
        interaction, token, person = (*route.token.split("/"), "", "")[:3]
        return cls(route.kind, interaction, token, person)

    def as_route(self) -> Route:
        """As it is stored. One to a person has no end."""
        life = _ALWAYS if self.person else TOKEN_LIFE
        kept = f"{self.interaction}/{self.token}/{self.person}" if self.person else f"{self.interaction}/{self.token}"
        return Route(self.kind, kept, instant_of(self.interaction) + life, private=bool(self.person))

    def lives(self, now: datetime) -> bool:
        """Whether Discord still takes the token, with a minute to spare."""
        return now < instant_of(self.interaction) + TOKEN_LIFE
