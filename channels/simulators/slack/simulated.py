"""`SimulatedSlack`: the person's side of the simulator.

What people do is on its way to the app when a call returns; what they see is read back here. Chats are named by id:
D1 is the direct message of the bot with U1, C1 a channel with the bot in it.
"""

import time
from collections.abc import Iterable
from dataclasses import replace

from channels.simulators.shared.history import Edit
from channels.simulators.shared.server import Watched
from channels.simulators.slack.checks import JsonObject
from channels.simulators.slack.faults import Faults
from channels.simulators.slack.methods import as_message
from channels.simulators.slack.posting import Posted, Poster
from channels.simulators.slack.reading import as_user
from channels.simulators.slack.sockets import Envelope, SocketHub
from channels.simulators.slack.state import (
    APP_TOKEN,
    BOT_TOKEN,
    RESPONSE_URL_S,
    SIGNING_SECRET,
    AppAccount,
    Chat,
    Person,
    ResponseUrl,
    ShownMessage,
    StoredFile,
    World,
)

Delivered = Envelope | Posted

_LIKE_COMMANDS = 'In Slack, all messages that start with the "/" character are interpreted as commands.'


class SimulatedSlack(Watched[str]):
    """People, chats, the app, the fault script in force, and both ways to the app: sockets and HTTP."""

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

    # What a test or a demo does before anybody talks.

    def add_app(
        self,
        bot_token: str = BOT_TOKEN,
        app_token: str = APP_TOKEN,
        signing_secret: str = SIGNING_SECRET,
        commands: Iterable[str] | None = None,
    ) -> AppAccount:
        """Make an app known, and installed; `commands` are those of its manifest, None any that somebody types."""
        declared = None if commands is None else frozenset(commands)
        self._world.app = AppAccount(bot_token, app_token, signing_secret, commands=declared)
        return self._world.app

    def add_person(
        self,
        user: str,
        name: str,
        *,
        display_name: str | None = None,
        real_name: str = "",
        team: str = "",
        deleted: bool = False,
        locale: str = "",
    ) -> None:
        """Somebody with a name; what they chose to be called is the same (None), another, or nothing ("")."""
        shown = name if display_name is None else display_name
        self._world.people[user] = Person(name, shown, real_name, team, deleted, locale)

    def rename(self, user: str, display_name: str) -> None:
        """Somebody chooses another name, and the app is told."""
        self._world.people[user] = replace(self._world.people[user], display_name=display_name)
        self.event({"type": "user_change", "user": as_user(user, self._world.people[user], self._world.the_app().team)})

    # The person's side.

    def say(
        self,
        chat_id: str,
        text: str,
        *,
        person: str | None = None,
        thread: str | None = None,
        files: list[StoredFile] | None = None,
        extra: JsonObject | None = None,
        deliver: bool = True,
    ) -> str:
        """Somebody writes; returns the message's ts. Events are on their way when this returns.

        `person` is who (None: the person of a direct message, U9 in a channel); `extra` is laid over the event;
        without `deliver` the message stands in the chat and no event tells of it (a lost one).
        """
        chat = self._world.chat(chat_id)
        person = person or self._person_of(chat)
        message = ShownMessage(
            self._world.new_ts(), chat.id, person, False, text, time.monotonic(), raw=text, thread=thread
        )
        message.files = [self.file_json(file) for file in files or []]
        chat.messages[message.ts] = message
        if deliver:
            self._tell(chat, message, extra or {})
        self._notify()
        return message.ts

    def _tell(self, chat: Chat, message: ShownMessage, extra: JsonObject) -> None:
        app = self._world.the_app()
        body: JsonObject = as_message(self._world, message) | {
            "channel": chat.id, "channel_type": chat.channel_type, "event_ts": message.ts,
        } | extra  # fmt: skip
        if app.user in chat.members:
            self.event(body)
        if not chat.direct and f"<@{app.user}" in message.text:
            mention = {key: value for key, value in body.items() if key not in ("channel_type", "subtype")}
            self.event(mention | {"type": "app_mention"})

    def edit(self, chat_id: str, ts: str, text: str) -> None:
        """Somebody changes what they wrote."""
        chat = self._world.chat(chat_id)
        message = self._world.message(chat, ts)
        before = as_message(self._world, message)
        message.text = message.raw = text
        message.edits.append(Edit(text, time.monotonic()))
        message.edited_ts = self._world.new_ts()
        self._changed_event(chat, "message_changed", message.edited_ts, {
            "message": as_message(self._world, message), "previous_message": before,
        })  # fmt: skip

    def delete(self, chat_id: str, ts: str) -> None:
        """Somebody takes back what they wrote."""
        chat = self._world.chat(chat_id)
        message = self._world.message(chat, ts)
        before = as_message(self._world, message)
        message.deleted = True
        told: JsonObject = {"deleted_ts": ts, "previous_message": before}
        self._changed_event(chat, "message_deleted", self._world.new_ts(), told)

    def _changed_event(self, chat: Chat, subtype: str, ts: str, more: JsonObject) -> None:
        told: JsonObject = {
            "type": "message", "subtype": subtype, "hidden": True, "channel": chat.id,
            "channel_type": chat.channel_type, "ts": ts, "event_ts": ts,
        }  # fmt: skip
        self.event(told | more)
        self._notify()

    def command(
        self, chat_id: str, command: str, text: str = "", *, person: str | None = None, team: str | None = None
    ) -> Delivered:
        """Somebody uses a slash command; what comes back says whether it was acknowledged.

        Raises:
            LookupError: no app of the workspace declares it; the app hears nothing, and the person reads these words.
        """
        chat = self._world.chat(chat_id)
        person = person or self._person_of(chat)
        app = self._world.the_app()
        if app.commands is not None and command not in app.commands:
            raise LookupError(f"{command} is not a valid command. {_LIKE_COMMANDS}")
        return self._deliver("slash_commands", {
            "token": "deprecated", "team_id": team or app.team, "team_domain": "simulated", "channel_id": chat.id,
            "channel_name": chat.name, "user_id": person, "user_name": self._name(person), "command": command,
            "text": text, "api_app_id": app.app, "response_url": self._response_url(chat.id, person),
            "trigger_id": f"{self._world.new_name('')}.{self._world.new_ts()}",
        })  # fmt: skip

    def press(
        self, chat_id: str, ts: str, action: str, *, person: str | None = None, forged: str | None = None
    ) -> Delivered:
        """Somebody presses the button with this value or action id under a message; `forged` is sent as its value."""
        chat = self._world.chat(chat_id)
        message = chat.messages[ts]
        person = person or self._person_of(chat)
        buttons = [button for button in message.buttons if action in (button.get("value"), button.get("action_id"))]
        if not buttons:
            raise LookupError(f"no button {action!r} under this message")
        button = buttons[0]
        app = self._world.the_app()
        container: JsonObject = {
            "type": "message", "message_ts": ts, "channel_id": chat.id,
            "is_ephemeral": message.ephemeral_for is not None,
        }  # fmt: skip
        if message.thread is not None:
            container["thread_ts"] = message.thread
        pressed: JsonObject = {key: button.get(key) for key in ("type", "action_id", "value", "text")}
        if forged is not None:
            pressed["value"] = forged
        return self._deliver("interactive", {
            "type": "block_actions", "user": {"id": person, "name": self._name(person), "team_id": app.team},
            "team": {"id": app.team, "domain": "simulated"}, "channel": {"id": chat.id, "name": chat.name},
            "container": container, "message": as_message(self._world, message), "api_app_id": app.app,
            "actions": [pressed | {"action_ts": self._world.new_ts(), "block_id": "b"}],
            "trigger_id": f"{self._world.new_name('')}.{self._world.new_ts()}",
            "response_url": self._response_url(chat.id, person),
        })  # fmt: skip

    def invite(self, chat_id: str, *, person: str = "U9") -> None:
        """Somebody adds the bot to a channel."""
        app = self._world.the_app()
        self._world.chat(chat_id).members.add(app.user)
        self.event({"type": "member_joined_channel", "user": app.user, "channel": chat_id, "team": app.team,
                    "inviter": person})  # fmt: skip

    def remove(self, chat_id: str) -> None:
        """Somebody removes the bot from a channel."""
        self._world.chat(chat_id).members.discard(self._world.the_app().user)
        self.event({"type": "channel_left", "channel": chat_id})

    def upload(
        self, name: str, content: bytes, mimetype: str = "application/pdf", *, size: int | None = None
    ) -> StoredFile:
        """A file to `say` something with; `size` is what Slack tells of it."""
        file = StoredFile(self._world.new_name("F"), name, mimetype, content, len(content) if size is None else size)
        self._world.files[file.id] = file
        return file

    def file_json(self, file: StoredFile) -> JsonObject:
        """A file as messages carry it."""
        raise AssertionError("the server says so")

    # What people see, and what arrived.

    def messages_in(self, chat_id: str) -> list[ShownMessage]:
        """The chat as people see it now: both sides, in order, without what was deleted."""
        chat = self._world.chats.get(chat_id)
        return [] if chat is None else [message for message in chat.messages.values() if not message.deleted]

    def answers(self, chat_id: str) -> list[ShownMessage]:
        """Of `shown`, what the bot said."""
        return [message for message in self.messages_in(chat_id) if message.by_bot]

    def end_streams(self) -> None:
        """Slack ends every open stream by itself, as it does after a while."""
        for chat in self._world.chats.values():
            for message in chat.messages.values():
                message.stream_ends_s = min(message.stream_ends_s, time.monotonic())
        self._notify()

    def pings(self) -> list[str]:
        """Every mention that would have notified somebody, over all chats."""
        return [
            ping for chat in self._world.chats.values() for message in chat.messages.values() for ping in message.pings
        ]

    # How it reaches the app.

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
