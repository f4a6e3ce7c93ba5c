"""Models of the parts of Slack's payloads that we read; other fields are ignored.

Source: docs.slack.dev/reference/events (`message`, `app_mention`, `member_joined_channel`, `user_change`),
…/interactivity/implementing-slash-commands, …/reference/interaction-payloads/block_actions-payload and
…/reference/objects/user-object (read 2026-11).
"""

import re
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictStr

from channels.foreign import Words, whole_of

Id = Annotated[StrictStr, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9]+$")]
Ts = Annotated[StrictStr, Field(min_length=8, max_length=24, pattern=r"^[0-9]{1,11}\.[0-9]{1,9}$")]

Size = Annotated[int | None, BeforeValidator(whole_of)]


def ts_of(value: object) -> str | None:
    """Return the ts of a message, or None if malformed."""
    return value if isinstance(value, str) and re.fullmatch(r"[0-9]{1,11}\.[0-9]{1,9}", value) else None


class _Raw(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class RawFile(_Raw):
    """A file attached to a message."""

    id: Id
    name: StrictStr | None = None
    mimetype: StrictStr | None = None
    size: Size = None
    duration_ms: Size = None  # of sound and video
    subtype: StrictStr | None = None  # slack_audio: a voice clip
    url_private: StrictStr | None = None
    url_private_download: StrictStr | None = None
    mode: StrictStr | None = None  # "tombstone": it is gone


class RawEdited(_Raw):
    """The author and time of an edit."""

    user: Id | None = None
    ts: Ts


class RawMetadata(_Raw):
    """Metadata that an app attached to its message."""

    event_type: StrictStr = ""
    event_payload: dict[str, object] = {}


def _as_shares(value: object) -> list[object]:
    found = value if isinstance(value, list) else []
    return [
        attachment
        for attachment in found
        if isinstance(attachment, dict) and (attachment.get("is_share") or attachment.get("is_msg_unfurl"))
    ]


class RawShared(_Raw):
    """A shared or linked message; other `attachments` are not read."""

    author_id: Words = None
    author_name: Words = None
    author_subname: Words = None
    text: Words = None
    fallback: Words = None


class RawMessage(_Raw):
    """A message, in an event or in a channel's history."""

    ts: Ts
    subtype: StrictStr | None = None
    user: Id | None = None
    username: StrictStr | None = None
    bot_id: Id | None = None
    team: Id | None = None
    user_team: Id | None = None
    source_team: Id | None = None
    text: StrictStr = ""
    thread_ts: Ts | None = None
    parent_user_id: Id | None = None
    reply_users: list[StrictStr] = []
    edited: RawEdited | None = None
    files: list[RawFile] = []
    attachments: Annotated[list[RawShared], BeforeValidator(_as_shares)] = []
    metadata: RawMetadata | None = None


class RawMessageEvent(RawMessage):
    """The event `message` (all its subtypes) or `app_mention`."""

    type: StrictStr
    channel: Id
    channel_type: StrictStr | None = None
    message: RawMessage | None = None  # of message_changed
    previous_message: RawMessage | None = None  # of message_changed and message_deleted
    deleted_ts: Ts | None = None
    event_ts: Ts | None = None


class RawMember(_Raw):
    """The event `member_joined_channel`, `channel_left`, `group_left`."""

    type: StrictStr
    channel: Id
    user: Id | None = None
    team: Id | None = None
    event_ts: Ts | None = None


class RawEventCallback(_Raw):
    """The Events API's envelope of one event."""

    type: StrictStr
    event_id: Id
    team_id: Id | None = None
    event_time: object = 0  # Unix seconds, if it is a number


class RawCommand(_Raw):
    """A slash command."""

    command: Annotated[StrictStr, Field(pattern=r"^/[^\s/]{1,64}$")]
    text: StrictStr = ""
    team_id: Id
    channel_id: Id
    channel_name: StrictStr = ""
    user_id: Id
    user_name: StrictStr = ""
    trigger_id: StrictStr
    response_url: StrictStr = ""


class RawUser(_Raw):
    """The acting user of an interaction."""

    id: Id
    team_id: Id | None = None
    username: StrictStr | None = None
    name: StrictStr | None = None


class RawWhere(_Raw):
    """The channel or team of an interaction."""

    id: Id
    name: StrictStr = ""


class RawContainer(_Raw):
    """The message of a pressed button."""

    message_ts: Ts
    thread_ts: Ts | None = None
    is_ephemeral: bool = False


class RawAction(_Raw):
    """One pressed button."""

    type: StrictStr
    action_id: StrictStr
    value: StrictStr = ""
    action_ts: Ts | None = None


class RawPressedMessage(_Raw):
    """The thread of a pressed button's message."""

    thread_ts: Ts | None = None


class RawActions(_Raw):
    """Pressed buttons under a message."""

    type: StrictStr
    trigger_id: StrictStr = ""
    user: RawUser
    team: RawWhere | None = None
    channel: RawWhere | None = None
    container: RawContainer | None = None
    message: RawPressedMessage | None = None
    actions: Annotated[list[RawAction], Field(min_length=1, max_length=25)]
    response_url: StrictStr = ""


class RawProfile(_Raw):
    """The profile that a user wrote."""

    display_name: StrictStr | None = None  # "" if they chose none
    real_name: StrictStr | None = None


class RawEnterpriseUser(_Raw):
    """The user's identity in an organisation of several workspaces."""

    enterprise_id: Id | None = None
    teams: list[StrictStr] = []


class RawUserInfo(_Raw):
    """A user, from users.info and `user_change`."""

    id: Id
    team_id: Id | None = None
    name: StrictStr | None = None
    real_name: StrictStr | None = None
    locale: StrictStr | None = None  # if requested
    profile: RawProfile = RawProfile()
    enterprise_user: RawEnterpriseUser = RawEnterpriseUser()

    @property
    def teams(self) -> frozenset[str]:
        """Return every team in which the id belongs to this user."""
        found = (self.team_id, self.enterprise_user.enterprise_id, *self.enterprise_user.teams)
        return frozenset(team for team in found if team)
