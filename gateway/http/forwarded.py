"""Client addresses from forwarding headers, believed only from trusted proxies.

Each proxy appends the address it was called from. So the list is read from its end: the first address that is no
trusted proxy is the client. The client may have invented everything before it.
"""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass

from multidict import CIMultiDictProxy

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

MAX_HOPS = 32
"""Addresses read from the end of a list."""

_WITH_PORT = re.compile(r"([0-9.]{7,15}):[0-9]{1,5}\Z|\[([0-9A-Fa-f:.]{2,45})\](?::[0-9]{1,5})?\Z")
_PAIR = re.compile(r'\s*([A-Za-z]{1,20})=("[^"\\]{0,100}"|[^\s",;="]{0,100})\s*\Z')


@dataclass(frozen=True, slots=True)
class RequestClient:
    """The client of a request."""

    address: str | None  # None if the connection has none
    https: bool = False  # True if the client reached a trusted proxy over HTTPS
    proxied: bool = False  # True if any forwarding header is present, trusted or not


def as_address(text: str) -> IpAddress | None:
    """Parse an address as proxies or the system write it, with or without a port; None if it is none."""
    bare = text.strip(" \t")
    with_port = _WITH_PORT.match(bare)
    if with_port:
        bare = with_port[1] or with_port[2]
    try:
        address = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def is_trusted(address: IpAddress | None, trusted: Sequence[IpNetwork]) -> bool:
    """Return True if the address is a trusted proxy's."""
    return address is not None and any(address in network for network in trusted)


def client_of(peer: str | None, headers: CIMultiDictProxy[str], trusted: Sequence[IpNetwork]) -> RequestClient:
    """Return the client by the peer's address and the headers; the peer itself if the headers are malformed."""
    listed, elements = _forwarded_for(headers), _elements(headers)
    proxied = bool(listed or elements)
    if not trusted or not is_trusted(as_address(peer or ""), trusted):
        return RequestClient(peer, proxied=proxied)
    found = {_rightmost(hops, trusted) for hops in (listed, [element.get("for", "") for element in elements]) if hops}
    # A proxy writes one of the two headers and passes on the other as the client made it up: then they differ.
    address = found.pop() if len(found) == 1 else None
    return RequestClient(address or peer, _is_https(headers, elements), proxied)


def _rightmost(hops: Sequence[str], trusted: Sequence[IpNetwork]) -> str | None:
    """Return the last address that is no trusted proxy, else the first one; None if an address up to it is invalid."""
    address = None
    for hop in reversed(hops):
        address = as_address(hop)
        if not is_trusted(address, trusted):
            break
    return None if address is None or (len(hops) > MAX_HOPS and is_trusted(address, trusted)) else str(address)


def _forwarded_for(headers: CIMultiDictProxy[str]) -> list[str]:
    return _last(headers, "X-Forwarded-For")


def _elements(headers: CIMultiDictProxy[str]) -> list[dict[str, str]]:
    """Parse `Forwarded` (RFC 7239) into one dict per hop; a malformed element gives an empty one."""
    found = []
    for hop in _last(headers, "Forwarded"):
        pairs = [_PAIR.match(pair) for pair in hop.split(";")]
        found.append({pair[1].lower(): pair[2].strip('"') for pair in pairs if pair} if all(pairs) else {})
    return found


def _is_https(headers: CIMultiDictProxy[str], elements: Sequence[dict[str, str]]) -> bool:
    """Return True if the nearest proxy was reached over HTTPS, as it says."""
    said = _last(headers, "X-Forwarded-Proto")
    proto = said[-1].strip() if said else elements[-1].get("proto", "") if elements else ""
    return proto.lower() == "https"


def _last(headers: CIMultiDictProxy[str], name: str) -> list[str]:
    """Return the last members of a list header, which may have several lines."""
    lines = headers.getall(name, [])
    return ",".join(lines).rsplit(",", MAX_HOPS + 1)[-MAX_HOPS - 1 :] if lines else []
