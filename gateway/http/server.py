"""Serves health, readiness and metrics. What is asked and what is answered; who is healthy is decided elsewhere."""

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
from gateway.http.config import HttpConfig
from gateway.http.health import HealthSource, PartHealth
from gateway.telemetry import REGISTRY

MAX_BODY_BYTES = 1_000_000
SHUTDOWN_S = 2.0

log = structlog.get_logger()


class HttpServer:
    """The gateway's own HTTP server, one address. `run` serves until cancelled."""

    def __init__(self, config: HttpConfig, health: HealthSource) -> None:
        """Nothing is bound before `run`."""
        self._config = config
        self._health = health
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
            log.info("http_started", host=self._config.host, port=self.port)
            await asyncio.Event().wait()  # until cancelled
        finally:
            await runner.cleanup()

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
        return application

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse a Host that is not ours: a page whose name was rebound to this address must learn nothing (A20)."""
        if not self._is_ours(request.host):
            raise web.HTTPForbidden(text="this Host is not served here; see http.allowed_hosts\n")
        return await handler(request)

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
        return web.Response(body=generate_latest(REGISTRY), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _part_as_json(part: PartHealth) -> dict[str, str | None]:
    return {
        "state": part.state.value,
        "detail": part.detail,
        "heard_at": part.heard_at.isoformat() if part.heard_at else None,
    }
