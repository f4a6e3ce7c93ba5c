"""The bots' side of a simulated platform: a call is answered under the fault script, and remembered."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic

from aiohttp import web
from pydantic import JsonValue

from channels.simulators.shared.faults import Fault, FaultScript, held_up
from channels.simulators.shared.world import Call, Id, Refused, World

_PAGE = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP status and a body."""

    status: int  # 0: the connection is cut instead
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    why: str = ""  # of a refusal, for the history

    def to(self, request: web.BaseRequest) -> web.Response:
        """Return the response to a request; abort the connection if it is cut."""
        if not self.status:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        if self.status == 204:
            return web.Response(status=204, headers=self.headers)
        headers = {"Content-Type": self.content_type, **self.headers}  # exactly this: no charset behind it
        return web.Response(status=self.status, body=self.body, headers=headers)


class Wire(ABC, Generic[Id]):
    """Answers calls as one platform words it."""

    def __init__(self, world: World[Id], faults: FaultScript) -> None:
        """Take the world that remembers the calls, and the script in force."""
        self._remembered = world
        self.faults = faults

    async def answer(self, call: Call[Id], carry_out: Callable[[], JsonValue]) -> Answer:
        """Carry out a call. Return its result, its refusal, or what the fault that is due shows in place of them."""
        fault = self.faults.due(call.method, call.chat_id)
        async with held_up(fault):
            if fault is not None and fault.hides and not fault.applied:
                return self._record(call, self.faulty(fault), applied=False)
            try:
                result = carry_out()
            except Refused as refused:
                return self._record(call, self.refusal(refused), applied=False)
            answer = self.faulty(fault) if fault is not None and fault.hides else self.success(call, result)
            return self._record(self.add_ids(call, result), answer, applied=True)

    def _record(self, call: Call[Id], answer: Answer, *, applied: bool) -> Answer:
        if call.kept:
            self._remembered.record(replace(call, status=answer.status, applied=applied, description=answer.why))
        return answer

    def faulty(self, fault: Fault) -> Answer:
        """Return what a client sees in place of an answer."""
        if fault.kind == "cut":
            return Answer(0, b"", why="cut")
        if fault.kind == "html":
            return Answer(502 if fault.status == 500 else fault.status, _PAGE, "text/html", why="html")
        if fault.kind == "raw":
            return Answer(fault.status, fault.body.encode(), headers=fault.headers, why="raw")
        return self.error(fault)

    @abstractmethod
    def error(self, fault: Fault) -> Answer:
        """Return a scripted error as the platform writes it."""

    @abstractmethod
    def refusal(self, refused: Refused) -> Answer:
        """Return a refusal as the platform writes it."""

    @abstractmethod
    def success(self, call: Call[Id], result: JsonValue) -> Answer:
        """Return a result as the platform writes it."""

    @abstractmethod
    def add_ids(self, call: Call[Id], result: JsonValue) -> Call[Id]:
        """Return the call with the ids of what it made."""
