"""The conditions under which a recorded turn can run again, and what its record does not keep; pure."""

from collections.abc import Collection, Iterator, Sequence

from agent.definition import Agent
from agent.fallbacks import RULES_PREFIX
from agent.replay.record import RecordedCall
from agent.transcript import (
    CallOutcome,
    EndReason,
    JournalEvent,
    ModelResponded,
    Nudged,
    NudgeReason,
    TurnEnded,
    TurnStarted,
)
from gateway.errors import GatewayError
from gateway.store.recorded import StoredPast, StoredTurn

AS_NOW = (
    "Not in the record, and so as it is now: the agent's prompt, the descriptions of its tools, the person's settings, "
    "and what is remembered of them."
)
CONDENSED = (
    "The conversation was condensed after this turn. Notes that the model may have read then are not kept: it reads "
    "the messages before this turn word for word."
)
CUT = "The beginning of the conversation is not kept any more: the model does not read it."
NO_ACCOUNT = "The account of this turn is not running here: its hints about formatting are left out."
NO_HOOKS = "Hooks added texts to this turn or sent it on; no hook runs in a replay."


def check_kind(turn: StoredTurn, product: str, kinds: Collection[str]) -> None:
    """Check that a turn can run again; `product` is the agent of its tenant, `kinds` are those that can.

    Raises:
        GatewayError: it cannot; the message says why.
    """
    if not turn.has_ended:
        raise GatewayError("this turn is not over: wait until it has ended, or stop it")
    if not turn.events or not isinstance(turn.events[0], TurnStarted):
        raise GatewayError("the steps of this turn were deleted, so it cannot run again: choose a newer one")
    if ":" in product:
        raise GatewayError(
            f"an agent of another framework answers here ({product}); it calls models and tools "
            "of its own, so its turns cannot run again: use the tracing of that framework"
        )
    if turn.row.kind not in kinds:
        raise GatewayError(
            f"this is a turn of the kind {turn.row.kind}; only turns that answer messages, and those of schedules, can "
            "run again"
        )


def model_that_answered(turn: StoredTurn, configured: Sequence[str]) -> str:
    """Return the model that answered a turn at last.

    Raises:
        GatewayError: rules answered it, or the model is not configured any more.
    """
    answered = [event.model for event in turn.events if isinstance(event, ModelResponded) and event.model]
    asked = [model for model in answered if not model.startswith(RULES_PREFIX)]
    there = ", ".join(configured) or "none; set [model] first"
    if not asked:
        why = "rules answered this turn" if answered else "no model answered this turn"
        raise GatewayError(f"{why}; name a model by --model: {there}")
    if asked[-1] not in configured:
        raise GatewayError(
            f"{asked[-1]} answered this turn and is not configured any more; name another model by --model: {there}"
        )
    return asked[-1]


def tools_gone(agent: Agent, calls: Sequence[RecordedCall]) -> list[str]:
    """Return the tools that ran in the recorded turn and that the agent lacks."""
    ran = dict.fromkeys(call.name for call in calls if call.outcome is CallOutcome.DONE)
    return [name for name in ran if agent.toolbox.find(name) is None]


def check_tools(gone: Sequence[str], agent: str) -> None:
    """Check that the agent has the tools of the recorded turn.

    Raises:
        GatewayError: some are gone.
    """
    if gone:
        raise GatewayError(
            f"this turn called {', '.join(gone)}, which the agent {agent} does not have any more: install it again, or "
            "name an agent by --agent"
        )


def tool_notes(gone: Sequence[str], agent: str) -> Iterator[str]:
    """Yield a sentence for each tool of the recorded turn that the chosen agent lacks."""
    for tool in gone:
        yield f"The agent {agent} has no tool {tool}, which this turn called."


def check_answered(events: Sequence[JournalEvent], model: str, wait_s: float) -> None:
    """Check that the model answered to the end.

    Raises:
        GatewayError: it did not; the message says why.
    """
    ended = events[-1]
    assert isinstance(ended, TurnEnded), "a turn ends with its end"
    if ended.reason is EndReason.TIMEOUT:
        raise GatewayError(f"{model} was not done within {wait_s:g} s: give it more by --wait, or name another model")
    if ended.why:
        raise GatewayError(f"no replay: {ended.why}. Name another model by --model, or see `tenk models`")


def record_gaps(turn: StoredTurn, past: StoredPast, *, lacks_account: bool = False) -> Iterator[str]:
    """Yield a sentence for each part that the record does not keep."""
    yield AS_NOW
    if past.summarised_since:
        yield CONDENSED
    if past.begins_later:
        yield CUT
    if lacks_account:
        yield NO_ACCOUNT
    if any(isinstance(event, Nudged) and event.why in (None, NudgeReason.STOP) for event in turn.events):
        yield NO_HOOKS
