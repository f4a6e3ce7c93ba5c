"""Models of the actions on one turn: its steps, and its replay."""

from pydantic import Field

from agent.replay.steps import RunFigures, StepPair, TurnSteps
from gateway.operators.models import Model, TurnLine

MAX_PROMPT_CHARS = 200_000
REPLAY_S = 300.0
"""Seconds for a replay, unless the operator says otherwise."""

LONGEST_REPLAY_S = 3600.0


class TurnQuery(Model):
    """The time of a person's turn, if the turn is named by its person."""

    at: str | None = Field(
        default=None, max_length=64, description='In their time: "yesterday", "yesterday 10:00", "3 h ago".'
    )


class ReplayWish(TurnQuery):
    """The changes with which a turn runs again; without any it runs as it did."""

    model: str | None = Field(default=None, max_length=255, description="Default: the one that answered.")
    prompt: str | None = Field(
        default=None, min_length=1, max_length=MAX_PROMPT_CHARS, description="In place of who the agent is."
    )
    agent: str | None = Field(default=None, max_length=255, description="Default: the one that answered.")
    wait_s: float = Field(default=REPLAY_S, gt=0, le=LONGEST_REPLAY_S, description="Seconds for all of it.")


class ShownTurn(Model):
    """A turn with its steps."""

    turn: TurnLine
    session: str
    agent: str
    run: TurnSteps


class Replay(Model):
    """A turn beside its replay."""

    turn: TurnLine
    session: str
    agent: str = Field(description="The one that ran now.")
    model: str = Field(description="The one that was asked now, without fallbacks.")
    notes: tuple[str, ...] = Field(description="What the record does not keep, and what differs for that reason.")
    recorded: RunFigures
    replayed: RunFigures
    steps: tuple[StepPair, ...]
    answer: tuple[str, ...] = Field(description="The lines of both answers, marked like those of a step.")
