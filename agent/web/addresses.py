"""The guard of connections: it refuses every address that is not on the public Internet.

It stands where sockets are made, so that it sees each address that a connection would really go to: after redirects,
for every answer of the name server, in any way of writing an address.
"""

import errno
import socket
from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address, ip_network

from aiohttp import AddrInfoType

from agent.web.config import split_private

PORTS = frozenset({80, 443, 8080, 8443})
"""Ports on which web servers listen."""

_REFUSED = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",  # this host
            "10.0.0.0/8",
            "100.64.0.0/10",  # carrier-grade NAT
            "127.0.0.0/8",
            "168.63.129.16/32",  # Azure's own services, on each of its machines
            "169.254.0.0/16",  # link-local; metadata of clouds
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
            "2001::/23",  # Teredo and other protocols
            "2001:db8::/32",
            "2002::/16",  # 6to4
            "3fff::/20",
        ),
    )
)
"""Networks of RFC 6890 and its successors that are private, special or lead to others."""

_GLOBAL_UNICAST = ip_network("2000::/3")
"""The part of IPv6 that is assigned; mapped IPv4, NAT64, link-local, private and multicast addresses are outside."""


class AddressRefused(PermissionError):
    """A connection would leave the public Internet."""

    def __init__(self) -> None:
        super().__init__(errno.EACCES, "the address is not on the public Internet")


def is_public(address: str) -> bool:
    """Return True if an address is on the public Internet."""
    ip = ip_address(address)
    if isinstance(ip, IPv6Address) and ip not in _GLOBAL_UNICAST:
        return False
    return not any(ip in network for network in _REFUSED if network.version == ip.version)


class AddressGuard:
    """A maker of sockets that refuses to make those for addresses that may not be reached."""

    def __init__(self, allow_private: Sequence[str] = ()) -> None:
        """`allow_private` has the exceptions, as ADDRESS:PORT or NETWORK:PORT."""
        self._allowed = [split_private(entry) for entry in allow_private]

    def open_socket(self, info: AddrInfoType) -> socket.socket:
        """Return a socket for this address.

        Raises:
            AddressRefused: it may not be reached.
        """
        family, kind, protocol, _, there = info
        address, port = str(there[0]), int(there[1])
        is_open = port in PORTS and is_public(address) and not is_own_address(family, there)
        if not is_open and not self._is_excepted(address, port):
            raise AddressRefused
        return socket.socket(family, kind, protocol)

    def _is_excepted(self, address: str, port: int) -> bool:
        ip = ip_address(address)
        return any(port == of and ip in network for network, of in self._allowed if network.version == ip.version)


def is_own_address(family: int, address: tuple[object, ...]) -> bool:
    """Return True if a public address is this machine's own, at which no firewall stands between."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:  # connecting it sends nothing, and chooses its address
        try:
            probe.connect(address)
        except OSError:
            return False
        return bool(probe.getsockname()[0] == address[0])
