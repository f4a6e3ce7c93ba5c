"""The list of conversations as operators get it. Nothing else of them is loaded: 10,000 are to take under a second."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.safety.names import shown_name
from gateway.store.heads import Connection, ConversationHead, list_heads
from gateway.store.looking import look_at
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


def list_of_file(file: Path, most: object) -> "JsonValue":
    """The list out of a database file that is left as it is.

    Raises:
        StoreUnavailable, SchemaDiffers, StoreMoved: as `gateway.store.looking.look_at`.
    """
    return look_at(file, partial(list_conversations, most=most))


def head_shown(head: ConversationHead) -> "dict[str, JsonValue]":
    """A conversation for a list."""
    return {
        "id": head.id, "title": shown_name(head.title), "person": shown_name(head.person) or head.user_id,
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
