"""Faults by script: which call is hit, how often, and with what. Nothing here touches a socket.

A script is a list of faults. For each call the first fault that matches and is due is used; every fault counts the
calls it matches on its own. What a fault does to an answer is each platform's: its kinds, its words, its headers.
"""

from collections.abc import Iterable
from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field


class ScriptedFault(BaseModel):
    """One line of a script: what every platform's faults say about the calls they hit.

    With `applied` the call takes effect first and the fault hides the answer: the ambiguous case. A delay with
    `applied` acts at once and answers late; without, it acts late.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    only_by_name: ClassVar[frozenset[str]] = frozenset()  # in lower case: what "*" does not stand for

    kind: str  # what happens: `cut`, `html`, `raw` and `delay` everywhere, and what each platform has besides
    method: str = "*"  # as the platform calls it, any case; "*" is every one but those of `only_by_name`
    chat: int | str | None = None  # only calls for this chat; a platform says which of the two
    status: int = 500  # HTTP status of an error answer
    body: str = ""  # of a `raw` answer: exactly this
    headers: dict[str, str] = {}  # of a `raw` answer, the content type among them
    delay_s: float = Field(default=0.0, ge=0.0)
    applied: bool = False
    skip: int = Field(default=0, ge=0)  # so many matching calls pass first
    every: int = Field(default=1, ge=1)  # then every n-th is hit, beginning with the first
    times: int | None = Field(default=1, ge=1)  # hits in all; None: for ever

    def matches(self, method: str, chat: int | str | None) -> bool:
        """Whether this call is one the fault is about."""
        named, wanted = method.lower(), self.method.lower()
        if wanted != named and not (wanted == "*" and named not in self.only_by_name):
            return False
        return self.chat is None or self.chat == chat


F = TypeVar("F", bound=ScriptedFault)


class _Counted(Generic[F]):
    """A fault with its count."""

    def __init__(self, fault: F) -> None:
        self.fault = fault
        self.seen = 0
        self.hits = 0

    def due(self) -> bool:
        """Whether a call that matches is hit; counts it."""
        if self.fault.times is not None and self.hits >= self.fault.times:
            return False
        self.seen += 1
        after = self.seen - self.fault.skip - 1
        if after < 0 or after % self.fault.every:
            return False
        self.hits += 1
        return True


class FaultScript(Generic[F]):
    """The script in force."""

    def __init__(self, kind: type[F]) -> None:
        """`kind` is the platform's fault."""
        self._kind = kind
        self._script: list[_Counted[F]] = []

    def script(self, *faults: F) -> None:
        """Add faults at the end of the script."""
        self._script.extend(_Counted(fault) for fault in faults)

    def load(self, raw: Iterable[object]) -> None:
        """Add faults that come as JSON objects.

        Raises:
            pydantic.ValidationError: a line is not a fault; none is added.
        """
        self.script(*[self._kind.model_validate(line) for line in raw])

    def clear(self) -> None:
        """Forget the script: every call goes well again."""
        self._script.clear()

    def hits(self) -> int:
        """How many calls have been hit by the script in force."""
        return sum(counted.hits for counted in self._script)

    def due(self, method: str, chat: int | str | None) -> F | None:
        """The fault for this call, if any."""
        return next(
            (scripted.fault for scripted in self._script if scripted.fault.matches(method, chat) and scripted.due()),
            None,
        )
