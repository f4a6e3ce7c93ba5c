"""Reports to the service manager (systemd): the gateway is ready, and its event loop still runs."""

import asyncio
import os
import socket
from collections.abc import Mapping, MutableMapping
from contextlib import suppress

from channels.clocks import Sleep

BEATS = 3
"""Reports within the time after which systemd takes a silent gateway for hung."""


def is_managed(environ: Mapping[str, str] = os.environ) -> bool:
    """Return True if systemd runs the gateway (INVOCATION_ID, systemd.exec(5)): it may start it again."""
    return "INVOCATION_ID" in environ


async def report(environ: MutableMapping[str, str] = os.environ, sleep: Sleep = asyncio.sleep) -> None:
    """Report readiness, then that the loop runs, until cancelled; return if no service manager listens.

    systemd names its socket in NOTIFY_SOCKET, which is removed so that child processes do not report, and the time of
    `WatchdogSec=` in WATCHDOG_USEC (sd_notify(3)).
    """
    if not (address := environ.pop("NOTIFY_SOCKET", "")):
        return
    if address.startswith("@"):
        address = f"\0{address[1:]}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.setblocking(False)
        manager.connect(address)
        manager.send(b"READY=1")
        if not (wait_s := int(environ.get("WATCHDOG_USEC", "0")) / 1_000_000 / BEATS):
            return
        while True:
            await sleep(wait_s)
            with suppress(OSError):  # the manager is busy; the next report follows
                manager.send(b"WATCHDOG=1")
