"""The HTTP server: health, readiness, metrics, `/v1`, the console and the paths of channels, behind one guard."""

import asyncio
import contextlib
import errno
import hmac
import ipaddress
import logging
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Protocol
from urllib.parse import urlsplit

import structlog
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.log import server_logger
from aiohttp.typedefs import Handler
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from channels.base import ChannelState, HttpRoute
from channels.web.bounds import address_of
from gateway.errors import GatewayError
from gateway.http import oauth_page, playground
from gateway.http.api.problems import from_server
from gateway.http.api.server import BASE as API_BASE
from gateway.http.api.server import ApiServer
from gateway.http.config import OAUTH_PATH, HttpConfig, is_loopback
from gateway.http.connections import ConnectionLimiter
from gateway.http.forwarded import as_address, client_of, is_trusted
from gateway.http.mounts import Mounts
from gateway.http.playground import PlaygroundProcess
from gateway.http.serving import serve
from gateway.telemetry import REGISTRY

MAX_BODY_BYTES = 1_000_000
SHUTDOWN_S = 2.0
MAX_HEADERS = 64  # of a request, of 8 KB each
BACKLOG = 512  # connections waiting to be accepted

PROXIED = web.RequestKey("PROXIED", bool)
"""Request key: True if the request has a forwarding header, trusted or not."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class PartHealth:
    """The health of one part: a channel account or the store."""

    state: ChannelState
    detail: str = ""  # the problem and its remedy; empty while ready; never a secret
    heard_at: datetime | None = None  # aware UTC; last sign of life of a platform

    @property
    def usable(self) -> bool:
        """Return True if the part works. A degraded one does; a starting or failed one does not."""
        return self.state in {ChannelState.READY, ChannelState.DEGRADED}


class HealthSource(Protocol):
    """A source of the health of all parts."""

    def health(self) -> Mapping[str, PartHealth]:
        """Return the health of each part by name ("store", "telegram:main"), without blocking."""
        ...

    async def measure(self) -> None:
        """Update the gauges that are read from the store."""
        ...


class Clients:
    """The identification of clients, who may be behind trusted proxies."""

    def __init__(self, config: HttpConfig) -> None:
        self._trusted = config.trusted
        self._has_warned = False

    def address_of(self, remote: str) -> str | None:
        """Return the address to count; None if it may be many clients: a trusted proxy or this machine."""
        address = as_address(remote)
        may_be_many = address is None or address.is_loopback or is_trusted(address, self._trusted)
        return None if may_be_many else address_of(remote)

    def identify(self, request: web.Request) -> web.Request:
        """Return the request with the client's `remote` and `scheme`."""
        peer = request.remote
        client = client_of(peer, request.headers, self._trusted)
        if client.proxied and client.address == peer:
            self._warn_once(peer)
        if client.address != peer or client.https:
            scheme = "https" if client.https else request.scheme
            request = request.clone(remote=client.address or "", scheme=scheme)
        request[PROXIED] = client.proxied
        return request

    def _warn_once(self, peer: str | None) -> None:
        """Warn about a proxy in our network that is not trusted: all its visitors look like one."""
        address = as_address(peer or "")
        if (
            not self._has_warned
            and address is not None
            and address.is_private
            and not is_trusted(address, self._trusted)
        ):
            self._has_warned = True
            log.warning("proxy_not_trusted", address=peer, mend="if it is yours, add it to http.trusted_proxies")


class HttpServer:
    """The gateway's own HTTP server on one address."""

    def __init__(
        self,
        config: HttpConfig,
        health: HealthSource,
        mounts: Mounts,
        api: ApiServer | None = None,
        *,
        playground: bool = False,
        routes: Sequence[HttpRoute] = (),
    ) -> None:
        """Prepare the server; `run` starts it.

        Args:
            config: the settings of `[http]`.
            health: the health of all parts.
            mounts: finds the paths that channels serve.
            api: answers requests under `/v1`.
            playground: True serves `/playground` to this machine.
            routes: more paths, such as the console's.
        """
        self._api = api
        self._routes = routes
        self._playground = PlaygroundProcess() if playground and is_loopback(config.host) else None
        self._config = config
        self._clients = Clients(config)
        self._limiter = ConnectionLimiter(config.connections, config.address_connections, self._clients.address_of)
        self._health = health
        self._mounts = mounts
        self._bound: list[socket.socket] = []
        self.started = asyncio.Event()
        self.port = config.port  # the real one once `started` is set

    async def bind(self) -> None:
        """Bind the address before `run` serves it.

        Raises:
            GatewayError: it cannot be bound; the message names it and TENK_HTTP.
        """
        self._bound = await self._listeners()

    def close(self) -> None:
        """Close what `bind` has bound and `run` has not taken over."""
        for listener in self._bound:
            listener.close()

    async def run(self) -> None:
        """Serve until cancelled, then close every connection.

        Raises:
            GatewayError: the address cannot be bound.
        """
        server_logger.addFilter(_is_worth_a_line)
        async with contextlib.AsyncExitStack() as held:
            if self._playground is not None:
                held.push_async_callback(self._playground.aclose)
            listeners = [held.enter_context(listener) for listener in self._bound or await self._listeners()]
            self._bound = []
            self.port = listeners[0].getsockname()[1]
            self.started.set()
            log.info("http_started", url=self.url)
            await serve(
                self._application(),
                listeners,
                self._limiter,
                shutdown_timeout=SHUTDOWN_S,
                keepalive_timeout=self._config.head_timeout_s,
                max_headers=MAX_HEADERS,
                auto_decompress=False,  # or one sent byte could cause a thousand bytes of work
            )

    @property
    def url(self) -> str:
        """Return the local URL, with the real port once `started` is set."""
        host = f"[{self._config.host}]" if ":" in self._config.host else self._config.host
        return f"http://{host}:{self.port}/"

    @property
    def public_url(self) -> str:
        """Return the base of links, ending in "/": the operator's public URL, never one from a request."""
        return self.url if self._config.public_url is None else f"{self._config.public_url}/"

    @property
    def plays(self) -> bool:
        """Return True if the playground is served."""
        return self._playground is not None

    @property
    def on_loopback(self) -> bool:
        """Return True if only this machine can reach the server."""
        return is_loopback(self._config.host)

    async def _listeners(self) -> list[socket.socket]:
        """Return a non-blocking listening socket for each address of our host."""
        host, port = self._config.host, self._config.port
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
            return _bind(dict.fromkeys((family, address) for family, _, _, _, address in found))
        except OSError as error:
            in_use = error.errno == errno.EADDRINUSE
            why = "is in use by another process" if in_use else f"cannot be bound ({error.strerror})"
            raise GatewayError(
                f"port {port} on {host} {why}; set TENK_HTTP (now {self._config.listen}) to a free address"
            ) from error

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[self._guard], client_max_size=MAX_BODY_BYTES)
        application.router.add_get("/healthz", self._healthz)
        application.router.add_get("/readyz", self._readyz)
        application.router.add_get("/metrics", self._metrics)
        application.router.add_get(OAUTH_PATH, oauth_page.show_code)
        for route in self._routes:
            application.router.add_route(route.method, route.path, route.handler)
        if self._playground is not None:
            application.router.add_get(playground.PATH, self._play)
        if self._api is not None:
            application.router.add_route("*", f"{API_BASE}/{{path:[\\s\\S]*}}", partial(self._api.serve, self._limiter))
        application.router.add_route("*", "/{path:.*}", partial(self._mounts.serve, self._limiter))
        return application

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse foreign Host headers and origins before any handler runs."""
        with self._limiter.answering(request):
            api = self._api if request.path.startswith(f"{API_BASE}/") else None
            try:
                self._refuse(request, api)
            except web.HTTPException as refused:
                if api is None:
                    raise
                return from_server(refused).to_response()
            return await handler(self._clients.identify(request))

    def _refuse(self, request: web.Request, api: ApiServer | None) -> None:
        """Raise if the Host is not ours (DNS rebinding), the origin is foreign, or the body is compressed."""
        if not self._is_ours(request.host):
            raise web.HTTPForbidden(text="this Host is not served here; see http.allowed_hosts\n")
        if _is_foreign(request) and not (api is not None and api.welcomes(request.headers.get("Origin", ""))):
            raise web.HTTPForbidden(text="requests from another site's page are refused\n")
        if "Content-Encoding" in request.headers:
            raise web.HTTPUnsupportedMediaType(text="compressed bodies are refused\n")

    def _is_ours(self, host_header: str) -> bool:
        try:
            name = (urlsplit(f"//{host_header}").hostname or "").rstrip(".")
        except ValueError:
            return False
        if name in self._config.hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True  # an address cannot be rebound

    def _is_authorized(self, request: web.Request) -> bool:
        key = self._config.api_key
        if key is None:  # we listen on loopback, but a proxy's request comes from elsewhere
            return not request.get(PROXIED, False)
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(
            given.strip().encode("utf-8", "replace"), key.get_secret_value().encode()
        )

    def _details(self, request: web.Request, parts: Mapping[str, PartHealth]) -> dict[str, object]:
        if not self._is_authorized(request):
            return {}
        return {"parts": {name: _part_as_json(part) for name, part in parts.items()}}

    async def _healthz(self, request: web.Request) -> web.Response:
        """Answer that the process is alive; add the health of each part if the request is authorized."""
        parts = self._health.health()
        return web.json_response({"status": "alive"} | self._details(request, parts))

    async def _readyz(self, request: web.Request) -> web.Response:
        """Answer 200 if every part is usable, else 503."""
        parts = self._health.health()
        ready = bool(parts) and all(part.usable for part in parts.values())
        body = {"status": "ready" if ready else "not ready"} | self._details(request, parts)
        return web.json_response(body, status=200 if ready else 503)

    async def _play(self, request: web.Request) -> web.Response:
        if self._playground is None or request.get(PROXIED, False):
            raise web.HTTPNotFound(text="there is nothing at this path\n")
        return await self._playground.open(request)

    async def _metrics(self, request: web.Request) -> web.Response:
        if not self._is_authorized(request):
            raise web.HTTPUnauthorized(text="send a key: Authorization: Bearer KEY\n")
        await self._health.measure()
        return web.Response(body=generate_latest(REGISTRY), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _bind(addresses: Iterable[tuple[int, Any]]) -> list[socket.socket]:
    """Return a listening socket for each address that this machine has."""
    with contextlib.ExitStack() as undo:
        made: list[socket.socket] = []
        missing = None
        for family, address in addresses:
            try:
                made.append(undo.enter_context(socket.create_server(address, family=family, backlog=BACKLOG)))
            except OSError as error:
                if error.errno not in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
                    raise
                missing = error
                continue
            made[-1].setblocking(False)
        if not made:
            raise missing or OSError(errno.EADDRNOTAVAIL, "the name has no address")
        undo.pop_all()
        return made


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Return False for errors about malformed HTTP, which strangers could use to fill the log."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


def _is_foreign(request: web.Request) -> bool:
    """Return True for a POST or WebSocket from another site's page, which browsers do not prevent."""
    origin = request.headers.get("Origin")
    if origin is None:
        return False
    only_reads = request.method in {"GET", "HEAD"} and "upgrade" not in request.headers.get("Connection", "").lower()
    try:
        return not only_reads and urlsplit(origin).netloc.lower() != request.host.lower()
    except ValueError:
        return True


def _part_as_json(part: PartHealth) -> dict[str, str | None]:
    return {
        "state": part.state.value,
        "detail": part.detail,
        "heard_at": part.heard_at.isoformat() if part.heard_at else None,
    }
