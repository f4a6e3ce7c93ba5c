"""One table of routes: what is answered and what the OpenAPI document says come from the same rows.

A row names its models; reading them from a request, asking for the key and telling errors are the server's matter.
"""

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
"""Of users and sessions, as a program names them."""

_SEGMENT = re.compile(r"[A-Za-z0-9._:@~-]{1,128}", re.ASCII)
PARAM = _SEGMENT.pattern

ANY_SEGMENT = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
"""A segment that names a person as they are typed: any text on one line, percent-encoded."""


class ApiModel(BaseModel):
    """Anything a program sends or is sent: nothing more than it says."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class WhoseQuery(ApiModel):
    """Whom it is about."""

    user: str | None = Field(
        None, pattern=NAME, description="One of your own users; none: `main`, or whom the key was made for."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """One request that is understood, and may ask this."""

    key: ApiKey
    actor: str  # as the audit log names who asks
    path: Mapping[str, str] = field(default_factory=dict)
    query: BaseModel | None = None
    body: BaseModel | None = None
    idempotency_key: str | None = None
    locale: str | None = None  # BCP 47, of Accept-Language
    headers: Mapping[str, str] = field(default_factory=dict)
    principal: Callable[[str | None], Awaitable[Principal]]  # whom it acts for, by the `user` of a program
    stream: Callable[[], Awaitable[web.StreamResponse]]  # begins an answer of server-sent events
    end_with_client: Callable[[], None]  # from here on nobody needs an answer once the client is gone


Answer = BaseModel | web.StreamResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRoute:
    """One thing that can be asked."""

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
    late_status: int | None = None  # what is answered while the answer is not there yet, in the same model
    may_stream: bool = False  # server-sent events where the body says `stream`
    once: bool = False  # takes an Idempotency-Key
    segment: re.Pattern[str] = _SEGMENT  # of what stands in braces

    @property
    def params(self) -> tuple[str, ...]:
        """What stands in braces in its path."""
        return tuple(re.findall(r"\{(\w+)\}", self.path))


class RouteTable:
    """Every route, found by method and path."""

    def __init__(self, routes: Sequence[ApiRoute]) -> None:
        """A path and method stand for one route alone."""
        self.routes = tuple(routes)
        self._split = [(route, route.path.split("/")) for route in self.routes]

    def find(self, method: str, path: str) -> tuple[ApiRoute, dict[str, str]]:
        """Return the route, and what its path, as it was sent, says.

        Raises:
            HTTPNotFound, HTTPMethodNotAllowed: there is none.
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
        raise web.HTTPNotFound(text="there is nothing here")


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
