"""The fallbacks of a turn, journaled by name, and the responses that were thrown away.

`recovery`, `model_caller` and `agent.models` decide when one is taken.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

UNANSWERED = "That turn ended here ({reason}); the person was told so, in words that are not yours."
NEXT_MODEL = "From here on another model answers."
BY_RULES = "No model was there for the last message: rules answer it."
"""`/retry` asks a model what stands before this."""

ANSWER_AGAIN = (
    "Your answer was not given, because {problem}. Answer again with nothing but JSON that fits this schema: {schema}"
)

RULES_PREFIX = "offline:"
"""Begins the names of rules that answer in a model's place."""
"""What stands in the transcript for an end that is no answer, and for a change of model."""


class Fallback(StrEnum):
    """The ways in which a turn recovers from a missing or unusable response; each is journaled and counted."""

    RESULTS_DROPPED = "results_dropped"  # prompt too long: old tool results are left out
    COMPACTED = "compacted"  # prompt too long: the history was made shorter
    HISTORY_DROPPED = "history_dropped"  # prompt too long: the prompt and this turn alone
    PICTURES_DROPPED = "pictures_dropped"  # pictures too large or too many: the older ones are left out
    PICTURES_STRIPPED = "pictures_stripped"  # refused all the same: all of them are left out
    CAP_RAISED = "cap_raised"  # cut: the same again with the higher output cap
    CAP_LOWERED = "cap_lowered"  # the model's own cap is below the raised one
    CONTINUED = "continued"  # cut again: it goes on from the cut
    CALL_EXPLAINED = "call_explained"  # a call that cannot be read: it is told how
    EMPTY_NUDGED = "empty_nudged"  # nothing said: it is asked to answer
    CIRCLE_NUDGED = "circle_nudged"  # it goes in circles: it is told so
    SENT_ON = "sent_on"  # a hook does not let its answer be the end
    ASKED_TO_FIT = "asked_to_fit"  # its answer does not fit the operator's schema: it is told how
    ANSWER_FORCED = "answer_forced"  # the next response is the last, without tools
    RETRIED = "retried"  # a try gave no response: the same again
    UNSTREAMED = "unstreamed"  # a stream fell silent: the same again, whole
    NEXT_MODEL = "next_model"  # another model of the chain is asked
    HANDED_OVER = "handed_over"  # a shorter way came to nothing: the loop does it all


@dataclass(frozen=True, slots=True)
class Recovered:
    """The turn took a fallback; what the model is told of it, if anything, is a nudge of its own."""

    step: int
    rung: Fallback  # journals have it under this name
    detail: str = ""  # for an operator: the failure's kind, the next model's name
    why: str = ""  # for an operator: which model failed of what, where the next one is asked
    kind: Literal["recovered"] = "recovered"


@dataclass(frozen=True, slots=True)
class ResponseDiscarded:
    """A response, or what there was of one, that counts for nothing but what it cost."""

    step: int  # in place of which the response of this step stands, if any does
    number: int  # from 1 within the turn: known by it
    model: str  # provider:name
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    estimated: bool = False  # not counted by the provider: estimated from the length of request and response
    cost_microusd: int | None = None  # None: unknown
    kind: Literal["response_discarded"] = "response_discarded"
