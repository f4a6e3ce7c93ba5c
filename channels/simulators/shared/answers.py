"""Sends back what a call is answered, and what a fault makes of it: late, cut off, or a proxy's page.

What an error looks like where the platform itself answers is each platform's.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from channels.simulators.shared.faults import ScriptedFault

_PAGE = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: an HTTP status and a body; `cut` means nothing does."""

    status: int  # 0 when it is cut
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    why: str = ""  # of a refusal, for the history

    def to(self, request: web.BaseRequest) -> web.Response:
        """Answer a request; one that is cut loses its connection."""
        if self.cut:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        if self.status == 204:
            return web.Response(status=204, headers=self.headers)
        headers = {"Content-Type": self.content_type, **self.headers}  # exactly this: no charset behind it
        return web.Response(status=self.status, body=self.body, headers=headers)


def of_network(fault: ScriptedFault) -> Answer | None:
    """What a client sees of a fault that lies between it and the platform; None when the platform answers."""
    if fault.kind == "cut":
        return Answer(0, b"", cut=True, why="cut")
    if fault.kind == "html":
        return Answer(502 if fault.status == 500 else fault.status, _PAGE, "text/html", why="html")
    if fault.kind == "raw":
        return Answer(fault.status, fault.body.encode(), headers=fault.headers, why="raw")
    return None


@asynccontextmanager
async def held_up(fault: ScriptedFault | None) -> AsyncIterator[None]:
    """Carry out what is inside late, or at once and end late when the fault is `applied`."""
    delay_s = fault.delay_s if fault is not None and fault.kind == "delay" else 0.0
    late_end = fault is not None and fault.applied
    if delay_s and not late_end:
        await asyncio.sleep(delay_s)
    yield
    if delay_s and late_end:
        await asyncio.sleep(delay_s)
