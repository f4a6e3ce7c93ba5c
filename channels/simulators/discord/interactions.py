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
        bot.sessions.emit("INTERACTION_CREATE", self._as_json(found, data))
        return found

    def _as_json(self, one: Interaction, data: JsonObject) -> JsonObject:
        person = self._world.person(one.person_id)
        body: JsonObject = {
            "id": str(one.id),
            "application_id": str(one.bot.id),
            "type": one.kind,
            "data": data,
            "channel_id": str(one.channel.id),
            "channel": as_channel(one.channel),
            "token": one.token,
            "version": 1,
            "locale": person.locale,
            "entitlements": [],
            "app_permissions": "0",
            "attachment_size_limit": MAX_UPLOAD_BYTES,
            "authorizing_integration_owners": {"0": str(one.channel.guild_id or 0)},
            "context": 1 if one.channel.type == DM else 0,
        }
        if one.channel.type == DM:
            body["user"] = person.as_user()
        else:
            body["guild_id"] = str(one.channel.guild_id)
            body["guild_locale"] = "en-US"
            body["member"] = as_member() | {"user": person.as_user(), "permissions": "0"}
        if one.source is not None:
            body["message"] = as_message(self._world, self._shown(one, one.source))
        return body

    def _shown(self, one: Interaction, message_id: int | None) -> ShownMessage:
        """A message that its person sees.

        Raises:
            Refusal: 10008.
        """
        message = one.channel.messages.get(message_id or 0)
        if message is None:
            message = one.channel.ephemeral.get(message_id or 0)
        if message is None or message.deleted or message.only_for not in (None, one.person_id):
            raise Refusal(404, 10008, "Unknown Message")
        return message

    def of(self, interaction_id: int) -> Interaction:
        """An interaction by its id."""
        return next(one for one in self._by_token.values() if one.id == interaction_id)

    # ------------------------------------------------------------ the bot's side

    def callback(self, call: Call) -> JsonValue:
        """POST /interactions/{interaction}/{token}/callback."""
        one = self._by_token.get(call.ids["token"])
        late = one is not None and one.acked_at_s is None and time.monotonic() - one.at_s > self.deadline_s
        if one is None or one.id != call.number("interaction") or late:
            raise Refusal(404, 10062, "Unknown interaction")
        if one.acked_at_s is not None:
            raise Refusal(400, 40060, "Interaction has already been acknowledged.")
        answer = call.body.get("type")
        if answer not in (ANSWER, DEFER, DEFER_UPDATE, UPDATE) or (one.kind == COMMAND and answer in (6, 7)):
            raise invalid("type", "BASE_TYPE_CHOICES", "Value must be one of {4, 5, 6, 7}.")
        assert isinstance(answer, int), "one of four"
        data = call.body.get("data")
        inner = Call(call.ids, {}, data if isinstance(data, dict) else {}, None, call.uploads)
        if answer == ANSWER:
            one.original = self._follow_up(one, inner).message_id
        elif answer == DEFER:
            one.original = self._thinking(one, inner).message_id
        elif answer == UPDATE:
            self._operations.changed(one.channel, self._shown(one, one.source), inner)
        one.acked_at_s, one.answer = time.monotonic(), answer
        if call.query.get("with_response") in ("1", "true"):
            return {"interaction": {"id": str(one.id), "type": one.kind}}
        return None

    def _thinking(self, one: Interaction, call: Call) -> ShownMessage:
        """The message that shows "thinking"; who may see what it becomes is settled with it."""
        message = ShownMessage(
            message_id=self._world.snowflake(),
            chat_id=one.channel.id,
            sender_id=one.bot.id,
            by_bot=True,
            text="",
            at=time.time(),
            at_s=time.monotonic(),
            type=20,
            flags=LOADING,
            webhook_id=one.bot.id,
            answers=one.as_asked(),
        )
        self._show(one, message, call)
        return message

    def _show(self, one: Interaction, message: ShownMessage, call: Call) -> None:
        """Show an answer, to its person alone where the call says so."""
        flags = call.body.get("flags")
        if isinstance(flags, int) and flags & EPHEMERAL:
            message.only_for = one.person_id
            message.flags |= EPHEMERAL
        one.channel.put(message)
        tell_message(self._world, one.channel, "MESSAGE_CREATE", message)

    def _follow_up(self, one: Interaction, call: Call) -> ShownMessage:
        message = self._operations.said(one.bot, one.channel, call)
        message.webhook_id, message.answers = one.bot.id, one.as_asked()
        self._show(one, message, call)
        return message

    def _alive(self, call: Call) -> Interaction:
        """The interaction of a webhook path, while its token lives."""
        one = self._by_token.get(call.ids["token"])
        if one is None or one.acked_at_s is None or one.bot.id != call.number("application"):
            raise Refusal(404, 10015, "Unknown Webhook")
        if time.monotonic() - one.at_s > self.life_s:
            raise Refusal(401, 50027, "Invalid Webhook Token")
        return one

    def follow_up(self, call: Call) -> JsonValue:
        """POST /webhooks/{application}/{token}: no nonce, no look whether it was said before.

        While the first answer shows "thinking" this completes it, and keeps whom it is shown to.
        """
        one = self._alive(call)
        if one.original is not None and one.original != one.source:
            original = self._shown(one, one.original)
            if original.loading:
                return self._changed(one, original, call)
        return as_message(self._world, self._follow_up(one, call))

    def _message(self, one: Interaction, call: Call) -> ShownMessage:
        wanted = call.ids["message"]
        message = self._shown(one, one.original if wanted == "@original" else call.number("message"))
        if message.answers != one.as_asked() and message.message_id != one.original:
            raise Refusal(404, 10008, "Unknown Message")
        return message

    def read(self, call: Call) -> JsonValue:
        """GET /webhooks/{application}/{token}/messages/{message}."""
        return as_message(self._world, self._message(self._alive(call), call))

    def edit(self, call: Call) -> JsonValue:
        """PATCH /webhooks/{application}/{token}/messages/{message}; completes a deferred answer."""
        one = self._alive(call)
        return self._changed(one, self._message(one, call), call)

    def _changed(self, one: Interaction, message: ShownMessage, call: Call) -> JsonValue:
        if message.loading and not (call.body.get("content") or call.uploads):
            raise Refusal(400, 50006, "Cannot send an empty message")
        self._operations.changed(one.channel, message, call)
        if message.loading:
            message.flags &= ~LOADING
            message.edited_at = None
        return as_message(self._world, message)

    def delete(self, call: Call) -> JsonValue:
        """DELETE /webhooks/{application}/{token}/messages/{message}."""
        self._message(self._alive(call), call).deleted = True
        return None

    def failed(self, one: Interaction) -> bool:
        """Whether the person is told "The application did not respond"."""
        return one.acked_at_s is None and time.monotonic() - one.at_s > self.deadline_s

    def who(self, one: Interaction) -> JsonObject:
        """The person of an interaction as User."""
        return user_of(self._world, one.person_id)
