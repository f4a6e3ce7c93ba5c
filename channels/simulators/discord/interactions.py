"""Interactions: slash commands and presses, their one first answer within seconds, and what follows for minutes.

Source: discord-api-docs, "Receiving and Responding" (2026-08).
"""

import secrets
import time
from dataclasses import dataclass

from pydantic import JsonValue

from channels.simulators.discord.checks import MAX_UPLOAD_BYTES, JsonObject, Refusal, invalid
from channels.simulators.discord.operations import Operations
from channels.simulators.discord.reading import Call
from channels.simulators.discord.state import DM, EPHEMERAL, LOADING, Asked, Bot, Channel, ShownMessage, World
from channels.simulators.discord.written import as_channel, as_member, as_message, tell_message, user_of

COMMAND, COMPONENT = 2, 3
ANSWER, DEFER, DEFER_UPDATE, UPDATE = 4, 5, 6, 7  # callback types

DEADLINE_S = 3.0
LIFE_S = 900.0


@dataclass(slots=True)
class Interaction:
    """One command or press, and how far its answer is."""

    id: int
    token: str
    kind: int
    bot: Bot
    channel: Channel
    person_id: int
    at_s: float  # time.monotonic()
    source: int | None = None  # of a press: the message with the button
    original: int | None = None  # the message of the first answer; of a press that has none, its source
    acked_at_s: float | None = None
    answer: int | None = None  # the callback type it was acknowledged with

    def as_asked(self) -> Asked:
        """What its answers tell of it."""
        return Asked(self.id, self.kind, self.person_id)


class Interactions:
    """All interactions of the simulated world."""

    def __init__(self, world: World, operations: Operations) -> None:
        self._world = world
        self._operations = operations
        self._by_token: dict[str, Interaction] = {}
        self.deadline_s = DEADLINE_S
        self.life_s = LIFE_S

    def invoke(self, bot: Bot, channel: Channel, person_id: int, data: JsonObject, message: int | None) -> Interaction:
        """Somebody used a command or pressed a button (`message`); bots are told when this returns."""
        kind = COMMAND if message is None else COMPONENT
        token = "aW50ZXJhY3Rpb246" + secrets.token_hex(32)
        found = Interaction(
            self._world.snowflake(), token, kind, bot, channel, person_id, time.monotonic(), message, message
        )
        self._by_token[token] = found
        bot.sessions.emit("INTERACTION_CREATE", self._as_json(found, data), guild=channel.guild_id)
        return found

    def _as_json(self, interaction: Interaction, data: JsonObject) -> JsonObject:
        person = self._world.person(interaction.person_id)
        body: JsonObject = {
            "id": str(interaction.id),
            "application_id": str(interaction.bot.id),
            "type": interaction.kind,
            "data": data,
            "channel_id": str(interaction.channel.id),
            "channel": as_channel(interaction.channel),
            "token": interaction.token,
            "version": 1,
            "locale": person.locale,
            "entitlements": [],
            "app_permissions": "0",
            "attachment_size_limit": MAX_UPLOAD_BYTES,
            "authorizing_integration_owners": {"0": str(interaction.channel.guild_id or 0)},
            "context": 1 if interaction.channel.type == DM else 0,
        }
        if interaction.channel.type == DM:
            body["user"] = person.as_user()
        else:
            body["guild_id"] = str(interaction.channel.guild_id)
            body["guild_locale"] = "en-US"
            body["member"] = as_member() | {"user": person.as_user(), "permissions": "0"}
        if interaction.source is not None:
            body["message"] = as_message(self._world, self._visible_to(interaction, interaction.source))
        return body

    def _visible_to(self, interaction: Interaction, message_id: int | None) -> ShownMessage:
        """A message that its person sees.

        Raises:
            Refusal: 10008.
        """
        message = interaction.channel.messages.get(message_id or 0)
        if message is None:
            message = interaction.channel.ephemeral.get(message_id or 0)
        if message is None or message.deleted or message.only_for not in (None, interaction.person_id):
            raise Refusal(404, 10008, "Unknown Message")
        return message

    def of(self, interaction_id: int) -> Interaction:
        """An interaction by its id."""
        return next(interaction for interaction in self._by_token.values() if interaction.id == interaction_id)

    # ------------------------------------------------------------ the bot's side

    def callback(self, call: Call) -> JsonValue:
        """POST /interactions/{interaction}/{token}/callback."""
        interaction = self._by_token.get(call.ids["token"])
        late = (
            interaction is not None
            and interaction.acked_at_s is None
            and time.monotonic() - interaction.at_s > self.deadline_s
        )
        if interaction is None or interaction.id != call.number("interaction") or late:
            raise Refusal(404, 10062, "Unknown interaction")
        if interaction.acked_at_s is not None:
            raise Refusal(400, 40060, "Interaction has already been acknowledged.")
        answer = call.body.get("type")
        if answer not in (ANSWER, DEFER, DEFER_UPDATE, UPDATE) or (interaction.kind == COMMAND and answer in (6, 7)):
            raise invalid("type", "BASE_TYPE_CHOICES", "Value must be one of {4, 5, 6, 7}.")
        assert isinstance(answer, int), "one of four"
        data = call.body.get("data")
        inner = Call(call.ids, {}, data if isinstance(data, dict) else {}, None, call.uploads)
        if answer == ANSWER:
            interaction.original = self._follow_up(interaction, inner).message_id
        elif answer == DEFER:
            interaction.original = self._thinking(interaction, inner).message_id
        elif answer == UPDATE:
            self._operations.change(interaction.channel, self._visible_to(interaction, interaction.source), inner)
        interaction.acked_at_s, interaction.answer = time.monotonic(), answer
        if call.query.get("with_response") in ("1", "true"):
            return {"interaction": {"id": str(interaction.id), "type": interaction.kind}}
        return None

    def _thinking(self, interaction: Interaction, call: Call) -> ShownMessage:
        """The message that shows "thinking"; who may see what it becomes is settled with it."""
        message = ShownMessage(
            message_id=self._world.snowflake(),
            chat_id=interaction.channel.id,
            sender_id=interaction.bot.id,
            by_bot=True,
            text="",
            at=time.time(),
            at_s=time.monotonic(),
            type=20,
            flags=LOADING,
            webhook_id=interaction.bot.id,
            answers=interaction.as_asked(),
        )
        self._show(interaction, message, call)
        return message

    def _show(self, interaction: Interaction, message: ShownMessage, call: Call) -> None:
        """Show an answer, to its person alone where the call says so."""
        flags = call.body.get("flags")
        if isinstance(flags, int) and flags & EPHEMERAL:
            message.only_for = interaction.person_id
            message.flags |= EPHEMERAL
        interaction.channel.put(message)
        tell_message(self._world, interaction.channel, "MESSAGE_CREATE", message)

    def _follow_up(self, interaction: Interaction, call: Call) -> ShownMessage:
        message = self._operations.to_message(interaction.bot, interaction.channel, call)
        message.webhook_id, message.answers = interaction.bot.id, interaction.as_asked()
        self._show(interaction, message, call)
        return message

    def _alive(self, call: Call) -> Interaction:
        """The interaction of a webhook path, while its token lives."""
        interaction = self._by_token.get(call.ids["token"])
        if interaction is None or interaction.acked_at_s is None or interaction.bot.id != call.number("application"):
            raise Refusal(404, 10015, "Unknown Webhook")
        if time.monotonic() - interaction.at_s > self.life_s:
            raise Refusal(401, 50027, "Invalid Webhook Token")
        return interaction

    def follow_up(self, call: Call) -> JsonValue:
        """POST /webhooks/{application}/{token}: no nonce, no look whether it was said before.

        While the first answer shows "thinking" this completes it, and keeps whom it is shown to.
        """
        interaction = self._alive(call)
        if interaction.original is not None and interaction.original != interaction.source:
            original = self._visible_to(interaction, interaction.original)
            if original.loading:
                return self._change(interaction, original, call)
        return as_message(self._world, self._follow_up(interaction, call))

    def _message(self, interaction: Interaction, call: Call) -> ShownMessage:
        wanted = call.ids["message"]
        message = self._visible_to(
            interaction, interaction.original if wanted == "@original" else call.number("message")
        )
        if message.answers != interaction.as_asked() and message.message_id != interaction.original:
            raise Refusal(404, 10008, "Unknown Message")
        return message

    def read(self, call: Call) -> JsonValue:
        """GET /webhooks/{application}/{token}/messages/{message}."""
        return as_message(self._world, self._message(self._alive(call), call))

    def edit(self, call: Call) -> JsonValue:
        """PATCH /webhooks/{application}/{token}/messages/{message}; completes a deferred answer."""
        interaction = self._alive(call)
        return self._change(interaction, self._message(interaction, call), call)

    def _change(self, interaction: Interaction, message: ShownMessage, call: Call) -> JsonValue:
        if message.loading and not (call.body.get("content") or call.uploads):
            raise Refusal(400, 50006, "Cannot send an empty message")
        self._operations.change(interaction.channel, message, call)
        if message.loading:
            message.flags &= ~LOADING
            message.edited_at = None
        return as_message(self._world, message)

    def delete(self, call: Call) -> JsonValue:
        """DELETE /webhooks/{application}/{token}/messages/{message}."""
        self._message(self._alive(call), call).deleted = True
        return None

    def has_failed(self, interaction: Interaction) -> bool:
        """Whether the person is told "The application did not respond"."""
        return interaction.acked_at_s is None and time.monotonic() - interaction.at_s > self.deadline_s

    def who(self, interaction: Interaction) -> JsonObject:
        """The person of an interaction as User."""
        return user_of(self._world, interaction.person_id)
