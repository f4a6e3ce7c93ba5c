"""Slash commands and presses as the gateway knows them; pure. What else is an interaction says nothing to us."""

from datetime import timedelta

from pydantic import ValidationError

from channels.discord.places import Place, place_of
from channels.discord.raw import RawInteraction, RawOption
from channels.discord.translate import Surroundings, address_of, clean, instant_of, rejected, sender_of, validated, why
from channels.messages import ButtonPressed, CommandInvoked, Rejected, Route

COMMAND, COMPONENT = 2, 3
CHAT_INPUT = 1
BUTTON = 2
GROUPS = frozenset({1, 2})  # option types that hold options: subcommand, group

ROUTE_INTERACTION = "interaction"  # answered by completing the deferred response
ROUTE_PRESS = "press"  # answered in the chat; the way is only taken where the bot may not write
ROUTE_LIFE = timedelta(minutes=14)  # Discord's tokens live 15

Interaction = CommandInvoked | ButtonPressed


def translate_interaction(seq: int | None, data: object, near: Surroundings) -> Interaction | Rejected | None:
    """The event of an INTERACTION_CREATE; never raises."""
    try:
        raw = validated(RawInteraction, data)
    except ValidationError as error:
        kept = {key: value for key, value in data.items() if key != "token"} if isinstance(data, dict) else data
        return rejected("INTERACTION_CREATE", seq, kept, why(error))
    if raw.type == COMMAND and raw.data is not None and raw.data.type == CHAT_INPUT:
        return _command(raw, near)
    if raw.type == COMPONENT and raw.data is not None and raw.data.component_type == BUTTON:
        return _press(raw, near)
    return None


def _command(raw: RawInteraction, near: Surroundings) -> CommandInvoked | None:
    user = raw.member.user if raw.member is not None and raw.member.user is not None else raw.user
    place = _place(raw, near)
    if user is None or place is None or raw.data is None:
        return None
    return CommandInvoked(
        event_id=f"int:{raw.id}",
        address=address_of(place, near.us),
        sender=sender_of(user, raw.member),
        received_at=instant_of(raw.id),
        name=clean(raw.data.name),
        arguments=clean(_arguments(raw.data.options)),
        kind=place.kind,
        locale=raw.locale,
        route=_route(ROUTE_INTERACTION, raw),
    )


def _press(raw: RawInteraction, near: Surroundings) -> ButtonPressed | None:
    user = raw.member.user if raw.member is not None and raw.member.user is not None else raw.user
    place = _place(raw, near)
    if user is None or place is None or raw.data is None or raw.message is None:
        return None
    return ButtonPressed(
        event_id=f"int:{raw.id}",
        address=address_of(place, near.us),
        sender=sender_of(user, raw.member),
        received_at=instant_of(raw.id),
        message_id=raw.message.id,
        kind=place.kind,
        data=clean(raw.data.custom_id or ""),
        locale=raw.locale,
        route=_route(ROUTE_PRESS, raw),
    )


def _route(kind: str, raw: RawInteraction) -> Route:
    """How it is answered: the id and the token, for 14 minutes from when it was made."""
    return Route(kind, f"{raw.id}/{raw.token}", instant_of(raw.id) + ROUTE_LIFE)


def _place(raw: RawInteraction, near: Surroundings) -> Place | None:
    """Where it was used: what it says itself, else what is known."""
    channel = raw.channel_id or (raw.channel.id if raw.channel is not None else None)
    if channel is None:
        return None
    if raw.channel is not None:
        place = place_of(raw.channel, raw.guild_id)
    else:
        place = near.places.get(channel) or Place(channel, raw.guild_id)
    if raw.guild_id is None and place.guild is not None:
        place = Place(channel)
    near.places.put(place)
    return place


def _arguments(options: list[RawOption]) -> str:
    """The options' values in their order; a subcommand's name comes before its own."""
    words = []
    for option in options:
        if option.type in GROUPS:
            words.append(f"{option.name} {_arguments(option.options)}".strip())
        elif option.value is not None:
            words.append(str(option.value).strip())
    return " ".join(word for word in words if word)
