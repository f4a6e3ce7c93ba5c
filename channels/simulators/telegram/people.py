"""The person's side: what people say, change, press and block, turned into the updates Telegram would queue.

Nothing of HTTP or of the bot's own calls lives here. All functions are synchronous: an update is queued when they
return.
"""

import re
import time

from channels.simulators.shared.history import Edit
from channels.simulators.telegram.checks import JsonObject, Refusal, utf16_length
from channels.simulators.telegram.rich import as_rich_message
from channels.simulators.telegram.state import Bot, Chat, ChatType, ShownFile, ShownMessage, World

MESSAGE_KEPT_S = 86_400
CALLBACK_KEPT_S = 150

_COMMAND = re.compile(r"(?<!\S)/[A-Za-z0-9_]{1,64}(?:@\w{3,32})?")
_MENTION = re.compile(r"(?<!\w)@\w{3,32}")


def chat_for(
    world: World, bot: Bot, chat_id: int, kind: ChatType | None = None, *, title: str | None = None, forum: bool = False
) -> Chat:
    """The chat, made when it is new: private for positive ids, else a supergroup below -10^12, else a group."""
    if chat_id in bot.chats:
        return bot.chats[chat_id]
    if kind is None:
        kind = "private" if chat_id > 0 else "supergroup" if chat_id < -(10**12) else "group"
    if kind == "private":
        person = world.person(chat_id)
        chat = Chat(chat_id, kind, person.first_name, person.username)
    else:
        chat = Chat(chat_id, kind, title or f"Group {-chat_id}", forum=forum)
    bot.chats[chat_id] = chat
    return chat


def say(
    world: World,
    bot: Bot,
    chat: Chat,
    text: str,
    *,
    person_id: int,
    reply_to: int | None,
    extra: JsonObject | None,
    file: ShownFile | None = None,
) -> ShownMessage:
    """Somebody writes, or sends a file with `text` as its caption; `extra` is laid over the Bot API's Message."""
    message = ShownMessage(
        message_id=bot.next_message_id(chat),
        chat_id=chat.id,
        sender_id=person_id,
        by_bot=False,
        text=text,
        date=int(time.time()),
        at_s=time.monotonic(),
        entities=_found_in(text),
        reply_to=reply_to,
        file=file,
    )
    body = as_message(world, bot, chat, message)
    body.update(extra or {})
    if isinstance(thread := body.get("message_thread_id"), int):
        message.thread = thread
        chat.threads.add(thread)
    chat.messages[message.message_id] = message
    kind = "channel_post" if chat.kind == "channel" else "message"
    bot.updates.push(kind, body, expires_at=time.time() + MESSAGE_KEPT_S)
    return message


def edit(world: World, bot: Bot, chat: Chat, message: ShownMessage, text: str) -> None:
    """Somebody changes what they wrote."""
    message.edits.append(Edit(text, time.monotonic()))
    message.text = text
    message.entities = _found_in(text)
    body = as_message(world, bot, chat, message)
    bot.updates.push("edited_message", body, expires_at=time.time() + MESSAGE_KEPT_S)


def press(world: World, bot: Bot, chat: Chat, message: ShownMessage, data: str, *, person_id: int) -> str:
    """Somebody presses a button under a message; returns the id of the press."""
    callback_id = f"{time.time_ns()}{len(bot.callbacks)}"
    bot.callbacks[callback_id] = False
    body: JsonObject = {
        "id": callback_id,
        "from": world.person(person_id).as_user(),
        "chat_instance": str(chat.id),
        "message": as_message(world, bot, chat, message),
        "data": data,
    }
    bot.updates.push("callback_query", body, expires_at=time.time() + CALLBACK_KEPT_S)
    return callback_id


def change_membership(world: World, bot: Bot, chat: Chat, *, member: bool, person_id: int) -> None:
    """Somebody blocks or unblocks the bot (private), removes or adds it (groups)."""
    out = "kicked" if chat.kind == "private" else "left"
    before, after = ("member", out) if not member else (out, "member")
    chat.blocked = not member
    body: JsonObject = {
        "chat": chat.as_chat(),
        "from": world.person(person_id).as_user(),
        "date": int(time.time()),
        "old_chat_member": _as_member(bot, before),
        "new_chat_member": _as_member(bot, after),
    }
    bot.updates.push("my_chat_member", body, expires_at=time.time() + MESSAGE_KEPT_S)


def migrate(world: World, bot: Bot, chat: Chat, new_id: int, *, person_id: int) -> Chat:
    """A group becomes a supergroup with another id; both chats are told, as Telegram does."""
    new = chat_for(world, bot, new_id, "supergroup", title=chat.title)
    say(world, bot, chat, "", person_id=person_id, reply_to=None, extra={"migrate_to_chat_id": new_id})
    say(world, bot, new, "", person_id=person_id, reply_to=None, extra={"migrate_from_chat_id": chat.id})
    chat.moved_to = new_id
    return new


def _as_member(bot: Bot, status: str) -> JsonObject:
    member: JsonObject = {"status": status, "user": bot.as_user()}
    if status == "kicked":
        member["until_date"] = 0
    return member


def as_message(world: World, bot: Bot, chat: Chat, message: ShownMessage, *, depth: int = 0) -> JsonObject:
    """The Bot API's Message, with the message replied to one level deep."""
    sender = bot.as_user() if message.by_bot else world.person(message.sender_id).as_user()
    body: JsonObject = {
        "message_id": message.message_id,
        "from": sender,
        "chat": chat.as_chat(),
        "date": message.date,
    }
    body |= _content(message)
    if message.keyboard:
        body["reply_markup"] = {"inline_keyboard": [list(row) for row in message.keyboard]}
    if message.edits:
        body["edit_date"] = int(time.time())
    if message.thread is not None:
        body["message_thread_id"] = message.thread
        body["is_topic_message"] = True
    if message.reply_to is not None and depth == 0 and message.reply_to in chat.messages:
        body["reply_to_message"] = as_message(world, bot, chat, chat.messages[message.reply_to], depth=1)
    return body


def _content(message: ShownMessage) -> JsonObject:
    """What a message says, in the fields of its kind."""
    if message.blocks:
        return {"rich_message": as_rich_message(message.blocks)}
    text, entities = ("text", "entities") if message.file is None else ("caption", "caption_entities")
    body: JsonObject = {} if message.file is None else _as_file(message.file)
    if message.text:
        body[text] = message.text
    if message.entities:
        body[entities] = list(message.entities)
    if message.file is not None and message.file.album is not None:
        body["media_group_id"] = message.file.album
    return body


def _as_file(file: ShownFile) -> JsonObject:
    """The Bot API's PhotoSizes, Document or Voice."""
    body: JsonObject = {"file_id": file.file_id, "file_unique_id": f"u{file.file_id}", "file_size": file.size_bytes}
    if file.kind == "photo":
        small: JsonObject = {
            "file_id": f"{file.file_id}-small",
            "file_unique_id": f"s{file.file_id}",
            "file_size": 1_000,
        }
        return {"photo": [small | {"width": 90, "height": 60}, body | {"width": 900, "height": 600}]}
    if file.mime:
        body["mime_type"] = file.mime
    if file.kind == "voice":
        return {"voice": body | {"duration": 3}}
    if file.name:
        body["file_name"] = file.name
    return {"document": body}


def living(chat: Chat, message_id: int | None, what: str) -> ShownMessage:
    """A message that is still there.

    Raises:
        Refusal: it is not; `what` is how the Bot API calls it ("message to edit").
    """
    message = chat.messages.get(message_id) if message_id is not None else None
    if message is None or message.deleted:
        raise Refusal(400, f"Bad Request: {what} not found")
    return message


def _found_in(text: str) -> tuple[JsonObject, ...]:
    """The commands and mentions the server finds in what people write."""
    if "/" not in text and "@" not in text:
        return ()
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
