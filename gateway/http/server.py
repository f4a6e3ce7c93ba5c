"""Serves health, readiness, metrics, and what channels mount. Guards all of it; who is healthy is decided elsewhere."""

import asyncio
import errno
import hmac
import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from gateway.errors import GatewayError
from gateway.http.config import HttpConfig, is_loopback
from gateway.http.health import HealthSource, PartHealth
from gateway.http.mounts import Mounts
from gateway.telemetry import REGISTRY

MAX_BODY_BYTES = 1_000_000
SHUTDOWN_S = 2.0
POST_S = 60.0  # for a request with a body, from its head to our answer

log = structlog.get_logger()


class HttpServer:
    """The gateway's own HTTP server, one address. `run` serves until cancelled."""

    def __init__(self, config: HttpConfig, health: HealthSource, mounts: Mounts | None = None) -> None:
        """Nothing is bound before `run`; `mounts` finds what channels serve."""
        self._config = config
        self._health = health
        self._mounts = mounts
        self._streams: set[asyncio.Task[object]] = set()  # WebSockets and event streams, which end with the server
        self.started = asyncio.Event()
        self.port = config.port  # the real one once `started` is set

    async def run(self) -> None:
        """Serve until cancelled, then close every connection.

        Raises:
            GatewayError: the address cannot be bound; the message names it and TENK_HTTP.
        """
        runner = web.AppRunner(self._application(), access_log=None, handle_signals=False, shutdown_timeout=SHUTDOWN_S)
        await runner.setup()
        try:
            await self._bind(runner)
            self.started.set()
            log.info("http_started", url=self.url)
            await asyncio.Event().wait()  # until cancelled
        finally:
            await runner.cleanup()

    @property
    def url(self) -> str:
        """Where it is found; with the real port once `started` is set."""
        host = f"[{self._config.host}]" if ":" in self._config.host else self._config.host
        return f"http://{host}:{self.port}/"

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self._config.host)

    async def _bind(self, runner: web.AppRunner) -> None:
        site = web.TCPSite(runner, self._config.host, self._config.port)
        try:
            await site.start()
        except OSError as error:
            in_use = error.errno == errno.EADDRINUSE
            why = "is in use by another process" if in_use else f"cannot be bound ({error.strerror})"
            raise GatewayError(
                f"port {self._config.port} on {self._config.host} {why}; "
                f"set TENK_HTTP (now {self._config.listen}) to a free address"
            ) from error
        self.port = runner.addresses[0][1]

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[self._guard], client_max_size=MAX_BODY_BYTES)
        application.router.add_get("/healthz", self._healthz)
        application.router.add_get("/readyz", self._readyz)
        application.router.add_get("/metrics", self._metrics)
        application.router.add_route("*", "/{path:.*}", self._mounted)
        application.on_shutdown.append(self._end_streams)
        return application

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse a Host that is not ours: a page whose name was rebound to this address must learn nothing (A20)."""
        if not self._is_ours(request.host):
            raise web.HTTPForbidden(text="this Host is not served here; see http.allowed_hosts\n")
        if _is_foreign(request):
            raise web.HTTPForbidden(text="this is not taken from another site's page\n")
        return await handler(request)

    async def _mounted(self, request: web.Request) -> web.StreamResponse:
        """What a channel serves."""
        if self._mounts is None:
            raise web.HTTPNotFound(text="there is nothing here\n")
        serve = self._mounts.find(request.method, request.path)
        if request.method == "POST":
            try:
                async with asyncio.timeout(POST_S):
                    return await serve(request)
            except TimeoutError:
                raise web.HTTPRequestTimeout from None
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a request is served outside a task")
        self._streams.add(task)
        try:
            return await serve(request)
        finally:
            self._streams.discard(task)

    async def _end_streams(self, _application: web.Application) -> None:
        for task in self._streams:
            task.cancel()

    def _is_ours(self, host_header: str) -> bool:
        try:
            name = (urlsplit(f"//{host_header}").hostname or "").rstrip(".")
        except ValueError:
            return False
        if name in {"localhost", self._config.host.lower(), *map(str.lower, self._config.allowed_hosts)}:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True  # an address cannot be rebound

    def _authorized(self, request: web.Request) -> bool:
        key = self._config.api_key
        if key is None:
            return True
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(
            given.strip().encode("utf-8", "replace"), key.get_secret_value().encode()
        )

    def _details(self, request: web.Request, parts: Mapping[str, PartHealth]) -> dict[str, object]:
        if not self._authorized(request):
            return {}
        return {"parts": {name: _part_as_json(part) for name, part in parts.items()}}

    async def _healthz(self, request: web.Request) -> web.Response:
        """The process is alive; with the key, or where none is set, also how each part is doing."""
        parts = self._health.health()
        return web.json_response({"status": "alive"} | self._details(request, parts))

    async def _readyz(self, request: web.Request) -> web.Response:
        """200 when every part is usable, else 503."""
        parts = self._health.health()
        ready = bool(parts) and all(part.usable for part in parts.values())
        body = {"status": "ready" if ready else "not ready"} | self._details(request, parts)
        return web.json_response(body, status=200 if ready else 503)

    async def _metrics(self, request: web.Request) -> web.Response:
        if not self._authorized(request):
            raise web.HTTPUnauthorized(text="a key is needed: Authorization: Bearer KEY\n")
        await self._health.measure()
        return web.Response(body=generate_latest(REGISTRY), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _is_foreign(request: web.Request) -> bool:
    """Whether another site's page asks for more than a look: a POST, or a WebSocket, which no browser forbids (A19)."""
    origin = request.headers.get("Origin")
    if origin is None:
        return False
    is_look = request.method in {"GET", "HEAD"} and "upgrade" not in request.headers.get("Connection", "").lower()
    try:
        return not is_look and urlsplit(origin).netloc.lower() != request.host.lower()
    except ValueError:
        return True


def _part_as_json(part: PartHealth) -> dict[str, str | None]:
    return {
        "state": part.state.value,
        "detail": part.detail,
        "heard_at": part.heard_at.isoformat() if part.heard_at else None,
    }
