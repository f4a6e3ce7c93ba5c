"""What a channel may be able to do is found by its class. The abilities themselves are in `base` and `connections`."""

from typing import _ProtocolMeta

_HAVE: dict[tuple[type, type], bool] = {}  # by ability and class


class Ability(_ProtocolMeta):
    """`isinstance` looks for an ability once a class of channels: a look costs 6 to 16 µs, a message asks fifteen."""

    def __instancecheck__(self, channel: object) -> bool:
        """Whether the channel's class has it."""
        key = self, type(channel)
        found = _HAVE.get(key)
        if found is None:
            found = _HAVE[key] = super().__instancecheck__(channel)
        return found
