"""Finds a channel's class by its name, through the entry points of group `tenk.channels`.

Only the platform that is asked for is imported: its SDK may be heavy, or not installed.
"""

import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

from pydantic import BaseModel

GROUP = "tenk.channels"


class UnknownChannel(LookupError):
    """No installed package offers a channel of this name; the message lists those that are offered."""


class ChannelNotInstalled(Exception):
    """The channel is known but its SDK is not installed; the message says how to get it."""


class AccountConfig(Protocol):
    """What the gateway reads of an account's configuration; the rest is its adapter's."""

    @property
    def name(self) -> str:
        """The account's name: that of its table, `[channels.telegram.NAME]`."""
        ...

    @property
    def pacing(self) -> str:
        """When the platform's limits are kept: adaptive (from the first refusal on) | strict (always)."""
        ...


def channel_names() -> list[str]:
    """The names of all channels that are offered, sorted; nothing is imported."""
    return sorted(point.name for point in entry_points(group=GROUP))


def load_channel(name: str) -> type:
    """The class of a channel; called with its account's configuration it gives a `channels.base.Channel`.

    Raises:
        UnknownChannel: nobody offers it.
        ChannelNotInstalled: its SDK is missing.
    """
    return _load(_find(name, tuple(sys.path)))


@lru_cache(64)
def _find(name: str, _path: tuple[str, ...]) -> EntryPoint:
    """Found once: each look reads what all distributions offer, and what is imported of one stays as it is."""
    point = next(iter(entry_points(group=GROUP, name=name)), None)
    if point is None:
        raise UnknownChannel(f"no channel is called {name!r}; there are: {', '.join(channel_names()) or 'none'}")
    return point


def account_model(name: str) -> type[BaseModel]:
    """The model of a channel's accounts (an `AccountConfig`), as its class names it in `account_model`.

    Raises:
        UnknownChannel, ChannelNotInstalled: see `load_channel`.
        TypeError: it names none.
    """
    model = getattr(load_channel(name), "account_model", None)
    if not isinstance(model, type) or not issubclass(model, BaseModel):
        raise TypeError(f"channel {name!r} has no account_model, so its accounts cannot be configured")
    return model


def _load(point: EntryPoint) -> type:
    """Import what an entry point names."""
    try:
        loaded = point.load()
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] == "channels":
            raise
        raise ChannelNotInstalled(
            f"channel {point.name!r} needs {error.name}: pip install 'tenk-gateway[{point.name}]'"
        ) from error
    if not isinstance(loaded, type):
        raise TypeError(f"entry point {point.name!r} of {GROUP} names no class")
    return loaded
