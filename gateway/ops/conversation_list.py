"""The list of conversations as operators get it. Nothing else of them is loaded: 10,000 are to take under a second."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from gateway.ops.control_client import Handler
from gateway.safety.names import shown_name
from gateway.store.heads import Connection, ConversationHead, list_heads
from gateway.store.looking import Reader
from gateway.store.tenancy import whose_rows
from gateway.texts import TranslatedError

if TYPE_CHECKING:
    from pydantic import JsonValue  # a command for a list does without

MOST_LISTED = 100_000


def list_conversations(connection: Connection, most: object, user_id: str | None = None) -> "JsonValue":
    """Those that were used last; with a user, where they spoke last.

    Raises:
        TranslatedError: `most` is no number of rows.
    """
    heads = list_heads(connection, whose_rows(), number("most", most, MOST_LISTED), user_id=user_id)
    return [head_shown(head) for head in heads]


def list_call(store: Reader, _clock: object) -> Mapping[str, Handler]:
    """`sessions.list {most}`, of everybody's."""

    async def list_all(arguments: "dict[str, JsonValue]") -> "JsonValue":
        return await store.read(partial(list_conversations, most=arguments["most"]))

    return {"sessions.list": list_all}


def head_shown(head: ConversationHead) -> "dict[str, JsonValue]":
    """A conversation for an operator's list, without its title: that is for its person, whose first words it has."""
    return {
        "id": head.id, "person": shown_name(head.person) or head.user_id,
        "user": head.user_id, "key": head.key, "generation": head.generation, "living": head.living,
        "mode": head.mode, "turns": head.turns, "created_at": head.created_at.isoformat(),
        "used_at": head.used_at.isoformat(), "cost_microusd": head.cost_microusd,
    }  # fmt: skip


def number(name: str, value: object, most: int, least: int = 1) -> int:
    """A number of a request.

    Raises:
        TranslatedError: it is none, or out of these bounds.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise TranslatedError("ops.no_number", name=name, least=least, most=most)
    return value
