"""Gives each request its client's address and scheme, where a trusted proxy asks for them. How that is read is pure."""

import structlog
from aiohttp import web

from gateway.http.config import HttpConfig
from gateway.http.forwarded import as_address, client_of, is_trusted

PROXIED = web.RequestKey("PROXIED", bool)
"""The key under which a request says whether anybody, trusted or not, says that it is asked for somebody else."""

log = structlog.get_logger()


class Clients:
    """Knows the trusted proxies."""

    def __init__(self, config: HttpConfig) -> None:
        self._trusted = config.trusted
        self._told = False

    def stand_for_many(self, remote: str) -> bool:
        """Whether connections from an address may be those of many people: a trusted proxy's, or this machine's."""
        address = as_address(remote)
        return address is None or address.is_loopback or is_trusted(address, self._trusted)

    def identify(self, request: web.Request) -> web.Request:
        """The request with its client as `remote` and `scheme`."""
        peer = request.remote
        client = client_of(peer, request.headers, self._trusted)
        if client.proxied and client.address == peer:
            self._tell_once(peer)
        if client.address != peer or client.https:
            scheme = "https" if client.https else request.scheme
            request = request.clone(remote=client.address or "", scheme=scheme)
        request[PROXIED] = client.proxied
        return request

    def _tell_once(self, peer: str | None) -> None:
        """A proxy in our own network that nobody named: all its visitors look like one."""
        address = as_address(peer or "")
        if not self._told and address is not None and address.is_private and not is_trusted(address, self._trusted):
            self._told = True
            log.warning("proxy_not_trusted", address=peer, mend="if it is yours, add it to http.trusted_proxies")
