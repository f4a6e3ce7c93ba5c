"""Shows a model the pictures of a conversation: all that a request may hold, or words in their place.

The journal and the conversation keep every picture; a model that sees none, or a full request, leaves nothing behind.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from agent.context.layers import keep_newest_pictures
from agent.models.json_bodies import encode_request
from agent.pictures import NotLoaded, Unseen, visible, without_pictures
from agent.ports import ModelRequest
from agent.transcript import Item, UserItem

MAX_SENT_BYTES = 20_000_000
"""Of pictures in one request: in base64 below the 32 MB that Anthropic takes (API reference, Errors, read 2026-11)."""

MAX_SENT = 20
"""Pictures in one request: for more Anthropic takes smaller ones alone (Vision guide, read 2026-11)."""


def fit_pictures(request: ModelRequest, *, sees_images: bool) -> ModelRequest:
    """Return the request with the pictures that a model can take, newest first, and words in place of the others."""
    if not _places(request.items):
        return request
    if sees_images:
        return replace(request, items=keep_newest_pictures(request.items, MAX_SENT, MAX_SENT_BYTES))
    return replace(request, items=without_pictures(request.items, Unseen.BLIND))


def _places(items: Sequence[Item]) -> list[int]:
    """Return the indexes of messages with a picture."""
    said = enumerate(items)
    return [at for at, item in said if type(item) is UserItem and item.pictures and visible(item.pictures)]


async def encode_shown(request: ModelRequest, wire: str, to_body: Callable[[ModelRequest], dict[str, Any]]) -> bytes:
    """As `encode_request`, the bytes of its pictures read where they are needed: what was encoded before is kept."""
    try:
        return encode_request(request, to_body)
    except NotLoaded:
        loaded = await _load(request, wire)
    try:
        return encode_request(loaded, to_body)
    except NotLoaded:  # all is encoded anew, for something needs mending
        return encode_request(await _load(replace(request, pieces=None), wire), to_body)


async def _load(request: ModelRequest, wire: str) -> ModelRequest:
    """Return the request with the bytes of its pictures; words stand for a picture that is no longer kept."""
    said = [request.items[at] for at in _places(request.items)]
    new = said if request.pieces is None else request.pieces.lacks(wire, said)
    ids = [picture.id for item in new if isinstance(item, UserItem) for picture in visible(item.pictures)]
    content = await request.load_pictures(ids) if ids and request.load_pictures is not None else {}
    lost = set(ids) - content.keys()
    items = [_without_lost(item, lost) for item in request.items] if lost else request.items
    return replace(request, items=items, picture_bytes=content)


def _without_lost(item: Item, lost: set[str]) -> Item:
    if not isinstance(item, UserItem) or not lost & {picture.id for picture in item.pictures}:
        return item
    pictures = [replace(each, unseen=Unseen.GONE) if each.id in lost else each for each in item.pictures]
    return replace(item, pictures=tuple(pictures))
