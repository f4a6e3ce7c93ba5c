"""Ports for servers that must know theirs before they listen, or come back to it."""

import secrets
import socket

PORTS = range(20_000, 32_000)
"""No connection that goes out is given one of these, and no server that lets the system choose."""

_given: set[int] = set()


def free_port() -> int:
    """Return a free port, never the same twice. (`random` would begin alike in every worker's every test.)"""
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _given:
            _given.add(port)
            return port


def free_address() -> str:
    """Return a free loopback address in the form of `[http] listen`."""
    return f"127.0.0.1:{free_port()}"
