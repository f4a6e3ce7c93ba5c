"""An update of discord.py that drops a private name which `channels.discord.library` uses fails here."""

import inspect
import re
from types import ModuleType

import discord.gateway
import discord.http
import pytest
from aiohttp import ClientResponse
from discord import utils

PRIVATE = [
    (discord.http, "self.__session"),  # `ws_connect` with a bound on messages
    (discord.http, "self._buckets"),
    (discord.http, "self._try_clear_expired_ratelimits"),
    (discord.http, "self._global_over"),
    (discord.http, "self._loop"),  # of a bucket
    (discord.gateway, "self._keep_alive"),
    (discord.gateway, "self._last_send"),
    (discord.gateway, "self._decompressor"),
    (discord.gateway, "utils._ActiveDecompressionContext"),
    (discord.gateway, "client._connection"),
    (discord.gateway, "client._enable_debug_events"),
    (discord.gateway, "_connection._update_references"),
    (discord.gateway, "state._intents"),
    (discord.gateway, "state._activity"),
    (discord.gateway, "state._status"),
]


@pytest.mark.parametrize(("module", "name"), PRIVATE)
def test_the_library_still_uses_the_name(module: ModuleType, name: str) -> None:
    """By this spelling: another one means another way in."""
    assert re.search(rf"\b{re.escape(name)}\b", inspect.getsource(module)), name


def test_the_places_that_are_set_from_outside_are_there() -> None:
    """The class of streams that unpack, and the body of an answer."""
    assert hasattr(utils, "_ActiveDecompressionContext")
    assert "_body" in vars(ClientResponse)
