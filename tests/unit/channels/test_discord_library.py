"""Private names of discord.py that `channels.discord.library` uses: an update that drops one fails here."""

import inspect
import re
from types import ModuleType

import discord.http
import pytest
from aiohttp import ClientResponse

PRIVATE = [
    (discord.http, "self._buckets"),
    (discord.http, "self._try_clear_expired_ratelimits"),
    (discord.http, "self._global_over"),
    (discord.http, "self._loop"),  # of a bucket
]


@pytest.mark.parametrize(("module", "name"), PRIVATE)
def test_the_library_still_uses_the_name(module: ModuleType, name: str) -> None:
    assert re.search(rf"\b{re.escape(name)}\b", inspect.getsource(module)), name


def test_the_body_of_an_answer_is_kept_where_it_is_set_from_outside() -> None:
    assert "_body" in vars(ClientResponse)
