"""Models of the parts of a Telegram update that we read; other fields are ignored.

Source: core.telegram.org/bots/api (10.0). Ids, chats and times are strict: a malformed one rejects the update. A
malformed detail (a size) is left out instead. aiogram's models hold the whole API and take twenty times as long.
"""

from typing import Annotated

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictInt,
    StrictStr,
)

from channels.foreign import Beside, Words, whole_of

Id = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]
UnixTime = Annotated[StrictInt, Field(ge=0, le=253_402_300_799)]  # up to the year 9999
Size = Annotated[int | None, BeforeValidator(whole_of)]
Units = Annotated[StrictInt, Field(ge=0, lt=2**31)]  # UTF-16 code units


class _Raw(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class RawUser(_Raw):
    """User."""

    id: Id
    is_bot: StrictBool = False
    first_name: StrictStr = ""
    last_name: StrictStr | None = None
    username: StrictStr | None = None
    language_code: StrictStr | None = None


class RawChat(_Raw):
    """Chat."""

    id: Id
    type: StrictStr
    title: StrictStr | None = None


class RawEntity(_Raw):
    """MessageEntity."""

    type: StrictStr
    offset: Units
    length: Units
    user: RawUser | None = None


class RawFile(_Raw):
    """PhotoSize, Document, Voice, Audio, Video and VideoNote."""

    file_id: StrictStr
    file_name: StrictStr | None = None
    mime_type: StrictStr | None = None
    file_size: Size = None
    duration: Size = None  # seconds, of Voice, Audio, Video and VideoNote


class RawNamed(_Raw):
    """The name of a user or a chat."""

    id: Beside[Id] = None
    first_name: Words = None
    last_name: Words = None
    username: Words = None
    title: Words = None

    @property
    def name(self) -> str | None:
        """Return the title, the person's name or the username."""
        return self.title or f"{self.first_name or ''} {self.last_name or ''}".strip() or self.username


class RawOrigin(_Raw):
    """MessageOrigin of all four kinds, and the fields used before Bot API 7.0."""

    sender_user: Beside[RawNamed] = None
    sender_user_name: Words = None  # of a person who hides their account
    sender_chat: Beside[RawNamed] = None
    chat: Beside[RawNamed] = None
    author_signature: Words = None

    @property
    def author(self) -> str | None:
        """Return the author's name, as far as Telegram tells it."""
        source = self.sender_user or self.sender_chat or self.chat
        name = self.sender_user_name or (source.name if source is not None else None)
        return f"{name} ({self.author_signature})" if name and self.author_signature else name


class RawExternal(_Raw):
    """ExternalReplyInfo: a reply to a message in another chat."""

    origin: Beside[RawOrigin] = None


class RawQuote(_Raw):
    """TextQuote: the part of the message that is replied to."""

    text: Words = None


class RawReplied(_Raw):
    """The message replied to."""

    message_id: Id
    from_: RawUser | None = Field(default=None, alias="from")
    sender_chat: Beside[RawNamed] = None
    forward_origin: Beside[RawOrigin] = None
    text: Words = None
    caption: Words = None
    forum_topic_created: dict[str, object] | None = None  # every message in a topic "replies" to its first


class RawMessage(_Raw):
    """Message."""

    message_id: Id
    date: UnixTime
    chat: RawChat
    from_: RawUser | None = Field(default=None, alias="from")
    sender_chat: RawChat | None = None
    via_bot: RawUser | None = None
    forward_origin: JsonValue = None  # read as RawOrigin; any value means forwarded
    forward_date: JsonValue = None  # this and the next three: before Bot API 7.0
    forward_from: Beside[RawNamed] = None
    forward_from_chat: Beside[RawNamed] = None
    forward_sender_name: Words = None
    quote: Beside[RawQuote] = None
    external_reply: Beside[RawExternal] = None
    edit_date: UnixTime | None = None
    message_thread_id: Id | None = None
    is_topic_message: StrictBool = False
    reply_to_message: RawReplied | None = None
    text: StrictStr | None = None
    entities: list[RawEntity] = []
    caption: StrictStr | None = None
    caption_entities: list[RawEntity] = []
    photo: list[RawFile] = []
    document: RawFile | None = None
    voice: RawFile | None = None
    audio: RawFile | None = None
    video: RawFile | None = None
    video_note: RawFile | None = None
    media_group_id: StrictStr | None = None
    migrate_to_chat_id: Id | None = None
    migrate_from_chat_id: Id | None = None


class RawMember(_Raw):
    """ChatMember."""

    status: StrictStr
    is_member: StrictBool = True  # only of "restricted"

    @property
    def is_inside(self) -> bool:
        """Return True if a member with this status is in the chat."""
        return self.status not in ("left", "kicked") and (self.status != "restricted" or self.is_member)


class RawMembership(_Raw):
    """ChatMemberUpdated."""

    chat: RawChat
    from_: RawUser = Field(alias="from")
    date: UnixTime
    old_chat_member: RawMember
    new_chat_member: RawMember


class RawPressedMessage(_Raw):
    """The message of a pressed button; an inaccessible one has only these fields."""

    message_id: Id
    chat: RawChat
    message_thread_id: Id | None = None
    is_topic_message: StrictBool = False


class RawPress(_Raw):
    """CallbackQuery."""

    id: StrictStr
    from_: RawUser = Field(alias="from")
    message: RawPressedMessage | None = None
    data: StrictStr | None = None


class RawUpdate(_Raw):
    """Update: its id and one other field; only the id if it is of a kind we do not read."""

    update_id: Id
    message: RawMessage | None = None
    edited_message: RawMessage | None = None
    channel_post: RawMessage | None = None
    callback_query: RawPress | None = None
    my_chat_member: RawMembership | None = None


ALLOWED_UPDATES = ["message", "edited_message", "channel_post", "callback_query", "my_chat_member"]
"""The kinds of update to ask for: all that are read here, so that Telegram's default hides none."""
