"""Faults by script: which REST call is hit, how often, and with what. Nothing here touches a socket.

A script is a list of faults. For each call the first fault that matches and is due is used; every fault counts the
calls it matches on its own. Faults of the gateway's WebSocket are orders of the person's side (`simulated`).
"""

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from channels.discord.simulator.checks import JsonObject

FaultKind = Literal["status", "html", "cut", "delay"]

_USUAL = {
    401: "401: Unauthorized",
    403: "Missing Access",
    404: "Unknown Channel",
    429: "You are being rate limited.",
    500: "500: Internal Server Error",
}


class Fault(BaseModel):
    """One line of a script.

    status  an error answer as Discord writes it (429 with `retry_after_s`, 401, 403, 5xx, any)
    html    a proxy's HTML page with `status`; a 429 of this kind has no `Via` header (Cloudflare)
    cut     the connection is cut without an answer
    delay   the answer comes `delay_s` later

    With `applied` the call takes effect first and the fault hides the answer: the ambiguous case. A delay with
    `applied` acts at once and answers late; without, it acts late.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: FaultKind
    method: str = "*"  # the operation's name (`rest.OPERATIONS`), any case; "*" is every one
    chat: int | None = None  # only calls for this channel
    status: int = 500  # of `status` and `html`
    code: int = 0  # Discord's own code of the error
    description: str | None = None  # None: the usual words for the status
    retry_after_s: float = Field(default=1.0, ge=0.0)  # of a 429
    everywhere: bool = False  # of a 429: the global limit
    delay_s: float = Field(default=0.0, ge=0.0)
    applied: bool = False
    skip: int = Field(default=0, ge=0)  # so many matching calls pass first
    every: int = Field(default=1, ge=1)  # then every n-th is hit, beginning with the first
    times: int | None = Field(default=1, ge=1)  # hits in all; None: for ever

    def answer(self) -> JsonObject:
        """The body of an error answer."""
        words = self.description or _USUAL.get(self.status, f"{self.status}: Error")
        if self.status == 429:
            return {"message": words, "retry_after": self.retry_after_s, "global": self.everywhere}
        return {"message": words, "code": self.code}


class _Scripted:
    """A fault with its count."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.seen = 0
        self.hits = 0

    def due(self, operation: str, chat: int | None) -> bool:
        """Whether this call is hit; counts it where it matches."""
        if self.fault.method != "*" and self.fault.method.lower() != operation.lower():
            return False
        if self.fault.chat is not None and self.fault.chat != chat:
            return False
        if self.fault.times is not None and self.hits >= self.fault.times:
            return False
        self.seen += 1
        after = self.seen - self.fault.skip - 1
        if after < 0 or after % self.fault.every:
            return False
        self.hits += 1
        return True


class Faults:
    """The script in force."""

    def __init__(self) -> None:
        self._script: list[_Scripted] = []

    def script(self, *faults: Fault) -> None:
        """Add faults at the end of the script."""
        self._script.extend(_Scripted(fault) for fault in faults)

    def clear(self) -> None:
        """Forget the script: every call goes well again."""
        self._script.clear()

    def hits(self) -> int:
        """How many calls have been hit by the script in force."""
        return sum(scripted.hits for scripted in self._script)

    def due(self, operation: str, chat: int | None) -> Fault | None:
        """The fault for this call, if any."""
        if not self._script:
            return None
        return next((one.fault for one in self._script if one.due(operation, chat)), None)


def parse_script(raw: Iterable[object]) -> list[Fault]:
    """A script as JSON objects, validated.

    Raises:
        pydantic.ValidationError: a line is not a fault.
    """
    return [Fault.model_validate(line) for line in raw]
