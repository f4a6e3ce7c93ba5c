"""The server of `/v1`: it finds the route, checks the key, validates the request and formats errors."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import orjson
import structlog
from aiohttp import web
from pydantic import BaseModel, ValidationError

from agent.plain_errors import words_of_problem
from agent.ports import Principal
from channels.base import NotPersisted
from channels.messages import DEFAULT_TENANT
from gateway.access.api_keys import Scope, id_of, opens
from gateway.errors import StoreUnavailable, unknown_tenant
from gateway.http.api.openapi import docs_page, openapi_document, page_headers
from gateway.http.api.problems import ApiRefusal, from_server
from gateway.http.api.routes import ApiRequest, ApiRoute, RouteTable
from gateway.http.api.sse import ClientGone
from gateway.http.connections import ConnectionLimiter
from gateway.store.api_keys import KEYS, ApiKey
from gateway.store.engine import Store
from gateway.telemetry import FAULTS, series
from gateway.threads import run_in_thread

BASE = "/v1"
DOCUMENT, DOCS = f"{BASE}/openapi.json", f"{BASE}/docs"
BODY_S = 30.0
"""Seconds for a body of at most 1 MB, enough for a slow line."""

_IDEMPOTENCY = re.compile(r"[\x21-\x7e]{1,128}", re.ASCII)
_HEADER_NAMES = re.compile(r"[A-Za-z0-9, -]{1,1000}", re.ASCII)
_TAG = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,3}", re.ASCII)

log = structlog.get_logger()

TENANT_HEADER = "X-Tenant-Id"
"""Header that names the tenant for a system key; any other key is bound to its own tenant."""

Page = tuple[bytes, Mapping[str, str]]
"""A prepared response: body and headers."""

WhoActs = Callable[[ApiKey, str | None, str | None], Awaitable[Principal]]
"""Returns the person that a key acts for, given a program's `user` and the request's locale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiDeps:
    """The parts of the API."""

    store: Store
    routes: Sequence[ApiRoute]
    principal: WhoActs
    title: str
    version: str
    table: RouteTable = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", RouteTable(self.routes))


def _make_pages(deps: ApiDeps) -> Mapping[str, Page]:
    document = openapi_document(deps.routes, deps.title, deps.version)
    return {
        DOCUMENT: (orjson.dumps(document), {"Content-Type": "application/json"}),
        DOCS: (docs_page(document).encode(), page_headers()),
    }


class ServesPrograms(Protocol):
    """The API of one tenant."""

    @property
    def api(self) -> ApiDeps: ...


class ApiServer:
    """The server of everything under `/v1`."""

    def __init__(self, store: Store, tenants: Mapping[str, ServesPrograms], origins: Collection[str] = ()) -> None:
        """Keep the parts; `store` is the whole store, `origins` are allowed for scripts of web pages.

        The OpenAPI document is made at its first request, so that a start does not wait for it.
        """
        self._keys = store
        self._tenants = tenants
        self._origins = frozenset(origins)
        self._pages: Mapping[str, Page] = {}

    def welcomes(self, origin: str) -> bool:
        """Return True if pages of this origin may call the API."""
        return origin in self._origins

    async def serve(self, limiter: ConnectionLimiter, request: web.Request) -> web.StreamResponse:
        """Answer one request; errors have the API's JSON shape."""
        origin = request.headers.get("Origin")
        response = await in_one_shape(request, self._answer_origin(limiter, request, origin))
        self._allow(response, origin)
        return response

    async def _answer_origin(
        self, limiter: ConnectionLimiter, request: web.Request, origin: str | None
    ) -> web.StreamResponse:
        if request.method == "OPTIONS" and origin is not None:
            return self._preflight(origin, request)
        return await self._answer(limiter, request)

    # ------------------------------------------------------------ who asks

    async def _answer(self, limiter: ConnectionLimiter, request: web.Request) -> web.StreamResponse:
        if request.method in {"GET", "HEAD"} and request.path in (DOCUMENT, DOCS):
            self._pages = self._pages or await run_in_thread(_make_pages, self._tenants[DEFAULT_TENANT].api)
            body, headers = self._pages[request.path]
            return web.Response(body=body, headers=headers)
        method = "GET" if request.method == "HEAD" else request.method
        if not request.headers.get("Authorization"):
            # unknown paths and wrong methods are answered without a key
            self._tenants[DEFAULT_TENANT].api.table.find(method, request.rel_url.raw_path)
        key, deps = await self.identify(request)
        route, path = deps.table.find(method, request.rel_url.raw_path)
        _check_scope(key, route.scope)
        given = await read_body(request, route.body)
        call = ApiRequest(
            key=key,
            actor=key.actor,
            path=path,
            query=read_query(request, route.query),
            body=given,
            idempotency_key=_idempotency_of(request) if route.once else None,
            locale=locale_of(request),
            headers=request.headers,
            principal=lambda user: deps.principal(key, user, locale_of(request)),
            stream=partial(self._begin_stream, request),
            end_with_client=partial(limiter.end_with, request),
        )
        return _to_response(route, await route.handle(call))

    async def identify(self, request: web.Request) -> tuple[ApiKey, ApiDeps]:
        """Return the key of a request, with the tenant it acts for, and that tenant's API.

        Raises:
            ApiRefusal: there is no valid key, or it may not act for the tenant.
        """
        key = _act_for(await self._authenticate(request), request.headers.getall(TENANT_HEADER, []))
        return key, self._api_of(key.tenant)

    def _api_of(self, tenant: str) -> ApiDeps:
        if tenant not in self._tenants:
            why = unknown_tenant(tenant, [*self._tenants])
            raise ApiRefusal(403, "no_tenant", why, "Ask the operator of the gateway.")
        return self._tenants[tenant].api

    async def _authenticate(self, request: web.Request) -> ApiKey:
        mend = "Make one with `tenk keys create NAME --scope chat`; send it as `Authorization: Bearer KEY`."
        kind, _, text = request.headers.get("Authorization", "").partition(" ")
        text = text.strip()
        if kind.lower() != "bearer" or not text:
            raise ApiRefusal(401, "key_missing", "this needs a key", mend)
        id_ = id_of(text)
        key = await self._keys.read(partial(KEYS.get, id=id_)) if id_ else None
        if not opens(key, text) or key is None:
            raise ApiRefusal(401, "key_refused", "this key does not exist or was revoked", mend)
        return key

    # ------------------------------------------------------------ pages of others

    def _preflight(self, origin: str, request: web.Request) -> web.Response:
        if not self.welcomes(origin):
            raise _foreign()
        asked = request.headers.get("Access-Control-Request-Headers", "")
        allowed = asked if _HEADER_NAMES.fullmatch(asked) else "Authorization, Content-Type, Idempotency-Key"
        return web.Response(
            status=204,
            headers={
                "Access-Control-Allow-Methods": "GET, POST",
                "Access-Control-Allow-Headers": allowed,
                "Access-Control-Max-Age": "600",
            },
        )

    def _allow(self, response: web.StreamResponse, origin: str | None) -> None:
        """Add the CORS headers that let scripts of an allowed origin read the answer."""
        if response.prepared:
            return
        if origin is not None and self.welcomes(origin):
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Expose-Headers"] = "Retry-After, X-Tenk-Turn"
        response.headers["Vary"] = "Origin"
        response.headers.setdefault("X-Content-Type-Options", "nosniff")

    async def _begin_stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )
        self._allow(response, request.headers.get("Origin"))
        await response.prepare(request)
        return response


async def in_one_shape(request: web.Request, answer: Awaitable[web.StreamResponse]) -> web.StreamResponse:
    """Run a handler and turn its errors into responses."""
    try:
        return await answer
    except ApiRefusal as refusal:
        return refusal.to_response()
    except web.HTTPException as refused:
        return from_server(refused).to_response()
    except ClientGone as gone:
        return gone.response or web.Response()  # the client is gone
    except (NotPersisted, StoreUnavailable):
        return _not_now().to_response()
    except Exception as error:  # noqa: BLE001  one request: logged here, and answered with 500
        series(FAULTS, "api").inc()
        log.error("api_request_failed", path=request.path[:200], exc_info=error)
        return ApiRefusal(500, "broken", "the gateway failed", "See its log.").to_response()


def _check_scope(key: ApiKey, scope: Scope) -> None:
    if scope not in key.scopes:
        raise ApiRefusal(
            403,
            "scope_missing",
            f"the key {key.id} lacks the scope for this",
            f"Make a key with --scope {scope.value}.",
        )


# ---------------------------------------------------------------- what was sent


async def read_body(request: web.Request, model: type[BaseModel] | None) -> BaseModel | None:
    """Read and validate a JSON body.

    Raises:
        ApiRefusal: it is not valid.
    """
    if model is None:
        return None
    if request.content_type != "application/json":
        raise ApiRefusal(415, "media_type", "the body has to be JSON", "Send `Content-Type: application/json`.")
    try:
        async with asyncio.timeout(BODY_S):
            raw = await request.read()
    except TimeoutError:
        raise web.HTTPRequestTimeout(text="the body did not arrive in time") from None
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise invalid(error, model) from None


def read_query(request: web.Request, model: type[BaseModel] | None) -> BaseModel | None:
    """Read and validate a query.

    Raises:
        ApiRefusal: it is not valid.
    """
    names = list(request.query.keys())
    if model is None:
        if names:
            raise ApiRefusal(422, "bad_request", "this route takes no query", "Leave it out.", param="query")
        return None
    if len(names) != len(set(names)):
        raise ApiRefusal(422, "bad_request", "a name occurs twice in the query", "Send it once.", param="query")
    try:
        return model.model_validate(dict(request.query))
    except ValidationError as error:
        raise invalid(error, model) from None


def invalid(error: ValidationError, model: type[BaseModel]) -> ApiRefusal:
    """Return the refusal of an invalid input, with its first error."""
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return ApiRefusal(400, "bad_json", words_of_problem(first)[:300], "Send JSON (RFC 8259), in UTF-8.")
    where, why = ".".join(map(str, first["loc"]))[:200], words_of_problem(first)
    if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
        why = f"unknown field; the fields are {', '.join(model.model_fields)}"
    return ApiRefusal(422, "bad_request", f"{where}: {why}"[:500], "See /v1/docs for the fields.", param=where or None)


def _act_for(key: ApiKey, named: Sequence[str]) -> ApiKey:
    """Return the key with the tenant it acts for: its own, or the one that a system key's request names.

    Raises:
        ApiRefusal: the key is bound to another tenant.
    """
    if not named or list(named) == [key.tenant]:
        return key
    if Scope.SYSTEM not in key.scopes or len(named) > 1:
        raise ApiRefusal(
            403,
            "no_tenant",
            f"the key {key.id} is bound to its tenant",
            f"Leave {TENANT_HEADER} out.",
        )
    return replace(key, id=f"{key.id}.{named[0][:64]}", tenant=named[0])


def _idempotency_of(request: web.Request) -> str | None:
    given = request.headers.get("Idempotency-Key")
    if given is not None and not _IDEMPOTENCY.fullmatch(given):
        raise ApiRefusal(
            422,
            "bad_request",
            "an Idempotency-Key has 1 to 128 printable ASCII characters, no blanks",
            "Send a UUID.",
            param="Idempotency-Key",
        )
    return given


def locale_of(request: web.Request) -> str | None:
    """Return the first language of Accept-Language, or None."""
    first = request.headers.get("Accept-Language", "").split(",")[0].split(";")[0].strip()
    return first if _TAG.fullmatch(first) else None


def _to_response(route: ApiRoute, answer: BaseModel | web.StreamResponse) -> web.StreamResponse:
    if isinstance(answer, web.StreamResponse):
        return answer
    return to_json(answer, route.status)


def to_json(answer: BaseModel, status: int = 200) -> web.Response:
    """Return a model as a JSON response."""
    return web.Response(
        body=answer.model_dump_json().encode(),
        status=status,
        content_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


def _not_now() -> ApiRefusal:
    return ApiRefusal(503, "not_now", "this process does not accept messages now", "Try again soon.", retry_after_s=2.0)


def _foreign() -> ApiRefusal:
    return ApiRefusal(
        403,
        "origin_refused",
        "pages of this origin may not call the API",
        "Add the origin to http.cors_origins, if it is yours.",
    )
