"""The event loop that the gateway and the thread of its PostgreSQL connections run on."""

import asyncio


def make_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of uvloop if it is installed for this system and this Python, else one of asyncio."""
    try:
        from uvloop import new_event_loop  # noqa: PLC0415  2 MiB, for a gateway alone
    except ImportError:
        return asyncio.new_event_loop()
    return new_event_loop()
