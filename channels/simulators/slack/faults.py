"""Scripts what goes wrong with a call of the Web API, and with an acknowledgement. How often: `shared.faults`."""

from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from channels.simulators.shared.faults import FaultScript, ScriptedFault

FaultKind = Literal["error", "status", "html", "cut", "raw", "delay", "unacked"]


class Fault(ScriptedFault):
    """One line of a script.

    error    {"ok": false, "error": `error`} with HTTP 200 (429 with Retry-After where `error` is ratelimited)
    status   an HTTP `status` and {"ok": false, "error": `error`}
    html     a proxy's HTML page with `status`
    cut      the connection is cut without an answer
    raw      `status`, `headers` and `body` are answered as they stand, whatever they say
    delay    the answer comes `delay_s` later
    unacked  method socket.ack only: an acknowledgement is lost, the envelope is delivered again

    "response_url", "upload" and "download" are methods too.
    """

    only_by_name: ClassVar[frozenset[str]] = frozenset(
        {"apps.connections.open", "auth.test", "socket.ack", "users.info"}
    )

    kind: FaultKind
    chat: str | None = None
    error: str = "internal_error"
    needed: str = ""  # the scope a missing_scope names
    retry_after_s: int = Field(default=1, ge=0)

    def answer(self) -> dict[str, JsonValue]:
        """The body of an error answer."""
        body: dict[str, JsonValue] = {"ok": False, "error": self.error}
        if self.needed:
            body |= {"needed": self.needed, "provided": "chat:write"}
        return body


class Faults(FaultScript[Fault]):
    """The script in force."""

    def __init__(self) -> None:
        super().__init__(Fault)
