"""Faults by script: which call is hit, how often, and with what. Nothing here touches a socket.

A script is a list of faults. For each call the first fault that matches and is due is used; every fault counts the
calls it matches on its own. A platform says how it words an error answer.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

FaultKind = Literal["status", "error", "html", "cut", "raw", "delay", "duplicate", "malformed", "unacked"]

HIDING = frozenset({"status", "error", "html", "cut", "raw"})  # kinds in place of the answer
EVERYWHERE = HIDING - {"error"} | {"delay"}  # kinds that each platform has


class Fault(BaseModel):
    """One line of a script.

    status     an error answer as the platform writes it (429 with `retry_after_s`, 401, 403, 5xx, any)
    error      Slack only: {"ok": false, "error": `error`} with HTTP 200 (429 if `error` is ratelimited)
    html       a proxy's HTML page with `status`; on Discord a 429 of this kind has no `Via` header (Cloudflare)
    cut        the connection is cut without an answer
    raw        `status`, `headers` and `body` are answered as they stand, whatever they say
    delay      the answer comes `delay_s` later
    duplicate  Telegram's getUpdates only: the batch holds every update twice
    malformed  Telegram's getUpdates only: an update that is not one joins the queue
    unacked    Slack's "socket.ack" only: an acknowledgement is lost, the envelope is delivered again

    With `applied` the call takes effect first and the fault hides the answer: the ambiguous case. A delay with
    `applied` acts at once and answers late; without, it acts late.

    Some names are no methods. Telegram: "download" is the content of a file (there `cut` with `applied` cuts it off in
    the middle), "webhook" an update being brought to the bot (`cut` never brings it; with `applied`, and for
    `duplicate`, it is brought and the answer gets lost, so that it is brought again). Slack: "response_url", "upload",
    "download".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: FaultKind
    method: str = "*"  # as the platform calls it, any case; "*" is every one but those that are hit by name only
    chat: int | str | None = None  # only calls for this chat
    status: int = 500  # HTTP status of an error answer
    code: int = 0  # Discord's own code of the error
    error: str = "internal_error"  # Slack's own word for the error
    needed: str = ""  # the scope that Slack's missing_scope names
    description: str | None = None  # None: the usual words for the status
    retry_after_s: int | float = Field(default=1, ge=0)  # of a 429
    everywhere: bool = False  # of a 429: Discord's global limit
    body: str = ""  # of a `raw` answer: exactly this
    headers: dict[str, str] = {}  # of a `raw` answer, the content type among them
    delay_s: float = Field(default=0.0, ge=0.0)
    applied: bool = False
    skip: int = Field(default=0, ge=0)  # so many matching calls pass first
    every: int = Field(default=1, ge=1)  # then every n-th is hit, beginning with the first
    times: int | None = Field(default=1, ge=1)  # hits in all; None: for ever

    @property
    def hides(self) -> bool:
        """Return True if something else is seen in place of the answer."""
        return self.kind in HIDING


@dataclass(slots=True)
class _Counted:
    """A fault with its count."""

    fault: Fault
    seen: int = 0
    hits: int = 0

    def due(self) -> bool:
        """Count a call that matches; return True if it is hit."""
        if self.fault.times is not None and self.hits >= self.fault.times:
            return False
        self.seen += 1
        after = self.seen - self.fault.skip - 1
        if after < 0 or after % self.fault.every:
            return False
        self.hits += 1
        return True


class FaultScript:
    """The script in force on a platform."""

    def __init__(self, *own_kinds: FaultKind, only_by_name: Iterable[str] = ()) -> None:
        """Take the kinds that a platform has beside the common ones, and the methods that "*" does not stand for."""
        self._kinds = EVERYWHERE.union(own_kinds)
        self._only_by_name = frozenset(only_by_name)  # in lower case
        self._script: list[_Counted] = []

    def script(self, *faults: Fault) -> None:
        """Add faults at the end of the script.

        Raises:
            ValueError: the platform has no such fault; none is added.
        """
        for fault in faults:
            if fault.kind not in self._kinds:
                raise ValueError(f"there is no {fault.kind} here, but {', '.join(sorted(self._kinds))}")
        self._script.extend(_Counted(fault) for fault in faults)

    def load(self, raw: Iterable[object]) -> None:
        """Add faults that come as JSON objects.

        Raises:
            ValueError: a line is not a fault; none is added.
        """
        self.script(*[Fault.model_validate(line) for line in raw])

    def clear(self) -> None:
        """Forget the script: every call goes well again."""
        self._script.clear()

    def hits(self) -> int:
        """Return how many calls have been hit by the script in force."""
        return sum(counted.hits for counted in self._script)

    def due(self, method: str, chat: int | str | None) -> Fault | None:
        """Return the fault for this call, if any."""
        return next(
            (counted.fault for counted in self._script if self._hits(counted.fault, method, chat) and counted.due()),
            None,
        )

    def _hits(self, fault: Fault, method: str, chat: int | str | None) -> bool:
        named, wanted = method.lower(), fault.method.lower()
        if wanted != named and not (wanted == "*" and named not in self._only_by_name):
            return False
        return fault.chat is None or fault.chat == chat


@asynccontextmanager
async def held_up(fault: Fault | None) -> AsyncIterator[None]:
    """Delay the block, or the end of it if the fault is `applied`."""
    delay_s = fault.delay_s if fault is not None and fault.kind == "delay" else 0.0
    late_end = fault is not None and fault.applied
    if delay_s and not late_end:
        await asyncio.sleep(delay_s)
    yield
    if delay_s and late_end:
        await asyncio.sleep(delay_s)
