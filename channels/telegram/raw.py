"""Models name the parts of a Telegram update that are read; everything else in it is ignored.

Source: core.telegram.org/bots/api (10.0). Strict where it matters who, where and when: a number is a number, and one
that cannot be is refused. What only adorns (a size) is left out instead. aiogram's models hold the whole API and take
twenty times as long.
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


class RawNamed(_Raw):
    """A user or a chat, as far as it has a name."""

    id: Beside[Id] = None
    first_name: Words = None
    last_name: Words = None
    username: Words = None
    title: Words = None

    @property
    def name(self) -> str | None:
        """What it is called."""
        return self.title or f"{self.first_name or ''} {self.last_name or ''}".strip() or self.username


class RawOrigin(_Raw):
    """MessageOrigin of all four kinds, and the fields that stood in its place before Bot API 7.0."""

    sender_user: Beside[RawNamed] = None
    sender_user_name: Words = None  # of somebody who hides their account
    sender_chat: Beside[RawNamed] = None
    chat: Beside[RawNamed] = None
    author_signature: Words = None

    @property
    def author(self) -> str | None:
        """Who said it, as far as Telegram tells."""
        source = self.sender_user or self.sender_chat or self.chat
        name = self.sender_user_name or (source.name if source is not None else None)
        return f"{name} ({self.author_signature})" if name and self.author_signature else name


class RawExternal(_Raw):
    """ExternalReplyInfo: what is replied to stands in another chat."""

    origin: Beside[RawOrigin] = None


class RawQuote(_Raw):
    """TextQuote: the part of the message that is replied to."""

    text: Words = None


class RawReplied(_Raw):
    """The message replied to, as far as it matters."""

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
    forward_origin: JsonValue = None  # read as RawOrigin; whatever it is, the message is forwarded
    forward_date: JsonValue = None  # this and the next three: in its place before Bot API 7.0
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
    def inside(self) -> bool:
        """Whether this status means being in the chat."""
        return self.status not in ("left", "kicked") and (self.status != "restricted" or self.is_member)


class RawMembership(_Raw):
    """ChatMemberUpdated."""

    chat: RawChat
    from_: RawUser = Field(alias="from")
    date: UnixTime
    old_chat_member: RawMember
    new_chat_member: RawMember


class RawPressedMessage(_Raw):
    """The message a button hangs on; inaccessible ones have no more than this."""

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
    """Update: one of these beside its id; all None: a kind nobody here reads."""

    update_id: Id
    message: RawMessage | None = None
    edited_message: RawMessage | None = None
    channel_post: RawMessage | None = None
    callback_query: RawPress | None = None
    my_chat_member: RawMembership | None = None


ALLOWED_UPDATES = ["message", "edited_message", "channel_post", "callback_query", "my_chat_member"]
"""What getUpdates is asked for: every kind above, named so that Telegram's own default cannot hide one."""
