"""Translation of slash commands and button presses. Pure; other interactions are ignored."""

from pydantic import ValidationError

from channels.discord.channel_cache import Place, place_of
from channels.discord.raw import RawInteraction, RawOption, RawPressedMessage
from channels.discord.reply_route import ROUTE_INTERACTION, ROUTE_PRESS, ROUTE_PRIVATE, ReplyRoute
from channels.discord.translate import (
    TranslationContext,
    address_of,
    clean,
    explain_error,
    instant_of,
    sender_of,
    to_rejected,
    validate,
)
from channels.messages import ButtonPressed, ChatKind, CommandInvoked, Rejected, Route

COMMAND, COMPONENT = 2, 3
CHAT_INPUT = 1
BUTTON = 2
GROUPS = frozenset({1, 2})  # option types that hold options: subcommand, group

EPHEMERAL_FLAG = 1 << 6
EPHEMERAL_ID = "ephemeral"  # begins the ids of messages that one person alone sees: "ephemeral:INTERACTION:MESSAGE"

Interaction = CommandInvoked | ButtonPressed


def translate_interaction(seq: int | None, data: object, context: TranslationContext) -> Interaction | Rejected | None:
    """Return the event of an INTERACTION_CREATE. Never raises."""
    try:
        raw = validate(RawInteraction, data)
    except ValidationError as error:
        kept = {key: value for key, value in data.items() if key != "token"} if isinstance(data, dict) else data
        return to_rejected("INTERACTION_CREATE", seq, kept, explain_error(error))
    if raw.type == COMMAND and raw.data is not None and raw.data.type == CHAT_INPUT:
        return _command(raw, context)
    if raw.type == COMPONENT and raw.data is not None and raw.data.component_type == BUTTON:
        return _press(raw, context)
    return None


def _command(raw: RawInteraction, context: TranslationContext) -> CommandInvoked | None:
    user = raw.member.user if raw.member is not None and raw.member.user is not None else raw.user
    place = _place(raw, context)
    if user is None or place is None or raw.data is None:
        return None
    name = clean(raw.data.name)
    private = place.kind is ChatKind.GROUP and not context.is_shared(name)
    return CommandInvoked(
        event_id=f"int:{raw.id}",
        address=address_of(place, context.bot),
        sender=sender_of(user, raw.member),
        received_at=instant_of(raw.id),
        name=name,
        arguments=clean(_arguments(raw.data.options)),
        kind=place.kind,
        locale=raw.locale,
        route=_route(ROUTE_INTERACTION, raw, user.id if private else ""),
    )


def _press(raw: RawInteraction, context: TranslationContext) -> ButtonPressed | None:
    user = raw.member.user if raw.member is not None and raw.member.user is not None else raw.user
    place = _place(raw, context)
    if user is None or place is None or raw.data is None or raw.message is None:
        return None
    return ButtonPressed(
        event_id=f"int:{raw.id}",
        address=address_of(place, context.bot),
        sender=sender_of(user, raw.member),
        received_at=instant_of(raw.id),
        message_id=_pressed_id(raw.message),
        kind=place.kind,
        data=clean(raw.data.custom_id or ""),
        locale=raw.locale,
        route=_route(ROUTE_PRESS, raw, user.id if raw.message.flags & EPHEMERAL_FLAG else ""),
    )


def _route(kind: str, raw: RawInteraction, person: str) -> Route:
    """Return the reply route; with `person`, a private one."""
    return ReplyRoute(ROUTE_PRIVATE if person else kind, raw.id, raw.token, person).as_route()


def _pressed_id(message: RawPressedMessage) -> str:
    """Return the message's id; for a private one, with the id of the interaction that reaches it."""
    if not message.flags & EPHEMERAL_FLAG:
        return message.id
    made_by = message.interaction_metadata
    return f"{EPHEMERAL_ID}:{made_by.id if made_by is not None else 0}:{message.id}"


def _place(raw: RawInteraction, context: TranslationContext) -> Place | None:
    """Return the place named by the interaction, else the known one."""
    channel = raw.channel_id or (raw.channel.id if raw.channel is not None else None)
    if channel is None:
        return None
    if raw.channel is not None:
        place = place_of(raw.channel, raw.guild_id)
    else:
        place = context.channels.get(channel) or Place(channel, raw.guild_id)
    if raw.guild_id is None and place.guild is not None:
        place = Place(channel)
    context.channels.put(place)
    return place


def _arguments(options: list[RawOption]) -> str:
    """Return the options' values in order; a subcommand's name comes before its values."""
    words = []
    for option in options:
        if option.type in GROUPS:
            words.append(f"{option.name} {_arguments(option.options)}".strip())
        elif option.value is not None:
            words.append(str(option.value).strip())
    return " ".join(word for word in words if word)
