"""`SlackSimulator`: a Slack on the loopback interface, with people in it.

The real SDK talks to `base_url` unmodified. People act by the methods here, or over /sim/ (`shared.simulator`). Chats
are named by id: D1 is the direct message of the bot with U1, C1 a channel with the bot in it.

    POST   /sim/say        {"chat": "D1", "text": "hi", "person"?, "under"?} -> the message's ts
    POST   /sim/edit       {"chat": "D1", "message_id": "…", "text": "ho"}     also /sim/delete
    POST   /sim/command    {"chat": "D1", "name": "/log", "text"?: "45m guitar", "person"?}
    POST   /sim/press      {"chat": "D1", "message_id": "…", "value": "yes"}
    POST   /sim/add_person {"person": "U1", "name": "Ann", "locale"?: "es-ES"}
    POST   /sim/add_app    {"bot_token"?, "app_token"?, "signing_secret"?, "webhook_url"?, "scopes"?: "chat:write,…"}
    POST   /sim/socket     {"do": "refresh" | "close" | "abort"}

How faithfully it is simulated: `checks`, `methods`, `sockets`.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, Self

from aiohttp import web
from pydantic import JsonValue

from channels.simulators.shared.faults import FaultScript
from channels.simulators.shared.simulator import LOOPBACK, Simulator
from channels.simulators.shared.world import Chat, Edit, File, JsonObject
from channels.simulators.slack.methods import ChatMethods, ReadingMethods
from channels.simulators.slack.posting import RETRY_AFTER_S, Posted, Poster
from channels.simulators.slack.sockets import Envelope, SocketHub
from channels.simulators.slack.state import (
    APP_TOKEN,
    BOT_TOKEN,
    RESPONSE_URL_S,
    SCOPES,
    SIGNING_SECRET,
    AppAccount,
    Person,
    ResponseUrl,
    ShownMessage,
    SlackChat,
    SlackWorld,
)
from channels.simulators.slack.streaming import StreamMethods
from channels.simulators.slack.webapi import WebApi

Delivered = Envelope | Posted

_LIKE_COMMANDS = 'In Slack, all messages that start with the "/" character are interpreted as commands.'


class SlackSimulator(Simulator[str, ShownMessage]):
    """Direct messages and channels, by Socket Mode or over HTTP. People are users or their numbers: 7 is U7."""

    name = "slack"
    title = "Slack"
    orders = ("say", "edit", "delete", "command", "press", "add_person", "add_app", "socket")

    def __init__(
        self,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        any_token: bool = False,
        per_chat_per_s: float | None = None,
        keys_count: bool = True,
        redeliver_after_s: float = 3.0,
        hold_s: float = 60.0,
        retry_after_s: tuple[float, ...] = RETRY_AFTER_S,
    ) -> None:
        """Nothing listens before `async with` (or `start`).

        Args:
            host: where to listen; keep it on loopback, /sim/ asks for no password.
            port: 0 takes a free one.
            any_token: the first bot token that calls becomes the app's; otherwise it is answered invalid_auth.
            per_chat_per_s: posts to one chat above this end in 429; None lets all pass.
            keys_count: a repeated `client_msg_id` is said once. What a real Slack does is told nowhere; without it
                only a look into the history keeps an answer from being said twice.
            redeliver_after_s: an envelope not acknowledged for so long is delivered again.
            hold_s: an envelope that finds no socket for so long is lost.
            retry_after_s: waits before each retry of an event posted over HTTP.
        """
        self.world = SlackWorld()
        faults = FaultScript(
            "error", "unacked", only_by_name={"apps.connections.open", "auth.test", "socket.ack", "users.info"}
        )
        super().__init__(self.world, faults, host=host, port=port)
        self.sockets = SocketHub(faults, self.world.notify, redeliver_after_s=redeliver_after_s, hold_s=hold_s)
        self.poster = Poster(self.world, retry_after_s)
        chats = ChatMethods(self.world, per_chat_per_s=per_chat_per_s, keys_count=keys_count)
        reading = ReadingMethods(self.world, chats)
        table = {**chats.table, **StreamMethods(self.world, chats).table, **reading.table}
        self._api = WebApi(self.world, faults, table, reading, self._open_socket, any_token=any_token)

    @classmethod
    def with_bot(cls, commands: Iterable[str] | None = None, *, keys_count: bool = True) -> Self:
        """Return a simulator with an app, which has these slash commands; None: any."""
        simulator = cls(keys_count=keys_count)
        simulator.add_app(commands=commands)
        return simulator

    def _open_socket(self) -> str:
        return f"ws://{self._host}:{self._port}/link/?ticket={self.sockets.ticket()}"

    async def start(self) -> None:
        """Listen, and tell where.

        Raises:
            OSError: the port is taken.
        """
        await super().start()
        self.world.base_url = self.base_url

    async def work(self) -> None:
        await self.poster.run()

    async def aclose(self) -> None:
        """Stop listening and cut what is open, the sockets first."""
        self.sockets.aclose()
        self.sockets.abort_all()
        await super().aclose()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        handler = {
            "api": self._api.handle,
            "link": self.sockets.handle,
            "hooks": self._api.respond,
            "upload": self._api.upload,
            "files-pri": self._api.download,
        }.get(request.path.split("/")[1])
        return web.Response(status=404) if handler is None else await handler(request)

    def environment(self) -> Mapping[str, str]:
        app = self.app
        return {
            "SLACK_BOT_TOKEN": app.bot_token,
            "SLACK_APP_TOKEN": app.app_token,
            "SLACK_API_BASE": self.base_url,
        }

    def has_bot(self) -> bool:
        return self.world.app is not None

    def is_connected(self) -> bool:
        return self.sockets.connected > 0

    def arrivals(self) -> int:
        return self.sockets.connections

    def count_unacknowledged(self) -> int:
        return len(self.sockets.open)

    def forget(self) -> None:
        """Lose what waits for a socket: it has waited too long."""
        self.sockets.lost += self.sockets.open
        self.sockets.open.clear()

    # ------------------------------------------------------------ people and chats

    def add_app(
        self,
        bot_token: str = BOT_TOKEN,
        app_token: str = APP_TOKEN,
        signing_secret: str = SIGNING_SECRET,
        commands: Iterable[str] | None = None,
        *,
        webhook_url: str = "",
        scopes: str = SCOPES,
    ) -> AppAccount:
        """Install an app; `commands` are those of its manifest, None any that a person types."""
        declared = None if commands is None else frozenset(commands)
        app = AppAccount(bot_token, app_token, signing_secret, commands=declared)
        app.webhook_url, app.scopes = webhook_url, scopes
        self.world.app = app
        return app

    def add_person(
        self,
        person: str,
        name: str,
        *,
        display_name: str | None = None,
        real_name: str = "",
        team: str = "",
        deleted: bool = False,
        locale: str = "",
    ) -> None:
        """Give a person a handle; what they chose to be called is the same (None), another, or nothing ("")."""
        shown = name if display_name is None else display_name
        self.world.people[person] = Person(name, shown, real_name, team, deleted, locale)

    def name_person(self, person: int, name: str) -> None:
        self.add_person(f"U{person}", name)

    def rename(self, person: str, display_name: str) -> None:
        """Choose another name; the app is told."""
        renamed = self.world.people[person] = replace(self.world.people[person], display_name=display_name)
        self.event({"type": "user_change", "user": renamed.as_user(person, self.app.team)})

    def direct(self, person: int) -> str:
        return f"D{person}"

    def room(self, number: int) -> str:
        return self.world.chat(f"C{number}").id

    def chats(self) -> Mapping[str, SlackChat]:
        return self.world.chats

    @property
    def app(self) -> AppAccount:
        """Return the app."""
        return self.world.the_app()

    @property
    def mention(self) -> str:
        return f"<@{self.app.user}>"

    def _user(self, chat: SlackChat, person: str | int | None) -> str:
        if person is None:
            return "U" + chat.id[1:] if chat.direct else "U9"
        return f"U{person}" if isinstance(person, int) else person

    # ------------------------------------------------------------ what they do

    def say(
        self,
        chat: str,
        text: str,
        *,
        person: str | int | None = None,
        under: str | None = None,
        files: Sequence[File] = (),
        extra: JsonObject | None = None,
        deliver: bool = True,
    ) -> str:
        """Write; return the message's ts. Events are on their way when this returns.

        `person` is who (None: the person of a direct message, U9 in a channel); `extra` is laid over the event;
        without `deliver` the message stands in the chat and no event tells of it (a lost one).
        """
        there = self.world.chat(chat)
        message = ShownMessage(
            self.world.new_ts(),
            chat,
            self._user(there, person),
            by_bot=False,
            text=text,
            raw=text,
            thread=under,
            files=list(files),
        )
        there.messages[message.message_id] = message
        if deliver:
            self._tell(there, message, extra or {})
        self.world.notify()
        return message.message_id

    def _tell(self, chat: SlackChat, message: ShownMessage, extra: JsonObject) -> None:
        app = self.app
        body: JsonObject = (
            self.world.as_message(message)
            | {
                "channel": chat.id,
                "channel_type": chat.channel_type,
                "event_ts": message.message_id,
            }
            | extra
        )
        if app.user in chat.members:
            self.event(body)
        if not chat.direct and f"<@{app.user}" in message.text:
            mention = {key: value for key, value in body.items() if key not in ("channel_type", "subtype")}
            self.event(mention | {"type": "app_mention"})

    def upload(
        self,
        name: str,
        content: bytes,
        mimetype: str = "application/pdf",
        *,
        size: int | None = None,
        seconds: float | None = None,
    ) -> File:
        """Return a file to `say` something with; `size` is what Slack tells of it, `seconds` make it an audio clip."""
        new_id = self.world.new_name("F")
        file = File("document", content, name, mimetype, told_bytes=size, id=new_id, seconds=seconds)
        self.world.files[file.id] = file
        return file

    def send_voice(self, chat: str, content: bytes, seconds: float = 3.0, *, person: str | int | None = None) -> str:
        clip = self.upload("audio_message.m4a", content, "audio/mp4", seconds=seconds)
        return self.say(chat, "", person=person, files=[clip])

    def send_picture(self, chat: str, content: bytes, text: str = "", *, person: str | int | None = None) -> str:
        return self.say(chat, text, person=person, files=[self.upload("picture.png", content, "image/png")])

    def change(self, chat: Chat[str, ShownMessage], message: ShownMessage, text: str) -> None:
        before = self.world.as_message(message)
        message.text = message.raw = text
        message.edits.append(Edit(text))
        message.edited_ts = self.world.new_ts()
        self._tell_change(
            chat.id,
            "message_changed",
            message.edited_ts,
            {
                "message": self.world.as_message(message),
                "previous_message": before,
            },
        )

    def take_back(self, chat: Chat[str, ShownMessage], message: ShownMessage) -> None:
        told: JsonObject = {"deleted_ts": message.message_id, "previous_message": self.world.as_message(message)}
        message.deleted = True
        self._tell_change(chat.id, "message_deleted", self.world.new_ts(), told)

    def _tell_change(self, chat: str, subtype: str, ts: str, more: JsonObject) -> None:
        told: JsonObject = {
            "type": "message",
            "subtype": subtype,
            "hidden": True,
            "channel": chat,
            "channel_type": self.world.chats[chat].channel_type,
            "ts": ts,
            "event_ts": ts,
        }
        self.event(told | more)

    def command(
        self, chat: str, name: str, text: str = "", *, person: str | int | None = None, team: str | None = None
    ) -> Delivered:
        """Use a slash command, named with its slash or without.

        Raises:
            LookupError: no app of the workspace declares it; the app hears nothing, and the person reads these words.
        """
        command, there, app = f"/{name.removeprefix('/')}", self.world.chat(chat), self.app
        user = self._user(there, person)
        if app.commands is not None and command not in app.commands:
            raise LookupError(f"{command} is not a valid command. {_LIKE_COMMANDS}")
        return self._deliver(
            "slash_commands",
            {
                "token": "deprecated",
                "team_id": team or app.team,
                "team_domain": "simulated",
                "channel_id": chat,
                "channel_name": there.name,
                "user_id": user,
                "user_name": self._name(user),
                "command": command,
                "text": text,
                "api_app_id": app.app,
                "response_url": self._response_url(chat, user),
                "trigger_id": f"{self.world.new_name('')}.{self.world.new_ts()}",
            },
        )

    def press(
        self,
        chat: str,
        message_id: str,
        value: str,
        *,
        person: str | int | None = None,
        forged: str | None = None,
    ) -> Delivered:
        """Press the button with this value or action id under a message; `forged` is sent as its value."""
        there, app = self.world.chat(chat), self.app
        message, user = there.messages[message_id], self._user(there, person)
        buttons = [button for button in message.elements if value in (button.get("value"), button.get("action_id"))]
        if not buttons:
            raise LookupError(f"no button {value!r} under this message")
        button = buttons[0]
        container: JsonObject = {
            "type": "message",
            "message_ts": message_id,
            "channel_id": chat,
            "is_ephemeral": message.only_for is not None,
        }
        if message.thread is not None:
            container["thread_ts"] = message.thread
        pressed: JsonObject = {key: button.get(key) for key in ("type", "action_id", "value", "text")}
        if forged is not None:
            pressed["value"] = forged
        return self._deliver(
            "interactive",
            {
                "type": "block_actions",
                "user": {"id": user, "name": self._name(user), "team_id": app.team},
                "team": {"id": app.team, "domain": "simulated"},
                "channel": {"id": chat, "name": there.name},
                "container": container,
                "message": self.world.as_message(message),
                "api_app_id": app.app,
                "actions": [pressed | {"action_ts": self.world.new_ts(), "block_id": "b"}],
                "trigger_id": f"{self.world.new_name('')}.{self.world.new_ts()}",
                "response_url": self._response_url(chat, user),
            },
        )

    def _response_url(self, chat: str, user: str) -> str:
        name = self.world.new_name("R")
        self.world.response_urls[name] = ResponseUrl(chat, user, time.monotonic() + RESPONSE_URL_S)
        return f"{self.base_url}/hooks/{name}"

    def _name(self, user: str) -> str:
        person = self.world.people.get(user)
        return f"person-{user.lower()}" if person is None else person.name

    def invite(self, chat: str, *, person: str = "U9") -> None:
        """Add the bot to a channel."""
        app = self.app
        self.world.chat(chat).members.add(app.user)
        self.event(
            {"type": "member_joined_channel", "user": app.user, "channel": chat, "team": app.team, "inviter": person}
        )

    def remove(self, chat: str) -> None:
        """Remove the bot from a channel."""
        self.world.chat(chat).members.discard(self.app.user)
        self.event({"type": "channel_left", "channel": chat})

    # ------------------------------------------------------------ what they see

    def messages(self, chat: str, person: str | int | None = None) -> list[ShownMessage]:
        """Return what a person sees of a chat now; in a direct message None is its person."""
        seen_by = self._user(self.world.chats[chat], person) if chat in self.world.chats else None
        return super().messages(chat, seen_by if person is not None or chat.startswith("D") else None)

    def end_streams(self) -> None:
        """End every open stream, as Slack does by itself after a while."""
        for chat in self.world.chats.values():
            for message in chat.messages.values():
                message.stream_ends_s = min(message.stream_ends_s, time.monotonic())
        self.world.notify()

    def pings(self) -> list[str]:
        """Return every mention that would have notified a person, over all chats."""
        return [
            ping for chat in self.world.chats.values() for message in chat.messages.values() for ping in message.pings
        ]

    # ------------------------------------------------------------ how it reaches the app

    def event(self, event: JsonObject, *, event_id: str | None = None) -> Delivered:
        """Deliver any event of the Events API."""
        app = self.app
        return self._deliver(
            "events_api",
            {
                "token": "deprecated",
                "team_id": app.team,
                "api_app_id": app.app,
                "event": event,
                "type": "event_callback",
                "event_id": event_id or self.world.new_name("Ev"),
                "event_time": int(time.time()),
            },
        )

    def inject(self, payload: JsonObject, kind: str = "events_api") -> Delivered:
        """Deliver any payload at all."""
        return self._deliver(kind, payload)

    def _deliver(self, kind: str, payload: JsonObject) -> Delivered:
        to = self.poster if self.app.webhook_url else self.sockets
        return to.push(kind, payload)

    def socket(self, do: Literal["refresh", "close", "abort"]) -> None:
        """Disturb every socket, over /sim/."""
        {"refresh": self.sockets.refresh, "close": self.sockets.close_all, "abort": self.sockets.abort_all}[do]()

    def read_id(self, text: str) -> str:
        return text

    def status(self) -> JsonValue:
        return {
            "sockets": self.sockets.connected,
            "connections": self.sockets.connections,
            "waiting": len(self.sockets.open),
            "lost": len(self.sockets.lost),
            "pings": list(self.pings()),
            "faults_hit": self.faults.hits(),
        }
