"""What happens in the simulated Slack reaches the app by socket or by HTTP. Who does what is in `simulated`."""

import time

from channels.simulators.shared.server import Watched
from channels.simulators.slack.checks import JsonObject
from channels.simulators.slack.faults import Faults
from channels.simulators.slack.posting import Posted, Poster
from channels.simulators.slack.sockets import Envelope, SocketHub
from channels.simulators.slack.state import RESPONSE_URL_S, Chat, ResponseUrl, World

Delivered = Envelope | Posted


class DeliveringSlack(Watched[str]):
    """The world, the fault script in force, and both ways out."""

    def __init__(self, *, redeliver_after_s: float, hold_s: float, retry_after_s: tuple[float, ...]) -> None:
        """See `SlackSimulator`."""
        self._world = World()
        super().__init__(self._world)
        self.faults = Faults()
        self.sockets = SocketHub(self.faults, self._notify, redeliver_after_s=redeliver_after_s, hold_s=hold_s)
        self.poster = Poster(self._world, self._notify, retry_after_s)

    @property
    def world(self) -> World:
        """Everything remembered, for what the methods below do not offer."""
        return self._world

    @property
    def base_url(self) -> str:
        """Where it listens."""
        raise AssertionError("the server says so")

    def event(self, event: JsonObject, *, event_id: str | None = None) -> Delivered:
        """Deliver any event of the Events API."""
        app = self._world.the_app()
        return self._deliver("events_api", {
            "token": "deprecated", "team_id": app.team, "api_app_id": app.app, "event": event,
            "type": "event_callback", "event_id": event_id or self._world.new_name("Ev"),
            "event_time": int(time.time()),
        })  # fmt: skip

    def inject(self, payload: JsonObject, kind: str = "events_api") -> Delivered:
        """Deliver any payload at all."""
        return self._deliver(kind, payload)

    def _deliver(self, kind: str, payload: JsonObject) -> Delivered:
        if self._world.the_app().webhook_url:
            return self.poster.push(kind, payload)
        return self.sockets.push(kind, payload)

    def _response_url(self, chat: str, user: str) -> str:
        name = self._world.new_name("R")
        self._world.response_urls[name] = ResponseUrl(chat, user, time.monotonic() + RESPONSE_URL_S)
        return f"{self.base_url}/hooks/{name}"

    def _person_of(self, chat: Chat) -> str:
        return "U" + chat.id[1:] if chat.direct else "U9"

    def _name(self, user: str) -> str:
        person = self._world.people.get(user)
        return f"person-{user.lower()}" if person is None else person.name
