"""API models of requests and their answers, made from rows of the store."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal

from pydantic import Field

from agent.consent import Consent
from agent.journal import turn_figures
from agent.transcript import JournalEvent, ModelResponded, ToolReturned, TurnEnded
from gateway.commands.decisions import numbered_answers
from gateway.http.api.routes import ApiModel
from gateway.store.api_turns import AskedTurn
from gateway.store.approvals import Approval
from gateway.store.inbox import Outcome

TurnState = Literal["queued", "running", "waiting", "done", "stopped", "refused", "failed"]

FAILURES = frozenset({"model_error", "context_exhausted"})
"""End reasons of turns whose only answer is an apology."""

UNTOLD_BUSY_S = 5.0
"""Seconds until a retry if a busy model does not say when."""


class UsedTool(ApiModel):
    """A tool that the agent used."""

    name: str
    outcome: str = Field(description="done, failed, skipped, unknown or denied.")
    took_s: float | None = Field(None, description="null: it did not run.")


class TokensUsed(ApiModel):
    """Tokens and cost of a turn's model calls; null if they were not counted."""

    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None = Field(None, description="null: the price of a call is unknown.")
    model_s: float = Field(0.0, description="Seconds spent in models.")
    tools_s: float = Field(0.0, description="Seconds spent in tools.")


class QuestionAnswer(ApiModel):
    """One answer to a question."""

    send: str = Field(description="The message that gives this answer.")
    means: Literal["allow_once", "allow_always", "deny"]


class QuestionToPerson(ApiModel):
    """A question to the person before a tool runs; `answer` has its text."""

    question: str = Field(description="Its id.")
    call: str = Field(description="The id of the tool call.")
    tool: str
    answers: tuple[QuestionAnswer, ...]
    until: datetime = Field(description="From then on the call is denied.")


MEANINGS: Mapping[Consent, Literal["allow_once", "allow_always", "deny"]] = {
    Consent.ALLOWED: "allow_once",
    Consent.REMEMBERED: "allow_always",
    Consent.DENIED: "deny",
}


class TurnAnswer(ApiModel):
    """One request to the agent, with the answer so far."""

    turn: str = Field(description="The id within its session, to fetch it by.")
    session: str
    user: str
    message: str | None = Field(description="The message; null: it was deleted.")
    state: TurnState = Field(
        description="queued, running, waiting (the agent asks its person a question: answer it in the session), "
        "done, stopped, refused (no access, or over a limit) or failed."
    )
    answer: str = Field(description="Markdown; empty until there is one.")
    for_question: bool = Field(False, description="True: the message answered a question of the turn before.")
    question: QuestionToPerson | None = Field(None, description="What it waits for in the state waiting.")
    tools: tuple[UsedTool, ...]
    provider: str | None = Field(description="openai, anthropic or offline; null: no model was asked.")
    model: str | None
    usage: TokensUsed
    reason: str | None = Field(description="The end reason: completed, max_steps, timeout and so on.")
    retry_after_minutes: int | None = Field(None, description="Only for a turn ended by a busy model or a budget.")
    retry_after_s: float | None = Field(None, description="The same in seconds, counted from the end of the turn.")
    asked_at: datetime
    ended_at: datetime | None

    @property
    def is_settled(self) -> bool:
        """Return True if the turn has ended."""
        return self.state not in {"queued", "running"}


class TurnsAnswer(ApiModel):
    """The requests of a session, newest first."""

    turns: tuple[TurnAnswer, ...]


def to_turn_answer(asked: AskedTurn, user: str) -> TurnAnswer:
    """Return a request as the API's model."""
    row = asked.row
    session, _, handle = row.message_id.partition("/")
    state = _state(asked)
    provider, model = _model_of(asked.events)
    busy_s = _busy_s(asked.events)
    return TurnAnswer(
        turn=handle,
        session=session,
        user=user,
        message=row.text,
        for_question=row.for_question,
        state=state,
        question=None if asked.question is None else _to_question(asked.question),
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


def _to_question(approval: Approval) -> QuestionToPerson:
    answers = numbered_answers(approval.may_remember).items()
    return QuestionToPerson(
        question=approval.id,
        call=approval.call_key,
        tool=approval.tool,
        answers=tuple(QuestionAnswer(send=number, means=MEANINGS[consent]) for number, consent in answers),
        until=approval.until,
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
        return "waiting" if asked.question else "running"
    if outcome == Outcome.REFUSED:
        return "refused"
    if outcome == Outcome.FAILED or asked.end_reason in FAILURES or _busy_s(asked.events) is not None:
        return "failed"
    if outcome in {Outcome.CLEARED, Outcome.REPLACED, Outcome.CONTEXT} or asked.end_reason == "stopped":
        return "stopped"
    if asked.row.turn_id is not None and asked.end_reason is None:
        return "waiting" if asked.question else "running"
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
    """Return the seconds until a busy model may be asked again, or None if none was busy."""
    busy_s = next((event.busy_s for event in events if isinstance(event, TurnEnded)), None)
    return UNTOLD_BUSY_S if busy_s == 0 else busy_s


def _model_of(events: Iterable[JournalEvent]) -> tuple[str | None, str | None]:
    """Return the provider and model of the last answer."""
    name = next((event.model for event in reversed(tuple(events)) if isinstance(event, ModelResponded)), "")
    if not name:
        return None, None
    provider, _, model = name.partition(":")
    return provider, model or provider
