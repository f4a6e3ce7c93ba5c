"""An operator sets here how sessions and turns run; nothing is carried out here."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class SessionsConfig(BaseModel):
    """How conversations run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["steer", "followup"] = Field(
        default="steer", description="What a message does that arrives mid-turn: join the running turn, or wait."
    )
    max_turns: int = Field(default=1000, ge=1, description="Turns in flight over all sessions; more wait.")
    idle_s: float = Field(default=120.0, gt=0, description="Seconds after which an idle session leaves memory.")
    mailbox_size: int = Field(
        default=20, ge=1, description="Messages of a session kept in memory; the rest stay in the store."
    )
    bus_size: int = Field(default=10_000, ge=1, description="Messages kept in memory between intake and sessions.")
    drain_s: float = Field(default=20.0, ge=0, description="Seconds that a graceful stop gives running turns.")
    missed_after_s: float = Field(
        default=86_400.0, gt=0, description="A message that waited longer is told as missed, not answered."
    )
    history_events: int = Field(
        default=500,
        ge=10,
        description="Journal events of a session that a turn starts from, beside notes.",
    )
