"""`/v1` on the control socket: the operators' routes without a key, on behalf of this machine's operator."""

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
    """A lookup of the operators' service by tenant."""

    def of(self, name: str | None) -> Operators:
        """Return the service for a tenant, or for all tenants if None.

        Raises:
            GatewayError: there is no such tenant.
        """
        ...


class MachineApi:
    """The API on the socket: with a key as over TCP, without one as this machine's operator."""

    def __init__(self, api: ApiServer, services: OperatorDirectory, *, deadline_s: float = DEADLINE_S) -> None:
        """Keep the parts; `deadline_s` limits each action that has no limit of its own."""
        self._api = api
        self._services = services
        self._deadline_s = deadline_s

    async def serve(self, limiter: ConnectionLimiter, request: web.Request) -> web.StreamResponse:
        if "Authorization" in request.headers:
            return await self._api.serve(limiter, request)
        return await in_one_shape(request, self._answer(limiter, request))

    async def _answer(self, limiter: ConnectionLimiter, request: web.Request) -> web.StreamResponse:
        try:
            operators = self._services.of(request.headers.get(TENANT_HEADER))
        except GatewayError as unknown:
            raise ApiRefusal(404, "no_tenant", str(unknown), "Name another tenant, or none.") from None
        try:
            route, path = RouteTable(operator_routes(operators)).find(request.method, request.rel_url.raw_path)
        except web.HTTPNotFound:
            return await self._api.serve(limiter, request)  # a route that needs a key, or none
        query, body = read_query(request, route.query), await read_body(request, route.body)
        limit_s = self._deadline_s if route.limit_s is None else route.limit_s
        if route.limit_s is not None:
            limiter.end_with(request)
        try:
            async with asyncio.timeout(limit_s):
                return to_json(await act(route, path, query, body))
        except StoreUnavailable as outage:
            raise ApiRefusal(503, "not_now", str(outage), "Check the database.") from None
        except TimeoutError:
            waited = f"the gateway has not finished this within {limit_s:g} s, but it may still happen"
            raise ApiRefusal(504, "too_slow", waited, "Check the current state before you try again.") from None


async def act(route: ApiRoute, path: Mapping[str, str], query: BaseModel | None, body: BaseModel | None) -> BaseModel:
    """Carry out a route as this machine's operator."""
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
    """Carry out a request in this process, as the socket would. Return the JSON of its answer.

    Raises:
        GatewayError: the request was refused.
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
