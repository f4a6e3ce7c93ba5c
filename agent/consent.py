"""Questions to a person about one tool call with exactly these arguments, and their answers; pure."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCall:
    """A call that needs a person's approval."""

    call_key: str  # turn/step/index
    step: int
    tool: str
    arguments: str  # JSON, keys sorted, as the call would run
    says: str = ""  # catalogue key of what the tool does; empty: its name stands for it
    question: str = ""  # a hook's or rule's own words, shown above the call; "": none
    may_remember: bool  # offer "always"
    destructive: bool = False  # the change cannot be undone: the person is told
    unshown: tuple[str, ...] = ()  # arguments that a person cannot read, such as hashes
    backfilled: str = ""  # the input before hooks and permission, if the tool filled something in; JSON

    @property
    def fingerprint(self) -> str:
        """Return a hash of the tool and exactly these arguments; an approval is valid for no others."""
        return fingerprint_of(self.tool, self.arguments)


def fingerprint_of(tool: str, arguments: str) -> str:
    """Return the hash of a call by its tool and its arguments, JSON with sorted keys."""
    return hashlib.sha256(f"{tool}\n{arguments}".encode("utf-8", "surrogatepass")).hexdigest()


class Consent(StrEnum):
    """The states of a question for consent."""

    PENDING = "pending"  # asked, not answered
    ALLOWED = "allowed"  # this once
    REMEMBERED = "remembered"  # now, and whenever this tool wants to run for this person
    DENIED = "denied"
    EXPIRED = "expired"  # not answered in time
    WITHDRAWN = "withdrawn"  # the person wrote something else, or stopped the turn


@dataclass(frozen=True, slots=True)
class Parked:
    """Journal event: the turn waits for approval of a call, or for its result; it resumes with the answer."""

    step: int
    about: str  # key of that call
    name: str  # name of its tool
    approval_id: str  # "": no person was asked, the call's result comes later
    left_s: float  # of the turn's time limit; the wait does not count
    backfilled: str = ""  # see AskedCall; filled in once, so that the approval is valid for the call that runs
    kind: Literal["parked"] = "parked"

    @property
    def asks(self) -> bool:
        """Return True if a person was asked."""
        return bool(self.approval_id)


class TurnParked(Exception):
    """The turn waits for an approval or a result: its events are journaled, its task ends, the answer resumes it."""
