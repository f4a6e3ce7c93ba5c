"""`/v1` on the control socket: the operators' routes without a key, in the name of the machine's operator."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NoReturn, Protocol

from aiohttp import web
from pydantic import BaseModel, ValidationError

from channels.messages import DEFAULT_TENANT
from gateway.access.ranks import BY_CLI
from gateway.errors import GatewayError, StoreUnavailable
from gateway.http.api.operators import operator_routes
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.routes import ApiRequest, ApiRoute, RouteTable
from gateway.http.api.server import (
    TENANT_HEADER,
    ApiServer,
    in_one_shape,
    invalid,
    read_body,
    read_query,
    to_json,
)
from gateway.http.connections import ConnectionLimiter
from gateway.operators.service import Operators
from gateway.store.api_keys import ApiKey

DEADLINE_S = 10.0

_NO_KEY = ApiKey("", DEFAULT_TENANT, "this machine", "", frozenset(), None, datetime.min.replace(tzinfo=UTC), BY_CLI)


class OperatorDirectory(Protocol):
    """Finds the service over a tenant."""

    def of(self, name: str | None) -> Operators:
        """Return the service over a tenant's rows; None: over those of all.

        Raises:
            GatewayError: there is no such tenant.
        """
        ...


class MachineApi:
    """Answers under `/v1` on the socket: with a key as over TCP, without one as the machine's operator."""

    def __init__(self, api: ApiServer, services: OperatorDirectory, *, deadline_s: float = DEADLINE_S) -> None:
        """Create it; `deadline_s` bounds each action."""
        self._api = api
        self._services = services
        self._deadline_s = deadline_s

    async def serve(self, limiter: ConnectionLimiter, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        if "Authorization" in request.headers:
            return await self._api.serve(limiter, request)
        return await in_one_shape(request, self._answer(limiter, request))

    async def _answer(self, limiter: ConnectionLimiter, request: web.Request) -> web.StreamResponse:
        try:
            operators = self._services.of(request.headers.get(TENANT_HEADER))
        except GatewayError as unknown:
            raise ApiRefusal(404, "no_tenant", str(unknown), "Name another one, or none.") from None
        try:
            route, path = RouteTable(operator_routes(operators)).find(request.method, request.rel_url.raw_path)
        except web.HTTPNotFound:
            return await self._api.serve(limiter, request)  # a route that needs a key, or none
        query, body = read_query(request, route.query), await read_body(request, route.body)
        try:
            async with asyncio.timeout(self._deadline_s):
                return to_json(await act(route, path, query, body))
        except StoreUnavailable as outage:
            raise ApiRefusal(503, "not_now", str(outage), "Look at the database.") from None
        except TimeoutError:
            waited = f"the gateway has not done it within {self._deadline_s:g} s; it may still happen, so look first"
            raise ApiRefusal(504, "too_slow", waited, "Look at how things stand.") from None


async def act(route: ApiRoute, path: Mapping[str, str], query: BaseModel | None, body: BaseModel | None) -> BaseModel:
    """Do what a route does, as the machine's operator."""
    answer = await route.handle(
        ApiRequest(
            key=_NO_KEY,
            actor=BY_CLI,
            path=path,
            query=query,
            body=body,
            principal=_none_here,
            stream=_none_here,
            end_with_client=_none_here,
        )
    )
    assert isinstance(answer, BaseModel), "no route of operators streams"
    return answer


async def act_alone(operators: Operators, request: str, given: Mapping[str, Any]) -> Any:
    """Do in this process what a request to the socket would do; return the JSON of its answer.

    Raises:
        GatewayError: it was refused.
    """
    method, path = request.split(" ", 1)
    try:
        route, named = RouteTable(operator_routes(operators)).find(method, path)
        query = None if route.query is None else _read_given(route.query, given)
        body = None if route.body is None else _read_given(route.body, given)
        return (await act(route, named, query, body)).model_dump(mode="json")
    except ApiRefusal as refused:
        raise GatewayError(str(refused)) from None


def _read_given(model: type[BaseModel], given: Mapping[str, Any]) -> BaseModel:
    try:
        return model.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise invalid(error, model) from None


def _none_here(*_: object) -> NoReturn:
    raise ApiRefusal(401, "key_missing", "this needs a key", "Send it as `Authorization: Bearer KEY`.")
