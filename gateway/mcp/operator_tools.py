"""The operators' actions that programs may call as tools: the routes of `/v1` under other names."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

from gateway.access.api_keys import Scope
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.routes import ApiRequest, ApiRoute
from gateway.http.api.server import invalid
from gateway.store.api_keys import ApiKey

ROUTES = {
    ("GET", "/v1/inbox"): "list_inbox",
    ("GET", "/v1/outbox"): "list_outbox",
    ("GET", "/v1/outbox/{part}"): "show_outbox_part",
    ("POST", "/v1/outbox/{part}/retry"): "retry_outbox_part",
    ("POST", "/v1/outbox/{part}/discard"): "discard_outbox_part",
    ("GET", "/v1/all-sessions"): "list_sessions",
    ("GET", "/v1/all-sessions/{session}"): "show_session",
    ("GET", "/v1/trace"): "trace_person",
    ("GET", "/v1/users"): "list_people",
    ("POST", "/v1/users/{user}/send"): "send_message",
}
"""Route -> name of the tool."""

ACTION_S = 10.0
"""Time limit of an action."""


@dataclass(frozen=True, slots=True)
class OperatorTool:
    """One route as a tool."""

    name: str
    route: ApiRoute

    @property
    def only_reads(self) -> bool:
        """Return True if it changes nothing."""
        return self.route.method == "GET"

    @property
    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the path's names and the fields of the query or body."""
        own = self._model.model_json_schema() if self._model is not None else {"properties": {}}
        named = {name: {"type": "string", "description": f"Id of the {name}."} for name in self.route.params}
        required = [*self.route.params, *own.get("required", ())]
        schema = own | {"type": "object", "properties": named | own["properties"], "additionalProperties": False}
        return schema | ({"required": required} if required else {})

    @property
    def _model(self) -> type[BaseModel] | None:
        return self.route.query or self.route.body

    async def run(self, key: ApiKey, given: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out the action on behalf of a key. Return its answer as JSON.

        Raises:
            ApiRefusal: it is refused, or the arguments are invalid.
        """
        path = {name: self._segment(name, given.get(name)) for name in self.route.params}
        read = _read(self._model, {name: value for name, value in given.items() if name not in path})
        call = ApiRequest(
            key=key,
            actor=key.actor,
            path=path,
            query=read if self.route.query else None,
            body=read if self.route.body else None,
            principal=_none_here,
            stream=_none_here,
            end_with_client=_none_here,
        )
        try:
            async with asyncio.timeout(ACTION_S):
                answer = await self.route.handle(call)
        except TimeoutError:
            raise ApiRefusal(504, "too_slow", "this took too long; it may still happen", "Look first.") from None
        assert isinstance(answer, BaseModel), "no route of operators streams"
        return answer.model_dump(mode="json")

    def _segment(self, name: str, given: object) -> str:
        if not isinstance(given, str | int) or not self.route.segment.fullmatch(str(given)):
            raise ApiRefusal(422, "bad_request", f"{name}: a text on one line is needed", "List them first.")
        return str(given)


def _read(model: type[BaseModel] | None, fields: Mapping[str, Any]) -> BaseModel | None:
    if model is None:
        if fields:
            raise ApiRefusal(422, "bad_request", f"unknown arguments: {', '.join(fields)[:200]}", "Leave them out.")
        return None
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise invalid(error, model) from None


def operator_tools(routes: Sequence[ApiRoute], scopes: frozenset[str]) -> dict[str, OperatorTool]:
    """Return the operators' tools that a key with these scopes may call; `operate` includes reading."""
    reads = {Scope.READ, Scope.OPERATE} & scopes
    found: dict[str, OperatorTool] = {}
    for route in routes:
        name = ROUTES.get((route.method, route.path))
        if name is not None and (route.scope in scopes or (route.scope is Scope.READ and reads)):
            found[name] = OperatorTool(name, route)
    return found


def _none_here(*_: object) -> NoReturn:
    raise TypeError("no action of operators asks for a person or streams")
