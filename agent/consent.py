"""A person is asked about one call with exactly these arguments; here are it and their answer. Pure."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCall:
    """A call that needs a person's word."""

    call_key: str  # turn/step/index
    step: int
    tool: str
    arguments: str  # JSON as it would run, keys sorted
    question: str = ""  # in words of a hook's or a rule's, above what would be done; "": none
    may_remember: bool  # "always" is offered
    destructive: bool = False  # what it changes cannot be had back: the person is told
    backfilled: str = ""  # the input before hooks and permission, where the tool puts something into it; JSON

    @property
    def fingerprint(self) -> str:
        """Stands for the tool and exactly these arguments; a word holds for no others."""
        return hashlib.sha256(f"{self.tool}\n{self.arguments}".encode("utf-8", "surrogatepass")).hexdigest()


class Consent(StrEnum):
    """The states of a question for consent."""

    PENDING = "pending"  # asked, and not answered yet
    ALLOWED = "allowed"  # this once
    REMEMBERED = "remembered"  # this time, and whenever this tool wants to run for this person
    DENIED = "denied"
    EXPIRED = "expired"  # not answered in time
    WITHDRAWN = "withdrawn"  # the person said something else meanwhile, or stopped the turn


@dataclass(frozen=True, slots=True)
class Parked:
    """The turn waits for its person's word on a call: nothing of it runs until it is taken up again."""

    step: int
    about: str  # the key of that call
    name: str  # of its tool
    approval_id: str
    left_s: float  # of the turn's time: the wait is none of it
    backfilled: str = ""  # see AskedCall: made once, so that the word holds for the call that goes on
    kind: Literal["parked"] = "parked"


class TurnParked(Exception):
    """The turn waits for a person: everything is journaled, nothing of it runs, and it is taken up again later."""
