"""Names what can go wrong with a REST call; its method is the operation's name in `rest`.

How often is set in `SimulatedDiscord.faults`.
Faults of the gateway's WebSocket are orders of the person's side (`simulated`).
"""

from typing import Literal

from pydantic import Field

from channels.simulators.discord.checks import JsonObject
from channels.simulators.shared.faults import FaultScript, ScriptedFault

FaultKind = Literal["status", "html", "cut", "raw", "delay"]

_USUAL = {
    401: "401: Unauthorized",
    403: "Missing Access",
    404: "Unknown Channel",
    429: "You are being rate limited.",
    500: "500: Internal Server Error",
}


class Fault(ScriptedFault):
    """One line of a script.

    status  an error answer as Discord writes it (429 with `retry_after_s`, 401, 403, 5xx, any)
    html    a proxy's HTML page with `status`; a 429 of this kind has no `Via` header (Cloudflare)
    cut     the connection is cut without an answer
    raw     `status`, `headers` and `body` are answered as they stand, whatever they say
    delay   the answer comes `delay_s` later
    """

    kind: FaultKind
    chat: int | None = None
    code: int = 0  # Discord's own code of the error
    description: str | None = None  # None: the usual words for the status
    retry_after_s: float = Field(default=1.0, ge=0.0)  # of a 429
    everywhere: bool = False  # of a 429: the global limit

    def answer(self) -> JsonObject:
        """The body of an error answer."""
        words = self.description or _USUAL.get(self.status, f"{self.status}: Error")
        if self.status == 429:
            return {"message": words, "retry_after": self.retry_after_s, "global": self.everywhere}
        return {"message": words, "code": self.code}


class Faults(FaultScript[Fault]):
    """The script in force."""

    def __init__(self) -> None:
        super().__init__(Fault)
