"""The person's side over HTTP: how /sim/ calls are read, carried out and answered on every platform.

    POST   /sim/<order>   one object, or a list of them -> one answer, or a list of them
    GET    /sim/<view>?...
    GET    /sim/history?chat=...&after=0&wait_s=5   calls that arrived; waits for one when there is none yet
    POST   /sim/faults    a fault or a list of them;   GET: {"hits": 3};   DELETE ends the script

Errors are answered 400 with {"error": "..."}. Which orders and views there are is told by each platform's `server`.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

import orjson
from aiohttp import web
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from channels.simulators.shared.faults import FaultScript, ScriptedFault
from channels.simulators.shared.history import Arrived, Refused
from channels.simulators.shared.server import Watched

Id = TypeVar("Id")  # int or str
Query = Mapping[str, str]

MAX_WAIT_S = 60.0


class ControlOrder(BaseModel):
    """What a control call may carry; each endpoint takes what it needs."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


O = TypeVar("O", bound=ControlOrder)  # noqa: E741  one letter, as the others
F = TypeVar("F", bound=ScriptedFault)


@dataclass(frozen=True, slots=True)
class Endpoints(Generic[O, Id]):
    """What a platform has under /sim/, beside its history and its faults."""

    order: type[O]
    orders: Mapping[str, Callable[[O], JsonValue]]  # by POST
    views: Mapping[str, Callable[[Query], object]]  # by GET; what comes back is written as JSON
    chat_id: Callable[[str], Id]  # how a chat is named in a query


class Control(Generic[O, F, Id]):
    """Answers /sim/..."""

    def __init__(self, watched: Watched[Id], faults: FaultScript[F], endpoints: Endpoints[O, Id]) -> None:
        self._watched = watched
        self._faults = faults
        self._endpoints = endpoints

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One control call."""
        name = request.path.removeprefix("/sim/")
        try:
            answer = await self._answer(request, name)
        except (ValidationError, LookupError, ValueError, Refused) as error:
            return _json({"error": f"{name}: {error}"}, status=400)
        return _json(answer)

    async def _answer(self, request: web.BaseRequest, name: str) -> object:
        if name == "faults":
            return await self._script(request)
        if request.method == "GET" and name == "history":
            return [asdict(call) for call in await self._history(request.query)]
        if request.method == "GET":
            return _find_endpoint(self._endpoints.views, name)(request.query)
        order, carry_out = self._endpoints.order, _find_endpoint(self._endpoints.orders, name)
        body = orjson.loads(await request.read())
        if isinstance(body, list):
            return [carry_out(order.model_validate(order_json)) for order_json in body]
        return carry_out(order.model_validate(body))

    async def _script(self, request: web.BaseRequest) -> dict[str, int]:
        if request.method == "DELETE":
            self._faults.clear()
        elif request.method == "POST":
            script = orjson.loads(await request.read())
            self._faults.load(script if isinstance(script, list) else [script])
        return {"hits": self._faults.hits()}

    async def _history(self, query: Query) -> list[Arrived[Id]]:
        """The calls after `after`; waits up to `wait_s` for the first of them."""
        chat = self._endpoints.chat_id(query["chat"]) if "chat" in query else None
        after, watched = int(query.get("after", "0")), self._watched
        wait_s = min(float(query.get("wait_s", "0")), MAX_WAIT_S)
        try:
            await watched.until(lambda: bool(watched.history(chat, after=after)), timeout_s=wait_s)
        except TimeoutError:
            return []
        return watched.history(chat, after=after)


T = TypeVar("T")


def _find_endpoint(endpoints: Mapping[str, T], name: str) -> T:
    """What answers under this name.

    Raises:
        LookupError: there is no such endpoint.
    """
    if name not in endpoints:
        raise LookupError("no such endpoint")
    return endpoints[name]


def _json(body: object, *, status: int = 200) -> web.Response:
    return web.Response(
        body=orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS), status=status, content_type="application/json"
    )
