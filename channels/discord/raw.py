"""Models of the parts of Discord's events that we read; other fields are ignored.

Source: discord.com/developers/docs (API v10, 2026-09). Strict: text is text, a number a number.
"""

from datetime import datetime
from typing import Annotated

import yarl
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
)

from channels.foreign import Beside, Words, in_our_time, seconds_of, whole_of


def _to_seconds(value: object) -> float | None:
    return seconds_of(value)


def _in_64_bits(snowflake: str) -> str:
    if whole_of(snowflake) is None:
        raise ValueError("no number of 64 bits")
    return snowflake


def _as_url(url: str) -> str:
    yarl.URL(url)
    return url


Snowflake = Annotated[StrictStr, Field(pattern=r"^[0-9]{1,20}$"), AfterValidator(_in_64_bits)]
At = Annotated[datetime, AfterValidator(in_our_time)]
Url = Annotated[StrictStr, AfterValidator(_as_url)]
Size = Annotated[int | None, BeforeValidator(whole_of)]


class _Raw(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class RawUser(_Raw):
    """User."""

    id: Snowflake
    username: StrictStr = ""
    global_name: StrictStr | None = None
    bot: StrictBool = False
    system: StrictBool = False


class RawMember(_Raw):
    """Guild member, as far as it has a name."""

    nick: StrictStr | None = None
    user: RawUser | None = None


class RawAttachment(_Raw):
    """Attachment."""

    id: Snowflake
    filename: StrictStr = ""
    content_type: StrictStr | None = None
    size: Size = None
    duration_secs: Annotated[float | None, BeforeValidator(_to_seconds)] = None  # of a voice message


class RawReference(_Raw):
    """Message reference: a reply (0) or a forward (1)."""

    type: StrictInt = 0
    message_id: Snowflake | None = None


class RawForwarded(_Raw):
    """The forwarded message's content."""

    content: StrictStr = ""
    attachments: list[RawAttachment] = []


class RawSnapshot(_Raw):
    """One forwarded message."""

    message: RawForwarded


class RawReferenced(_Raw):
    """The message replied to."""

    author: RawUser | None = None
    content: Words = None
    mentions: Beside[list[RawUser]] = None
    message_snapshots: Beside[list[RawSnapshot]] = None  # it was a forward itself


class RawMessage(_Raw):
    """Message, from the gateway or REST."""

    id: Snowflake
    channel_id: Snowflake
    guild_id: Snowflake | None = None
    author: RawUser | None = None
    member: RawMember | None = None
    content: StrictStr = ""
    timestamp: At | None = None
    edited_timestamp: At | None = None
    type: StrictInt = 0
    flags: StrictInt = 0
    nonce: StrictStr | StrictInt | None = None
    webhook_id: Snowflake | None = None
    mentions: list[RawUser] = []
    attachments: list[RawAttachment] = []
    message_reference: RawReference | None = None
    referenced_message: RawReferenced | None = None
    message_snapshots: list[RawSnapshot] = []


class RawDeleted(_Raw):
    """MESSAGE_DELETE."""

    id: Snowflake
    channel_id: Snowflake
    guild_id: Snowflake | None = None


class RawDeletedMany(_Raw):
    """MESSAGE_DELETE_BULK."""

    ids: list[Snowflake]
    channel_id: Snowflake
    guild_id: Snowflake | None = None


class RawChannel(_Raw):
    """Channel or thread."""

    id: Snowflake
    type: StrictInt
    guild_id: Snowflake | None = None
    parent_id: Snowflake | None = None
    last_message_id: Snowflake | None = None


class RawGuild(_Raw):
    """GUILD_CREATE and GUILD_DELETE."""

    id: Snowflake
    joined_at: At | None = None
    unavailable: StrictBool = False
    channels: list[RawChannel] = []
    threads: list[RawChannel] = []


class RawThreads(_Raw):
    """THREAD_LIST_SYNC, and the active threads of REST."""

    threads: list[RawChannel] = []


class RawOption(_Raw):
    """One option of a command."""

    name: StrictStr
    type: StrictInt
    value: StrictStr | StrictInt | StrictFloat | StrictBool | None = None
    options: list["RawOption"] = []


class RawInvoked(_Raw):
    """Data of a command or a press."""

    name: StrictStr = ""
    type: StrictInt = 1
    options: list[RawOption] = []
    custom_id: StrictStr | None = None
    component_type: StrictInt | None = None


class RawMadeBy(_Raw):
    """The interaction that a message answers."""

    id: Snowflake


class RawPressedMessage(_Raw):
    """The message of a pressed button."""

    id: Snowflake
    flags: StrictInt = 0
    interaction_metadata: RawMadeBy | None = None


class RawInteraction(_Raw):
    """INTERACTION_CREATE."""

    id: Snowflake
    type: StrictInt
    token: StrictStr
    channel_id: Snowflake | None = None
    channel: RawChannel | None = None
    guild_id: Snowflake | None = None
    user: RawUser | None = None
    member: RawMember | None = None
    locale: StrictStr | None = None
    message: RawPressedMessage | None = None
    data: RawInvoked | None = None


class RawReady(_Raw):
    """READY."""

    session_id: StrictStr
    resume_gateway_url: Url
    user: RawUser
