"""The fallbacks of a turn, journaled by name, and the responses that were thrown away.

`recovery`, `model_caller` and `agent.models` decide when to take one.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

UNANSWERED = "That turn ended here ({reason}); the person was told so, in words that are not yours."
NEXT_MODEL = "From here on another model answers."
BY_RULES = "No model was there for the last message: rules answer it."
"""Prefix of a transcript item after which `/retry` asks a model again."""

ANSWER_AGAIN = (
    "Your answer was not given, because {problem}. Answer again with nothing but JSON that fits this schema: {schema}"
)

OVER_CAP = "over the cap of "
"""Begins `Recovered.why` if the model was not asked, because a cap on its cost is reached."""

RULES_PREFIX = "offline:"
"""Prefix of the names of rules that answer in a model's place."""


class Fallback(StrEnum):
    """The ways in which a turn recovers from a missing or unusable response; each is journaled and counted."""

    RESULTS_DROPPED = "results_dropped"  # prompt too long: old tool results are left out
    STEPS_NOTED = "steps_noted"  # prompt too long: notes stand in place of the steps of older turns
    COMPACTED = "compacted"  # prompt too long: the history was condensed
    HISTORY_DROPPED = "history_dropped"  # prompt too long: only the prompt and this turn
    PICTURES_DROPPED = "pictures_dropped"  # pictures too large or too many: the older ones are left out
    PICTURES_STRIPPED = "pictures_stripped"  # refused all the same: all of them are left out
    CAP_RAISED = "cap_raised"  # cut off: the same request with the higher output cap
    CAP_LOWERED = "cap_lowered"  # the model's own cap is below the raised one
    CONTINUED = "continued"  # cut off again: the model continues from the cut
    CALL_EXPLAINED = "call_explained"  # an unreadable call: the model is told the format
    EMPTY_NUDGED = "empty_nudged"  # an empty response: the model is asked to answer
    CIRCLE_NUDGED = "circle_nudged"  # repeated calls: the model is told
    SENT_ON = "sent_on"  # a hook does not accept the answer as the end
    ASKED_TO_FIT = "asked_to_fit"  # the answer does not fit the operator's schema: the model is told how
    ANSWER_FORCED = "answer_forced"  # the next response is the last, without tools
    RETRIED = "retried"  # an attempt gave no response: the same request again
    UNSTREAMED = "unstreamed"  # a stream fell silent: the same request without streaming
    NEXT_MODEL = "next_model"  # another model of the chain is asked
    HANDED_OVER = "handed_over"  # the shortcut failed: the full loop runs


@dataclass(frozen=True, slots=True)
class Recovered:
    """The turn took a fallback; a message to the model about it is a nudge of its own."""

    step: int
    fallback: Fallback  # the journal's name of it
    detail: str = ""  # for operators: the failure's kind or the next model's name
    why: str = ""  # for operators: which model failed and why, if the next one is asked
    kind: Literal["recovered"] = "recovered"


@dataclass(frozen=True, slots=True)
class ResponseDiscarded:
    """A whole or partial response that was thrown away, but has a cost."""

    step: int  # of the response that replaced it, if any
    number: int  # from 1 within the turn: its key
    model: str  # provider:name
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    estimated: bool = False  # not counted by the provider: estimated from the lengths of request and response
    cost_microusd: int | None = None  # None: unknown
    kind: Literal["response_discarded"] = "response_discarded"
