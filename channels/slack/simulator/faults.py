"""Faults by script: which call is hit, how often, and with what. Nothing here touches a socket.

A script is a list of faults. For each call the first fault that matches and is due is used; every fault counts the
calls it matches on its own.
"""

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

FaultKind = Literal["error", "status", "html", "cut", "delay", "unacked"]

UNMATCHED_BY_STAR = frozenset({"apps.connections.open", "auth.test", "socket.ack"})


class Fault(BaseModel):
    """One line of a script.

    error    {"ok": false, "error": `error`} with HTTP 200 (429 with Retry-After where `error` is ratelimited)
    status   an HTTP `status` and {"ok": false, "error": `error`}
    html     a proxy's HTML page with `status`
    cut      the connection is cut without an answer
    delay    the answer comes `delay_s` later
    unacked  method socket.ack only: an acknowledgement is lost, the envelope is delivered again

    With `applied` the call takes effect first and the fault hides the answer: the ambiguous case. A delay with
    `applied` acts at once and answers late; without, it acts late.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: FaultKind
    method: str = "*"  # "*" is every method but those of UNMATCHED_BY_STAR; "response_url" and "upload" are methods too
    chat: str | None = None
    status: int = 500
    error: str = "internal_error"
    needed: str = ""  # the scope a missing_scope names
    retry_after_s: int = Field(default=1, ge=0)
    delay_s: float = Field(default=0.0, ge=0.0)
    applied: bool = False
    skip: int = Field(default=0, ge=0)  # so many matching calls pass first
    every: int = Field(default=1, ge=1)  # then every n-th is hit, beginning with the first
    times: int | None = Field(default=1, ge=1)  # hits in all; None: for ever

    def answer(self) -> dict[str, JsonValue]:
        """The body of an error answer."""
        body: dict[str, JsonValue] = {"ok": False, "error": self.error}
        if self.needed:
            body |= {"needed": self.needed, "provided": "chat:write"}
        return body


class _Scripted:
    """A fault with its count."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.seen = 0
        self.hits = 0

    def due(self, method: str, chat: str | None) -> bool:
        """Whether this call is hit; counts it where it matches."""
        fault = self.fault
        if fault.method not in (method, "*") or (fault.method == "*" and method in UNMATCHED_BY_STAR):
            return False
        if fault.chat is not None and fault.chat != chat:
            return False
        if fault.times is not None and self.hits >= fault.times:
            return False
        self.seen += 1
        after = self.seen - fault.skip - 1
        if after < 0 or after % fault.every:
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

    def due(self, method: str, chat: str | None) -> Fault | None:
        """The fault for this call, if any."""
        if not self._script:
            return None
        return next((one.fault for one in self._script if one.due(method, chat)), None)


def parse_script(raw: Iterable[object]) -> list[Fault]:
    """A script as JSON objects, validated.

    Raises:
        pydantic.ValidationError: a line is not a fault.
    """
    return [Fault.model_validate(line) for line in raw]
