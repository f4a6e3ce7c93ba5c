"""A lookup of channel classes by name, through the entry points of group `tenk.channels`.

It imports only the requested platform: its SDK may be heavy, or not installed.
"""

import inspect
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol

from pydantic import BaseModel, create_model

from channels.base import Channel, Limits
from channels.chat.account import PlatformAccount
from channels.errors import ConfigRefused

GROUP = "tenk.channels"


class UnknownChannel(LookupError):
    """No installed package offers a channel with this name; the message lists those that are offered."""


class ChannelNotInstalled(Exception):
    """The channel is known but its SDK is not installed; the message names it."""


class AccountConfig(Protocol):
    """The part of an account's configuration that the gateway reads; see `PlatformAccount`."""

    @property
    def name(self) -> str:
        """Return the account's name: that of its table, `[channels.telegram.NAME]`."""
        ...

    @property
    def tenant(self) -> str:
        """Return the owner of the account, a name of `[tenants]`."""
        ...

    @property
    def pacing(self) -> str:
        """Return when the sender keeps the platform's limits: adaptive (after the first refusal) | strict (always)."""
        ...


def channel_names() -> list[str]:
    """Return the names of all channels that installed packages offer, sorted; import none."""
    return sorted(point.name for point in entry_points(group=GROUP))


def load_channel(name: str) -> type:
    """Return the class of a channel; called with an account's configuration it makes a `channels.base.Channel`.

    Raises:
        UnknownChannel: no installed package offers it.
        ChannelNotInstalled: its SDK is missing.
    """
    return _load(_find(name, tuple(sys.path)))


@lru_cache(64)
def _find(name: str, _path: tuple[str, ...]) -> EntryPoint:
    """Return the entry point of a channel. Cached: each search reads the metadata of all distributions."""
    point = next(iter(entry_points(group=GROUP, name=name)), None)
    if point is None:
        raise UnknownChannel(f"no channel is called {name!r}; there are: {', '.join(channel_names()) or 'none'}")
    return point


def account_model(name: str) -> type[BaseModel]:
    """Return the model of a channel's accounts, which its class names in `account_model`.

    Fields of `PlatformAccount` that it lacks are added, with their defaults.

    Raises:
        UnknownChannel: no installed package offers the channel.
        ChannelNotInstalled: its SDK is missing.
        TypeError: the class names no model, or has no `connections`; the message says what to add.
    """
    channel = load_channel(name)
    if not callable(getattr(channel, "connections", None)):
        raise TypeError(
            f"its adapter {channel.__module__}:{channel.__qualname__} has no connections(); an adapter with one"
            " connection adds `async def connections(self): return (self,)` (channels.base.Channel)"
        )
    model = getattr(channel, "account_model", None)
    if not isinstance(model, type) or not issubclass(model, BaseModel):
        raise TypeError(f"channel {name!r} has no account_model, so its accounts cannot be configured")
    own, common = model.model_fields, PlatformAccount.model_fields
    added: dict[str, Any] = {field: (info.annotation, info) for field, info in common.items() if field not in own}
    return create_model(model.__name__, __base__=model, __module__=model.__module__, **added) if added else model


def make_channel(name: str, config: AccountConfig) -> Channel:
    """Make the channel of an account; slow, because it may import an SDK.

    Raises:
        UnknownChannel: no installed package offers it.
        ChannelNotInstalled: its SDK is missing.
        ConfigRefused: what was made is no `channels.base.Channel`; the message says what it lacks.
    """
    channel: Channel = load_channel(name)(config)
    if flaws := "; ".join(_flaws_of(channel, name, config)):
        raise ConfigRefused(f"its adapter {type(channel).__module__}:{type(channel).__qualname__} {flaws}")
    return channel


def _flaws_of(channel: object, name: str, config: AccountConfig) -> Iterator[str]:
    for attribute, wanted, why in (
        ("name", name, "the name of its entry point"),
        ("account", config.name, "the name of its account"),
    ):
        if getattr(channel, attribute, None) != wanted:
            yield f"needs the attribute {attribute} = {wanted!r}, {why}"
    if not isinstance(getattr(channel, "limits", None), Limits):
        yield "needs the attribute limits, a channels.base.Limits"
    renderer = getattr(channel, "renderer", None)
    if not callable(getattr(renderer, "render", None)) or not callable(getattr(renderer, "plain", None)):
        yield "needs the attribute renderer, like channels.viewers.plain_renderer.PlainRenderer()"
    for method in ("connections", "send", "aclose"):
        if not inspect.iscoroutinefunction(getattr(channel, method, None)):
            yield f"needs the method `async def {method}`"


def _load(point: EntryPoint) -> type:
    """Import the target of an entry point."""
    try:
        loaded = point.load()
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] == "channels":
            raise
        if error.name == point.module.partition(".")[0]:  # a path of `pip install -e` is read when Python starts
            raise ChannelNotInstalled(
                f"channel {point.name!r} is installed, but this process cannot import {error.name}: restart the gateway"
            ) from error
        raise ChannelNotInstalled(f"channel {point.name!r} needs {error.name}, which is not installed") from error
    if not isinstance(loaded, type):
        raise TypeError(f"entry point {point.name!r} of {GROUP} names no class")
    return loaded
