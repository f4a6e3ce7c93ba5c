"""Translation of slash commands and pressed buttons. Pure; never raises."""

from datetime import datetime

from pydantic import ValidationError

from channels.foreign import storable
from channels.messages import Address, ButtonPressed, ChatKind, CommandInvoked, Rejected, Route, Sender
from channels.slack.identity import BotIdentity
from channels.slack.mrkdwn import NameOf, no_names, to_text
from channels.slack.raw import RawActions, RawCommand
from channels.slack.reply_route import LASTS, ReplyRoute
from channels.slack.translate import CHANNEL, chat_kind, explain_error, to_rejected

ACTION_PREFIX = "tenk:"  # of our buttons' action ids


def translate_command(
    body: object, bot: BotIdentity, now: datetime, name_of: NameOf = no_names
) -> CommandInvoked | Rejected:
    """Return the command in a slash command's body. Never raises. `now`: time of arrival, since Slack gives none."""
    try:
        raw = RawCommand.model_validate(body)
    except ValidationError as error:
        return to_rejected(body, explain_error(error))
    name = name_of(raw.user_id, raw.team_id) or storable(raw.user_name or raw.user_id)
    return CommandInvoked(
        event_id=f"cmd:{raw.team_id}:{storable(raw.trigger_id)[:80]}",
        address=Address(CHANNEL, bot.account, raw.channel_id),
        sender=Sender(f"{raw.team_id}:{raw.user_id}", name),
        received_at=now,
        name=raw.command.removeprefix("/").lower(),
        arguments=to_text(raw.text, bot.user, name_of),
        kind=_kind(raw),
        route=_route(raw.user_id, raw.response_url, now),
    )


def translate_actions(
    body: object, bot: BotIdentity, now: datetime, name_of: NameOf = no_names
) -> ButtonPressed | Rejected | None:
    """Return the press in a block_actions payload, or None if it is no button of ours. Never raises."""
    try:
        raw = RawActions.model_validate(body)
    except ValidationError as error:
        return to_rejected(body, explain_error(error))
    action = raw.actions[0]
    ours = action.type == "button" and action.action_id.startswith(ACTION_PREFIX)
    if not ours or raw.channel is None or raw.container is None:
        return None
    team = raw.user.team_id or (raw.team.id if raw.team is not None else bot.team)
    # A press under a private message is answered privately, another one in the chat.
    route = _route(raw.user.id, raw.response_url, now) if raw.container.is_ephemeral else None
    thread = raw.container.thread_ts or (raw.message.thread_ts if raw.message is not None else None)
    name = name_of(raw.user.id, team) or storable(raw.user.name or raw.user.username or raw.user.id)
    return ButtonPressed(
        event_id=f"act:{bot.team}:{storable(raw.trigger_id or str(action.action_ts))[:80]}",
        address=Address(CHANNEL, bot.account, raw.channel.id, thread),
        sender=Sender(f"{team}:{raw.user.id}", name),
        received_at=now,
        message_id=raw.container.message_ts,
        kind=chat_kind(raw.channel.id),
        data=storable(action.value),
        route=route,
    )


def _kind(raw: RawCommand) -> ChatKind:
    """Return the kind of a command's chat: Slack names direct messages "directmessage"."""
    return ChatKind.DIRECT if raw.channel_name == "directmessage" else chat_kind(raw.channel_id)


def _route(person: str, url: str, now: datetime) -> Route | None:
    return ReplyRoute(person, now + LASTS, storable(url)).as_route() if url else None
