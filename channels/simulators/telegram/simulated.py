"""`SimulatedTelegram`: the person's side of the simulator, without any network.

What people do is queued for the bot when a call returns; what they see is read back here.
"""

import time

from channels.simulators.shared.server import Watched
from channels.simulators.telegram import people
from channels.simulators.telegram.checks import JsonObject
from channels.simulators.telegram.faults import Faults
from channels.simulators.telegram.state import (
    Bot,
    Chat,
    ChatType,
    Draft,
    Person,
    PersonFile,
    ShownFile,
    ShownMessage,
    World,
)

DRAFT_SHOWN_S = 30.0


class SimulatedTelegram(Watched[int]):
    """People, chats and bots, and the fault script in force. `bot` arguments are tokens; None is the first bot."""

    def __init__(self, *, any_token: bool, throttled: bool) -> None:
        """See `TelegramSimulator`."""
        self._world = World(any_token=any_token, throttled=throttled)
        super().__init__(self._world)
        self.faults = Faults()

    @property
    def world(self) -> World:
        """Everything remembered, for what the methods below do not offer."""
        return self._world

    # What a test or a demo does before anybody talks.

    def add_bot(self, token: str, *, username: str = "tenk_bot", name: str = "TenK") -> Bot:
        """Make this token known to Telegram."""
        return self._world.add_bot(token, username, name)

    def add_person(
        self, person_id: int, first_name: str, *, username: str | None = None, language_code: str | None = None
    ) -> Person:
        """Somebody with a name; people nobody added are called "Person" and their id."""
        person = self._world.people[person_id] = Person(person_id, first_name, username, language_code)
        return person

    def add_chat(
        self, chat_id: int, kind: ChatType, *, title: str | None = None, forum: bool = False, bot: str | None = None
    ) -> Chat:
        """A chat the bot is in; private ones appear by themselves when somebody writes."""
        return people.chat_for(self._world, self._world.bot(bot), chat_id, kind, title=title, forum=forum)

    # The person's side.

    def say(
        self,
        chat_id: int,
        text: str,
        *,
        person: int | None = None,
        reply_to: int | None = None,
        thread: int | None = None,
        extra: JsonObject | None = None,
        bot: str | None = None,
    ) -> int:
        """Somebody writes; returns the message id. The update is queued when this returns.

        `person` is who (None: the person of a private chat); `extra` is laid over the Bot API's Message.
        """
        account = self._world.bot(bot)
        chat = people.chat_for(self._world, account, chat_id)
        laid_over = dict(extra or {})
        if thread is not None:
            laid_over |= {"message_thread_id": thread, "is_topic_message": True}
        said = people.say(
            self._world, account, chat, text, person_id=person or chat_id, reply_to=reply_to, extra=laid_over
        )
        self._notify()
        return said.message_id

    def send_file(
        self,
        chat_id: int,
        file: PersonFile,
        *,
        caption: str = "",
        person: int | None = None,
        reply_to: int | None = None,
        thread: int | None = None,
        bot: str | None = None,
    ) -> int:
        """Somebody sends a photo, a document or a voice message; returns the message id."""
        account = self._world.bot(bot)
        chat = people.chat_for(self._world, account, chat_id)
        shown = account.keep_file(file)
        extra: JsonObject = {} if thread is None else {"message_thread_id": thread, "is_topic_message": True}
        who = person or chat_id
        said = people.say(
            self._world, account, chat, caption, person_id=who, reply_to=reply_to, extra=extra, file=shown
        )
        self._notify()
        return said.message_id

    def edit(self, chat_id: int, message_id: int, text: str, *, bot: str | None = None) -> None:
        """Somebody changes what they wrote."""
        account = self._world.bot(bot)
        chat = account.chats[chat_id]
        people.edit(self._world, account, chat, chat.messages[message_id], text)
        self._notify()

    def delete(self, chat_id: int, message_id: int, *, bot: str | None = None) -> None:
        """Somebody takes back what they wrote; Telegram tells bots nothing of it."""
        self._world.bot(bot).chats[chat_id].messages[message_id].deleted = True
        self._notify()

    def press(
        self, chat_id: int, message_id: int, data: str, *, person: int | None = None, bot: str | None = None
    ) -> str:
        """Somebody presses a button under a message; returns the id of the press."""
        account = self._world.bot(bot)
        chat = account.chats[chat_id]
        pressed = people.press(self._world, account, chat, chat.messages[message_id], data, person_id=person or chat_id)
        self._notify()
        return pressed

    def block(self, chat_id: int, *, person: int | None = None, bot: str | None = None) -> None:
        """A person blocks the bot, or somebody removes it from a group."""
        self._change_membership(chat_id, member=False, person=person, bot=bot)

    def unblock(self, chat_id: int, *, person: int | None = None, bot: str | None = None) -> None:
        """A person unblocks the bot, or somebody adds it to a group."""
        self._change_membership(chat_id, member=True, person=person, bot=bot)

    def _change_membership(self, chat_id: int, *, member: bool, person: int | None, bot: str | None) -> None:
        account = self._world.bot(bot)
        chat = people.chat_for(self._world, account, chat_id)
        people.change_membership(self._world, account, chat, member=member, person_id=person or abs(chat_id))

    def migrate(self, chat_id: int, new_chat_id: int, *, person: int, bot: str | None = None) -> None:
        """A group becomes a supergroup."""
        account = self._world.bot(bot)
        people.migrate(self._world, account, account.chats[chat_id], new_chat_id, person_id=person)

    def inject(self, update: JsonObject, *, bot: str | None = None) -> int:
        """Queue any JSON object as an update; returns its update id."""
        return self._world.bot(bot).updates.push_raw(update)

    # What people see, and what arrived.

    def messages_in(self, chat_id: int, *, bot: str | None = None) -> list[ShownMessage]:
        """The chat as a person sees it now: both sides, in order, without what was deleted."""
        chat = self._world.bot(bot).chats.get(chat_id)
        return [] if chat is None else [message for message in chat.messages.values() if not message.deleted]

    def answers(self, chat_id: int, *, bot: str | None = None) -> list[ShownMessage]:
        """Of `shown`, what the bot said."""
        return [message for message in self.messages_in(chat_id, bot=bot) if message.by_bot]

    def draft(self, chat_id: int, *, thread: int | None = None, bot: str | None = None) -> Draft | None:
        """The answer that is being written, as the person sees it now; None when nothing of it shows (any more)."""
        chat = self._world.bot(bot).chats.get(chat_id)
        draft = None if chat is None else chat.drafts.get(thread)
        return draft if draft is not None and time.monotonic() - draft.at_s < DRAFT_SHOWN_S else None

    def content(self, file: ShownFile, *, bot: str | None = None) -> bytes:
        """What is in a file that somebody sent or the bot did."""
        return self._world.bot(bot).files[file.file_id].content
