"""Faults by script: which call is hit, how often, and with what. Nothing here touches a socket.

A script is a list of faults. For each call the first fault that matches and is due is used; every fault counts the
calls it matches on its own.
"""

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from channels.telegram.simulator.checks import JsonObject

FaultKind = Literal["status", "html", "cut", "delay", "duplicate", "malformed"]


_ONLY_BY_NAME = frozenset({"getupdates", "download", "webhook"})


class Fault(BaseModel):
    """One line of a script.

    status     an error answer as the Bot API writes it (429 with `retry_after_s`, 401, 403, 409, 5xx, any)
    html       a proxy's HTML page with `status`
    cut        the connection is cut without an answer
    delay      the answer comes `delay_s` later
    duplicate  getUpdates only: the batch holds every update twice
    malformed  getUpdates only: an update that is not one joins the queue

    Two things that are no methods are hit under names of their own: "download" is the content of a file (there `cut`
    with `applied` cuts it off in the middle), "webhook" is an update being brought to the bot (`cut` never brings it;
    with `applied`, and for `duplicate`, it is brought and the answer gets lost, so that it is brought again).

    With `applied` the call takes effect first and the fault hides the answer: the ambiguous case. A delay with
    `applied` acts at once and answers late; without, it acts late.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: FaultKind
    method: str = "*"  # Bot API method, any case; "*" is every method but getUpdates
    chat: int | None = None  # only calls for this chat
    status: int = 500  # of `status` and `html`
    description: str | None = None  # None: the usual words for the status
    retry_after_s: int = Field(default=1, ge=0)  # of a 429
    delay_s: float = Field(default=0.0, ge=0.0)
    applied: bool = False
    skip: int = Field(default=0, ge=0)  # so many matching calls pass first
    every: int = Field(default=1, ge=1)  # then every n-th is hit, beginning with the first
    times: int | None = Field(default=1, ge=1)  # hits in all; None: for ever

    def answer(self) -> JsonObject:
        """The body of an error answer."""
        usual = {
            401: "Unauthorized",
            403: "Forbidden: bot was blocked by the user",
            409: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
            429: f"Too Many Requests: retry after {self.retry_after_s}",
            502: "Bad Gateway",
        }
        words = self.description or usual.get(self.status, "Internal Server Error")
        body: JsonObject = {"ok": False, "error_code": self.status, "description": words}
        if self.status == 429:
            body["parameters"] = {"retry_after": self.retry_after_s}
        return body


class _Scripted:
    """A fault with its count."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.seen = 0
        self.hits = 0

    def due(self, method: str, chat: int | None) -> bool:
        """Whether this call is hit; counts it where it matches."""
        wanted = self.fault.method.lower()
        if wanted != method and not (wanted == "*" and method not in _ONLY_BY_NAME):
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

    def due(self, method: str, chat: int | None) -> Fault | None:
        """The fault for this call, if any; `method` is in lower case."""
        if not self._script:
            return None
        return next((one.fault for one in self._script if one.due(method, chat)), None)


def parse_script(raw: Iterable[object]) -> list[Fault]:
    """A script as JSON objects, validated.

    Raises:
        pydantic.ValidationError: a line is not a fault.
    """
    return [Fault.model_validate(line) for line in raw]
