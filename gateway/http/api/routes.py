"""The route table, from which both the server and the OpenAPI document are made."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

from agent.ports import Principal
from gateway.access.api_keys import Scope
from gateway.store.api_keys import ApiKey

NAME = r"^[A-Za-z0-9._-]{1,48}$"
"""Pattern for names of users and sessions in requests."""

_SEGMENT = re.compile(r"[A-Za-z0-9._:@~-]{1,128}", re.ASCII)
PARAM = _SEGMENT.pattern

ANY_SEGMENT = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
"""Pattern for a path segment that names a person: any text on one line, percent-encoded."""


class ApiModel(BaseModel):
    """Base of the API's models: frozen, and closed to unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class WhoseQuery(ApiModel):
    """The user that a request is about."""

    user: str | None = Field(
        None, pattern=NAME, description="A user of your program. Default: `main`, or the key's person."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """One validated and authorized request."""

    key: ApiKey
    actor: str  # the caller's name in the audit log
    path: Mapping[str, str] = field(default_factory=dict)
    query: BaseModel | None = None
    body: BaseModel | None = None
    idempotency_key: str | None = None
    locale: str | None = None  # BCP 47, from Accept-Language
    headers: Mapping[str, str] = field(default_factory=dict)
    principal: Callable[[str | None], Awaitable[Principal]]  # returns the person for a program's `user`
    stream: Callable[[], Awaitable[web.StreamResponse]]  # begins a response of server-sent events
    end_with_client: Callable[[], None]  # cancels the handler if the client disconnects from here on


Answer = BaseModel | web.StreamResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRoute:
    """One route: its path, scope, models and handler."""

    method: str  # GET | POST
    path: str  # /v1/sessions/{session}/turns
    scope: Scope
    tag: str
    summary: str
    handle: Callable[[ApiRequest], Awaitable[Answer]]
    answer: type[BaseModel]
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    status: int = 200
    late_status: int | None = None  # status while the answer is not ready, with the same model
    may_stream: bool = False  # server-sent events if the body sets `stream`
    once: bool = False  # accepts an Idempotency-Key
    segment: re.Pattern[str] = _SEGMENT  # of a name in braces
    limit_s: float | None = None  # on the control socket, where it ends with its client; None: a short one

    @property
    def params(self) -> tuple[str, ...]:
        """Return the names in braces in the path."""
        return tuple(re.findall(r"\{(\w+)\}", self.path))


class RouteTable:
    """All routes, found by method and path."""

    def __init__(self, routes: Sequence[ApiRoute]) -> None:
        """Index the routes by path and method, which are unique."""
        self.routes = tuple(routes)
        self._split = [(route, route.path.split("/")) for route in self.routes]

    def find(self, method: str, path: str) -> tuple[ApiRoute, dict[str, str]]:
        """Return the route and the values in the path of a request.

        Raises:
            HTTPNotFound, HTTPMethodNotAllowed: no route fits.
        """
        segments, others = [unquote(segment) for segment in path.split("/")], set()
        for route, wanted in self._split:
            values = _match(wanted, segments, route.segment)
            if values is None:
                continue
            if route.method == method:
                return route, values
            others.add(route.method)
        if others:
            raise web.HTTPMethodNotAllowed(method, others, text=f"{method} is not asked here")
        raise web.HTTPNotFound(text="there is nothing at this path")


def _match(wanted: Sequence[str], segments: Sequence[str], pattern: re.Pattern[str]) -> dict[str, str] | None:
    if len(wanted) != len(segments):
        return None
    values: dict[str, str] = {}
    for expected, segment in zip(wanted, segments, strict=True):
        if expected.startswith("{"):
            if not pattern.fullmatch(segment):
                return None
            values[expected[1:-1]] = segment
        elif expected != segment:
            return None
    return values
