"""Bot API 10: rich messages, and the drafts that show an answer while it is written."""

import time

from pydantic import JsonValue

from channels.simulators.telegram import rich
from channels.simulators.telegram.checks import JsonObject, Refusal, formatted_draft
from channels.simulators.telegram.params import Params
from channels.simulators.telegram.people import as_message
from channels.simulators.telegram.posting import Poster, saying, writable
from channels.simulators.telegram.state import Bot, Draft, Method, World


class LiveMethods:
    """Carries out what bots ask for with drafts and rich messages."""

    def __init__(self, world: World, poster: Poster) -> None:
        self._world = world
        self._poster = poster

    def table(self) -> dict[str, Method]:
        """The methods by name."""
        return {
            "sendRichMessage": self._send_rich,
            "sendMessageDraft": self._draft,
            "sendRichMessageDraft": self._draft_rich,
        }

    def _send_rich(self, bot: Bot, params: Params) -> JsonValue:
        writable(bot, params)
        text, blocks = rich.check_rich_message(params.mapping("rich_message"))
        says = saying(text)
        says.blocks, says.preview = blocks, False
        chat, (message,) = self._poster.post(bot, params, says)
        return as_message(self._world, bot, chat, message)

    def _draft(self, bot: Bot, params: Params) -> JsonValue:
        text, _ = formatted_draft(params.text("text"), params.json("entities"))
        return self._show_draft(bot, params, text, rich=False)

    def _draft_rich(self, bot: Bot, params: Params) -> JsonValue:
        text, _ = rich.check_rich_message(params.mapping("rich_message"), empty=True)
        return self._show_draft(bot, params, text, rich=True)

    def _show_draft(self, bot: Bot, params: Params, text: str, *, rich: bool) -> JsonValue:
        chat = writable(bot, params)
        draft_id = params.integer("draft_id")
        if chat.kind != "private":
            raise Refusal(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
        if not draft_id:
            raise Refusal(400, "Bad Request: draft_id must be non-zero")
        thread = params.integer("message_thread_id")
        chat.drafts[thread] = Draft(draft_id, text, time.monotonic(), rich)
        return True


def rich_of(params: Params) -> tuple[str, tuple[JsonObject, ...]] | None:
    """What an edit to a rich message says, and its blocks; None for an edit to a text.

    Raises:
        Refusal: Telegram would not take it.
    """
    message = params.mapping("rich_message")
    return rich.check_rich_message(message) if message else None
