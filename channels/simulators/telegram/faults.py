"""Scripts what goes wrong with a call of the Bot API, and with an update on its way. How often: `shared.faults`."""

from typing import ClassVar, Literal

from pydantic import Field

from channels.simulators.shared.faults import FaultScript, ScriptedFault
from channels.simulators.telegram.checks import JsonObject

FaultKind = Literal["status", "html", "cut", "raw", "delay", "duplicate", "malformed"]


class Fault(ScriptedFault):
    """One line of a script.

    status     an error answer as the Bot API writes it (429 with `retry_after_s`, 401, 403, 409, 5xx, any)
    html       a proxy's HTML page with `status`
    cut        the connection is cut without an answer
    raw        `status`, `headers` and `body` are answered as they stand, whatever they say
    delay      the answer comes `delay_s` later
    duplicate  getUpdates only: the batch holds every update twice
    malformed  getUpdates only: an update that is not one joins the queue

    Two things that are no methods are hit under names of their own: "download" is the content of a file (there `cut`
    with `applied` cuts it off in the middle), "webhook" is an update being brought to the bot (`cut` never brings it;
    with `applied`, and for `duplicate`, it is brought and the answer gets lost, so that it is brought again).
    """

    only_by_name: ClassVar[frozenset[str]] = frozenset({"getupdates", "download", "webhook"})

    kind: FaultKind
    chat: int | None = None
    description: str | None = None  # None: the usual words for the status
    retry_after_s: int = Field(default=1, ge=0)  # of a 429

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


class Faults(FaultScript[Fault]):
    """The script in force."""

    def __init__(self) -> None:
        super().__init__(Fault)
