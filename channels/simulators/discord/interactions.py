"""Interactions: slash commands and presses, their one first answer within seconds, and what follows for minutes.

Source: discord-api-docs, "Receiving and Responding" (2026-08). Not simulated: a first answer with content (types 4, 7).
"""

import secrets
import time
from dataclasses import dataclass, field

from pydantic import JsonValue

from channels.simulators.discord.checks import MAX_UPLOAD_BYTES, Refusal, invalid
from channels.simulators.discord.operations import Operations, RestCall
from channels.simulators.discord.state import (
    COMMAND_ANSWER,
    DM,
    EPHEMERAL,
    LOADING,
    MEMBER,
    Asked,
    Bot,
    Channel,
    DiscordWorld,
    ShownMessage,
)
from channels.simulators.shared.world import JsonObject

COMMAND, COMPONENT = 2, 3
DEFER, DEFER_UPDATE = 5, 6  # callback types

DEADLINE_S = 3.0
LIFE_S = 900.0


@dataclass(slots=True)
class Interaction:
    """One command or press, and how far its answer is."""

    id: int
    kind: int
    bot: Bot
    channel: Channel
    person_id: int
    source: int | None = None  # of a press: the message with the button
    original: int | None = None  # the message of the first answer; of a press that has none, its source
    token: str = field(default_factory=lambda: "aW50ZXJhY3Rpb246" + secrets.token_hex(32))
    at_s: float = field(default_factory=time.monotonic)
    acked_at_s: float | None = None
    answer: int | None = None  # the callback type it was acknowledged with

    @property
    def acked(self) -> bool:
        """Return True if the bot has acknowledged it."""
        return self.acked_at_s is not None

    def as_asked(self) -> Asked:
        """Return what its answers tell of it."""
        return Asked(self.id, self.kind, self.person_id)

    def living(self, message_id: int | None) -> ShownMessage:
        """Return a message that its person sees.

        Raises:
            Refusal: 10008.
        """
        return self.channel.living(message_id or 0, self.person_id)


class Interactions:
    """All interactions of the simulated world."""

    def __init__(self, world: DiscordWorld, operations: Operations) -> None:
        self._world = world
        self._operations = operations
        self._by_token: dict[str, Interaction] = {}
        self.deadline_s = DEADLINE_S
        self.life_s = LIFE_S

    def invoke(self, bot: Bot, channel: Channel, person_id: int, data: JsonObject, message: int | None) -> Interaction:
        """Use a command, or press a button under `message`; bots are told when this returns."""
        kind = COMMAND if message is None else COMPONENT
        interaction = Interaction(self._world.snowflake(), kind, bot, channel, person_id, message, message)
        self._by_token[interaction.token] = interaction
        bot.sessions.emit("INTERACTION_CREATE", self._as_json(interaction, data), guild=channel.guild_id)
        return interaction

    def has_failed(self, interaction: Interaction) -> bool:
        """Return True if the person is told "The application did not respond"."""
        return not interaction.acked and time.monotonic() - interaction.at_s > self.deadline_s

    def _as_json(self, interaction: Interaction, data: JsonObject) -> JsonObject:
        person, channel = self._world.person(interaction.person_id), interaction.channel
        body: JsonObject = {
            "id": str(interaction.id),
            "application_id": str(interaction.bot.id),
            "type": interaction.kind,
            "data": data,
            "channel_id": str(channel.id),
            "channel": channel.as_channel(),
            "token": interaction.token,
            "version": 1,
            "locale": person.locale,
            "entitlements": [],
            "app_permissions": "0",
            "attachment_size_limit": MAX_UPLOAD_BYTES,
            "authorizing_integration_owners": {"0": str(channel.guild_id or 0)},
            "context": 1 if channel.type == DM else 0,
        }
        if channel.type == DM:
            body["user"] = person.as_user()
        else:
            body["guild_id"] = str(channel.guild_id)
            body["guild_locale"] = "en-US"
            body["member"] = MEMBER | {"user": person.as_user(), "permissions": "0"}
        if interaction.source is not None:
            body["message"] = self._world.as_message(interaction.living(interaction.source))
        return body

    # ------------------------------------------------------------ the bot's side

    def callback(self, bot: Bot, call: RestCall) -> JsonValue:
        """POST /interactions/{interaction}/{token}/callback."""
        interaction = self._by_token.get(call.ids["token"])
        if interaction is None or interaction.id != call.number("interaction") or self.has_failed(interaction):
            raise Refusal(404, 10062, "Unknown interaction")
        if interaction.acked:
            raise Refusal(400, 40060, "Interaction has already been acknowledged.")
        answer, data = call.body.get("type"), call.body.get("data")
        if answer == DEFER:
            interaction.original = self._think(interaction, data if isinstance(data, dict) else {}).message_id
        elif answer != DEFER_UPDATE or interaction.kind == COMMAND:
            raise invalid("type", "BASE_TYPE_CHOICES", "Value must be one of {4, 5, 6, 7}.")
        interaction.acked_at_s = time.monotonic()
        interaction.answer = DEFER if answer == DEFER else DEFER_UPDATE
        if call.query.get("with_response") in ("1", "true"):
            return {"interaction": {"id": str(interaction.id), "type": interaction.kind}}
        return None

    def _think(self, interaction: Interaction, data: JsonObject) -> ShownMessage:
        """Show "thinking"; who may see what it becomes is settled with it."""
        message = ShownMessage(
            self._world.snowflake(),
            interaction.channel.id,
            interaction.bot.id,
            by_bot=True,
            text="",
            type=COMMAND_ANSWER,
            flags=LOADING,
        )
        return self._show(interaction, message, data)

    def _show(self, interaction: Interaction, message: ShownMessage, body: JsonObject) -> ShownMessage:
        """Show an answer, to its person alone if the call says so."""
        message.webhook_id, message.answers = interaction.bot.id, interaction.as_asked()
        flags = body.get("flags")
        if isinstance(flags, int) and flags & EPHEMERAL:
            message.only_for = interaction.person_id
            message.flags |= EPHEMERAL
        interaction.channel.messages[message.message_id] = message
        self._world.tell_message(interaction.channel, "MESSAGE_CREATE", message)
        return message

    def _alive(self, call: RestCall) -> Interaction:
        """Return the interaction of a webhook path, while its token lives."""
        interaction = self._by_token.get(call.ids["token"])
        if interaction is None or not interaction.acked or interaction.bot.id != call.number("application"):
            raise Refusal(404, 10015, "Unknown Webhook")
        if time.monotonic() - interaction.at_s > self.life_s:
            raise Refusal(401, 50027, "Invalid Webhook Token")
        return interaction

    def follow_up(self, bot: Bot, call: RestCall) -> JsonValue:
        """POST /webhooks/{application}/{token}: no nonce, no look whether it was said before.

        While the first answer shows "thinking" this completes it, and keeps whom it is shown to.
        """
        interaction = self._alive(call)
        if interaction.original is not None and interaction.original != interaction.source:
            original = interaction.living(interaction.original)
            if original.loading:
                return self._change(original, call)
        message = self._operations.to_message(interaction.bot, interaction.channel, call)
        return self._world.as_message(self._show(interaction, message, call.body))

    def _message(self, call: RestCall) -> ShownMessage:
        interaction, wanted = self._alive(call), call.ids["message"]
        message = interaction.living(interaction.original if wanted == "@original" else call.number("message"))
        if message.answers != interaction.as_asked() and message.message_id != interaction.original:
            raise Refusal(404, 10008, "Unknown Message")
        return message

    def read(self, bot: Bot, call: RestCall) -> JsonValue:
        """GET /webhooks/{application}/{token}/messages/{message}."""
        return self._world.as_message(self._message(call))

    def edit(self, bot: Bot, call: RestCall) -> JsonValue:
        """PATCH /webhooks/{application}/{token}/messages/{message}; completes a deferred answer."""
        return self._change(self._message(call), call)

    def _change(self, message: ShownMessage, call: RestCall) -> JsonValue:
        if message.loading and not (call.body.get("content") or call.uploads):
            raise Refusal(400, 50006, "Cannot send an empty message")
        self._operations.change(message, call)
        if message.loading:
            message.flags &= ~LOADING
            message.edited_at = None
        return self._world.as_message(message)

    def delete(self, bot: Bot, call: RestCall) -> JsonValue:
        """DELETE /webhooks/{application}/{token}/messages/{message}."""
        self._message(call).deleted = True
        return None
