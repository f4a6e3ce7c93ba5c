"""`TelegramSimulator`: a Telegram on the loopback interface, with people in it.

The real SDK talks to `base_url` unmodified. People act by the methods here, or over /sim/ (`shared.simulator`):

    POST   /sim/say        {"chat": 1, "text": "hi", "person"?, "under"?, "thread"?, "bot"?} -> the message's id
    POST   /sim/edit       {"chat": 1, "message_id": 7, "text": "ho"}
    POST   /sim/send_file  {"chat": 1, "file": {"kind": "document", "content": "<base64>", "name"?, "mime"?, "album"?},
                            "caption"?, "person"?, "under"?, "thread"?};   kind: photo | document | voice | audio
    POST   /sim/press      {"chat": 1, "message_id": 8, "value": "yes"} -> the id of the press
    POST   /sim/block      {"chat": 1}          also /sim/unblock
    POST   /sim/add_person {"person": 1, "name": "Ana", "language_code"?: "es"}
    POST   /sim/add_chat   {"chat": -100500, "kind": "supergroup", "title"?, "forum"?}
    POST   /sim/migrate    {"chat": -5, "new_chat": -1000000000005, "person": 7}
    POST   /sim/add_bot    {"token": "1:abc", "username"?}
    GET    /sim/draft?chat=1   the answer that is being written; null when none shows

How faithfully it is simulated: `checks`, `updates`, `methods`.
"""

import re
import time
from collections.abc import Mapping
from typing import Self

from aiohttp import web
from pydantic import JsonValue

from channels.simulators.shared.faults import FaultScript
from channels.simulators.shared.simulator import LOOPBACK, Kept, Simulator
from channels.simulators.shared.world import Chat, Edit, File, JsonObject
from channels.simulators.telegram.botapi import BotApi
from channels.simulators.telegram.checks import utf16_length
from channels.simulators.telegram.hooks import HookMethods, Pusher
from channels.simulators.telegram.methods import Methods
from channels.simulators.telegram.state import (
    Bot,
    ChatType,
    Draft,
    Person,
    ShownMessage,
    TelegramChat,
    TelegramWorld,
)

TOKEN = "123456:AAF-made_up_token_for_tests"  # noqa: S105  of a bot that only the simulator knows

DRAFT_SHOWN_S = 30.0
MESSAGE_KEPT_S = 86_400
CALLBACK_KEPT_S = 150

_COMMAND = re.compile(r"(?<!\S)/[A-Za-z0-9_]{1,64}(?:@\w{3,32})?")
_MENTION = re.compile(r"(?<!\w)@\w{3,32}")


class TelegramSimulator(Simulator[int, ShownMessage]):
    """Private chats, whose ids are their people's, and groups. `bot` arguments are tokens; None is the first bot."""

    name = "telegram"
    title = "Telegram"
    orders = (
        "say",
        "edit",
        "send_file",
        "press",
        "block",
        "unblock",
        "add_person",
        "add_chat",
        "migrate",
        "add_bot",
    )

    def __init__(
        self,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        any_token: bool = False,
        throttled: bool = True,
        per_chat_per_s: float | None = None,
        webhook_time_scale: float = 1.0,
    ) -> None:
        """Nothing listens before `async with` (or `start`).

        Args:
            host: where to listen; keep it on loopback, /sim/ asks for no password.
            port: 0 takes a free one.
            any_token: an unknown token becomes a bot on first use; otherwise it is answered 401.
            throttled: keep Telegram's brake on polls that repeat an offset within 3 s.
            per_chat_per_s: sends to one chat above this end in 429; None lets all pass.
            webhook_time_scale: shortens the waits between attempts at a webhook; 0.001 makes milliseconds of seconds.
        """
        self.world = TelegramWorld(any_token=any_token, throttled=throttled)
        faults = FaultScript("duplicate", "malformed", only_by_name={"getupdates", "download", "webhook"})
        super().__init__(self.world, faults, host=host, port=port)
        self._pusher = Pusher(faults, self.world.notify, time_scale=webhook_time_scale)
        self.world.pushed = self._pusher.wake
        methods = Methods(self.world, HookMethods(self._pusher.hook_changed), per_chat_per_s=per_chat_per_s)
        self._bot_api = BotApi(self.world, methods, faults)

    @classmethod
    def with_bot(cls, token: str = TOKEN, *, throttled: bool = True) -> Self:
        """Return a simulator that knows a bot."""
        simulator = cls(throttled=throttled)
        simulator.add_bot(token)
        return simulator

    async def work(self) -> None:
        await self._pusher.run()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        return await self._bot_api.handle(request)

    def environment(self) -> Mapping[str, str]:
        return {"TELEGRAM_BOT_TOKEN": self.bot.token, "TELEGRAM_API_BASE": self.base_url}

    def has_bot(self) -> bool:
        return bool(self.world.bots)

    def is_connected(self) -> bool:
        return self.bot.updates.polls > 0

    def arrivals(self) -> int:
        return self.bot.updates.polls

    def count_unacknowledged(self) -> int:
        return len(self.bot.updates)

    def forget(self) -> None:
        """Keep all: Telegram keeps updates for a day."""

    # ------------------------------------------------------------ people and chats

    @property
    def bot(self) -> Bot:
        """Return the first bot."""
        return self.world.bot()

    def add_bot(self, token: str, *, username: str = "tenk_bot", name: str = "TenK") -> Bot:
        """Make this token known to Telegram."""
        return self.world.add_bot(token, username, name)

    def add_person(
        self, person: int, name: str, *, username: str | None = None, language_code: str | None = None
    ) -> None:
        """Give a person a name and a language; others are called "Person" and their id."""
        self.world.people[person] = Person(person, name, username, language_code)

    def name_person(self, person: int, name: str) -> None:
        self.add_person(person, name, language_code="en")

    def add_chat(
        self,
        chat: int,
        kind: ChatType | None = None,
        *,
        title: str | None = None,
        forum: bool = False,
        bot: str | None = None,
    ) -> TelegramChat:
        """Return a chat the bot is in; make it if it is new.

        Without a kind it is private for positive ids, else a supergroup below -10^12, else a group.
        """
        chats = self.world.bot(bot).chats
        if chat not in chats:
            if kind is None:
                kind = "private" if chat > 0 else "supergroup" if chat < -(10**12) else "group"
            if kind == "private":
                person = self.world.person(chat)
                chats[chat] = TelegramChat(chat, kind=kind, title=person.first_name, username=person.username)
            else:
                chats[chat] = TelegramChat(chat, kind=kind, title=title or f"Group {-chat}", forum=forum)
        return chats[chat]

    def direct(self, person: int) -> int:
        return person

    def room(self, number: int) -> int:
        return self.add_chat(-(10**12) - number, "supergroup").id

    def chats(self) -> Mapping[int, TelegramChat]:
        return self.bot.chats

    @property
    def mention(self) -> str:
        return f"@{self.bot.username}"

    # ------------------------------------------------------------ what they do

    def say(
        self,
        chat: int,
        text: str = "",
        *,
        person: int | None = None,
        under: int | None = None,
        thread: int | None = None,
        extra: JsonObject | None = None,
        bot: str | None = None,
    ) -> int:
        """Write; return the message's id. `extra` is laid over the Bot API's Message."""
        return self._post(chat, text, [], person, under, thread, extra or {}, bot)

    def send_file(
        self,
        chat: int,
        file: File,
        *,
        caption: str = "",
        person: int | None = None,
        under: int | None = None,
        thread: int | None = None,
    ) -> int:
        """Send a photo, a document, a voice message or music; return the message's id."""
        if file.kind not in ("photo", "document", "voice", "audio"):
            raise ValueError(f"{file.kind} is no kind of file")
        kept = self.bot.keep_file(file)
        return self._post(chat, caption, [kept], person, under, thread, {})

    def send_voice(self, chat: int, content: bytes, seconds: float = 3.0, *, person: int | None = None) -> int:
        return self.send_file(chat, File("voice", content, mime="audio/ogg", seconds=seconds), person=person)

    def send_picture(self, chat: int, content: bytes, text: str = "", *, person: int | None = None) -> int:
        return self.send_file(chat, File("photo", content), caption=text, person=person)

    def _post(
        self,
        chat_id: int,
        text: str,
        files: list[File],
        person: int | None,
        under: int | None,
        thread: int | None,
        extra: JsonObject,
        token: str | None = None,
    ) -> int:
        """Put a message into a chat, and queue its update."""
        bot, chat = self.world.bot(token), self.add_chat(chat_id, bot=token)
        message = ShownMessage(
            bot.next_message_id(chat),
            chat_id,
            person or chat_id,
            by_bot=False,
            text=text,
            reply_to=under,
            thread=thread,
            files=files,
            entities=_find_entities(text),
        )
        body = self.world.as_message(bot, chat, message) | extra
        if isinstance(topic := body.get("message_thread_id"), int):
            message.thread = topic
            chat.threads.add(topic)
        chat.messages[message.message_id] = message
        self._push(bot, "channel_post" if chat.kind == "channel" else "message", body)
        self.world.notify()
        return message.message_id

    def _push(self, bot: Bot, kind: str, body: JsonObject, kept_s: int = MESSAGE_KEPT_S) -> None:
        bot.updates.push(kind, body, expires_at=time.time() + kept_s)

    def command(self, chat: int, name: str, text: str = "", *, person: int | None = None) -> Kept:
        """Write a message: Telegram keeps it like others."""
        return Kept(self.say(chat, f"/{name} {text}".strip(), person=person))

    def has_command(self, name: str, text: str) -> bool:
        return False

    def change(self, chat: Chat[int, ShownMessage], message: ShownMessage, text: str) -> None:
        message.edits.append(Edit(text))
        message.text, message.entities = text, _find_entities(text)
        self._push(self.bot, "edited_message", self.world.as_message(self.bot, self.bot.chats[chat.id], message))

    def take_back(self, chat: Chat[int, ShownMessage], message: ShownMessage) -> None:
        """Delete a message; Telegram tells bots nothing of it."""
        message.deleted = True

    def press(self, chat: int, message_id: int, value: str, *, person: int | None = None) -> str:
        """Press a button under a message; return the id of the press."""
        account, there = self.bot, self.bot.chats[chat]
        callback_id = f"{time.time_ns()}{len(account.callbacks)}"
        account.callbacks[callback_id] = False
        body: JsonObject = {
            "id": callback_id,
            "from": self.world.person(person or chat).as_user(),
            "chat_instance": str(chat),
            "message": self.world.as_message(account, there, there.messages[message_id]),
            "data": value,
        }
        self._push(account, "callback_query", body, CALLBACK_KEPT_S)
        self.world.notify()
        return callback_id

    def block(self, chat: int) -> None:
        """Block the bot, or remove it from a group."""
        self._change_membership(chat, member=False)

    def unblock(self, chat: int) -> None:
        """Unblock the bot, or add it to a group."""
        self._change_membership(chat, member=True)

    def _change_membership(self, chat_id: int, *, member: bool) -> None:
        chat = self.add_chat(chat_id)
        statuses = ["kicked" if chat.kind == "private" else "left", "member"]
        before, after = statuses if member else reversed(statuses)
        chat.blocked = not member
        body: JsonObject = {
            "chat": chat.as_chat(),
            "from": self.world.person(abs(chat_id)).as_user(),
            "date": int(time.time()),
            "old_chat_member": _as_member(self.bot, before),
            "new_chat_member": _as_member(self.bot, after),
        }
        self._push(self.bot, "my_chat_member", body)

    def migrate(self, chat: int, new_chat: int, *, person: int = 1) -> None:
        """Make a group a supergroup with another id; both chats are told, as Telegram does."""
        old = self.bot.chats[chat]
        self.add_chat(new_chat, "supergroup", title=old.title)
        self.say(chat, person=person, extra={"migrate_to_chat_id": new_chat})
        self.say(new_chat, person=person, extra={"migrate_from_chat_id": chat})
        old.moved_to = new_chat

    def inject(self, update: JsonObject) -> int:
        """Queue any JSON object as an update; return its update id."""
        return self.bot.updates.push_raw(update)

    # ------------------------------------------------------------ what they see

    def draft(self, chat: int, *, thread: int | None = None) -> Draft | None:
        """Return the answer that is being written, as the person sees it now; None when nothing of it shows."""
        there = self.bot.chats.get(chat)
        draft = None if there is None else there.drafts.get(thread)
        return draft if draft is not None and time.monotonic() - draft.at_s < DRAFT_SHOWN_S else None

    def view(self, name: str, query: Mapping[str, str]) -> object:
        return self.draft(int(query["chat"])) if name == "draft" else super().view(name, query)

    def read_id(self, text: str) -> int:
        return int(text)

    def status(self) -> JsonValue:
        return {
            "bots": [
                {
                    "id": bot.id,
                    "username": bot.username,
                    "waiting": len(bot.updates),
                    "polls": bot.updates.polls,
                    "menus": {language: list(menu) for language, menu in bot.commands.items()},
                    "webhook": None if bot.webhook is None else bot.webhook.url,
                }
                for bot in self.world.bots.values()
            ],
            "faults_hit": self.faults.hits(),
        }


def _as_member(bot: Bot, status: str) -> JsonObject:
    member: JsonObject = {"status": status, "user": bot.as_user()}
    return member | {"until_date": 0} if status == "kicked" else member


def _find_entities(text: str) -> tuple[JsonObject, ...]:
    """Return the commands and mentions the server finds in what people write."""
    found = [("bot_command", match) for match in _COMMAND.finditer(text)]
    commands = [match.span() for _, match in found]
    found += [
        ("mention", match)
        for match in _MENTION.finditer(text)
        if not any(start <= match.start() < end for start, end in commands)
    ]
    found.sort(key=lambda found_at: found_at[1].start())
    return tuple(
        {"type": kind, "offset": utf16_length(text[: match.start()]), "length": utf16_length(match[0])}
        for kind, match in found
    )
