"""Shows what a program asked and what came of it, as the API's models. Pure: from rows of the store."""

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from pydantic import Field

from agent.journal import turn_figures
from agent.transcript import JournalEvent, ModelResponded, ToolReturned, TurnEnded
from gateway.http.api.routes import ApiModel
from gateway.store.api_turns import AskedTurn
from gateway.store.inbox import Outcome

TurnState = Literal["queued", "running", "waiting", "done", "stopped", "refused", "failed"]

FAILURES = frozenset({"model_error", "context_exhausted"})
"""How turns end that have no answer but an apology."""

UNTOLD_BUSY_S = 5.0
"""When to ask a busy model again that does not say."""


class UsedTool(ApiModel):
    """A tool that the agent used."""

    name: str
    outcome: str = Field(description="done, failed, skipped, unknown or denied.")
    took_s: float | None = Field(None, description="None: it did not run.")


class TokensUsed(ApiModel):
    """What a turn used, steps and calls beside them; none where nobody counted it."""

    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None = Field(None, description="None: the price of one of the calls is not known.")
    model_s: float = Field(0.0, description="Seconds that its models took.")
    tools_s: float = Field(0.0, description="Seconds that its tools took.")


class TurnAnswer(ApiModel):
    """One request to the agent, and its answer as far as there is one."""

    turn: str = Field(description="Its id within its session: fetch it under this.")
    session: str
    user: str
    state: TurnState = Field(
        description="queued, running; waiting (the agent asks its person something: say it in the session); "
        "done, stopped, refused (its person is not let in, or asks too much), failed."
    )
    answer: str = Field(description="Markdown; empty while there is none.")
    tools: tuple[UsedTool, ...]
    provider: str | None = Field(description="Who ran the model: openai, anthropic, offline; none: no model was asked.")
    model: str | None
    usage: TokensUsed
    reason: str | None = Field(description="How the turn ended: completed, max_steps, timeout and so on.")
    retry_after_minutes: int | None = Field(None, description="Of a turn that a busy model ended, or a cap on costs.")
    retry_after_s: float | None = Field(None, description="The same in seconds, as long as it was when the turn ended.")
    asked_at: datetime
    ended_at: datetime | None

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self.state not in {"queued", "running"}


class TurnsAnswer(ApiModel):
    """What was asked in a session, newest first."""

    turns: tuple[TurnAnswer, ...]


def to_turn_answer(asked: AskedTurn, user: str) -> TurnAnswer:
    """The request as a program sees it."""
    row = asked.row
    session, _, handle = row.message_id.partition("/")
    state = _state(asked)
    provider, model = _model_of(asked.events)
    busy_s = _busy_s(asked.events)
    return TurnAnswer(
        turn=handle,
        session=session,
        user=user,
        state=state,
        answer=_answer(asked, state),
        tools=tuple(
            UsedTool(name=event.name, outcome=event.outcome.value, took_s=event.took_s)
            for event in asked.events
            if isinstance(event, ToolReturned)
        ),
        provider=provider,
        model=model,
        usage=_usage_of(asked),
        reason=asked.end_reason,
        retry_after_minutes=None if busy_s is None else max(1, math.ceil(busy_s / 60)),
        retry_after_s=busy_s,
        asked_at=row.admitted_at,
        ended_at=row.done_at,
    )


def _usage_of(asked: AskedTurn) -> TokensUsed:
    tokens, figures = asked.tokens, turn_figures(asked.events)
    return TokensUsed(
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cost_usd=None if tokens.cost_microusd is None else tokens.cost_microusd / 1_000_000,
        model_s=figures["model_s"],
        tools_s=figures["tools_s"],
    )


def _state(asked: AskedTurn) -> TurnState:
    outcome = asked.row.outcome
    if outcome is None:
        if asked.row.turn_id is None:
            return "queued"
        return "waiting" if asked.parked else "running"
    if outcome == Outcome.REFUSED:
        return "refused"
    if outcome == Outcome.FAILED or asked.end_reason in FAILURES or _busy_s(asked.events) is not None:
        return "failed"
    if outcome in {Outcome.CLEARED, Outcome.REPLACED, Outcome.CONTEXT} or asked.end_reason == "stopped":
        return "stopped"
    if asked.row.turn_id is not None and asked.end_reason is None:
        return "waiting" if asked.parked else "running"
    return "done"


def _answer(asked: AskedTurn, state: TurnState) -> str:
    if state in {"queued", "running"}:
        return ""
    ended = next((event for event in reversed(asked.events) if isinstance(event, TurnEnded)), None)
    if ended is not None:
        return ended.text
    if state == "waiting":
        return asked.said[-1] if asked.said else ""
    return "\n\n".join(asked.said)


def _busy_s(events: Iterable[JournalEvent]) -> float | None:
    """Return in how many seconds the model may be asked again that was busy; None: it was not."""
    busy_s = next((event.busy_s for event in events if isinstance(event, TurnEnded)), None)
    return UNTOLD_BUSY_S if busy_s == 0 else busy_s


def _model_of(events: Iterable[JournalEvent]) -> tuple[str | None, str | None]:
    """Who answered last, as provider and model."""
    name = next((event.model for event in reversed(tuple(events)) if isinstance(event, ModelResponded)), "")
    if not name:
        return None, None
    provider, _, model = name.partition(":")
    return provider, model or provider
