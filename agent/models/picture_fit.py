"""The selection of pictures for a request: as many as the provider takes, text in place of the others.

The journal and the conversation keep every picture.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.context.layers import keep_newest_pictures
from agent.models.json_bodies import encode_request
from agent.pictures import LoadPictures, NotLoaded, Unseen, visible, without_pictures
from agent.ports import ModelRequest
from agent.transcript import Item, UserItem

MAX_SENT_BYTES = 20_000_000
"""Limit of all pictures in a request; in base64 below Anthropic's 32 MB (API reference, Errors, read 2026-11)."""

MAX_SENT = 20
"""Maximum pictures in a request; with more, Anthropic accepts only smaller ones (Vision guide, read 2026-11)."""


def fit_pictures(request: ModelRequest, *, sees_images: bool) -> ModelRequest:
    """Return the request with the newest pictures that the model can take, and text in place of the others."""
    if not _places(request.items):
        return request
    if sees_images:
        return replace(request, items=keep_newest_pictures(request.items, MAX_SENT, MAX_SENT_BYTES))
    return replace(request, items=without_pictures(request.items, Unseen.BLIND))


async def show_pictures(items: Sequence[Item], load: LoadPictures) -> tuple[list[Item], Mapping[str, bytes]]:
    """Return the items with text in place of pictures that a request has no room for, and the bytes of the others."""
    fitted = keep_newest_pictures(items, MAX_SENT, MAX_SENT_BYTES)
    ids = [picture.id for at in _places(fitted) for picture in visible(getattr(fitted[at], "pictures", ()))]
    content = await load(ids) if ids else {}
    lost = set(ids) - content.keys()
    return [_without_lost(item, lost) for item in fitted], content


def _places(items: Sequence[Item]) -> list[int]:
    """Return the indexes of messages with a picture."""
    said = enumerate(items)
    return [at for at, item in said if type(item) is UserItem and item.pictures and visible(item.pictures)]


async def encode_shown(request: ModelRequest, wire: str, to_body: Callable[[ModelRequest], dict[str, Any]]) -> bytes:
    """Encode a request and load the bytes of its pictures if they are needed: encoded pieces are reused."""
    try:
        return encode_request(request, to_body)
    except NotLoaded:
        loaded = await _load(request, wire)
    try:
        return encode_request(loaded, to_body)
    except NotLoaded:  # a repair is needed, so all is encoded anew
        return encode_request(await _load(replace(request, pieces=None), wire), to_body)


async def _load(request: ModelRequest, wire: str) -> ModelRequest:
    """Return the request with the bytes of its pictures; text replaces a picture that is no longer kept."""
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
