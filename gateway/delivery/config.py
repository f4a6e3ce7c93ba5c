"""Settings for how answers are shown and sent."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from channels.foreign import LONGEST_WAIT_S, MOST_SAID_S


class DeliveryConfig(BaseModel):
    """Settings for how answers are shown and sent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reactions: Literal["off", "slow", "always"] = Field(
        default="slow", description="Reactions on a person's message: never, when it takes a while, or always."
    )
    placeholder_after_s: float = Field(default=1.5, ge=0, description="Seconds after which a live answer appears.")
    typing_after_s: float = Field(default=0.7, ge=0, description="Seconds after which the busy sign appears.")
    note_after_s: float = Field(
        default=10.0, ge=0, description="Seconds without a word of an answer after which its placeholder says so."
    )
    reaction_after_s: float = Field(default=2.0, ge=0, description="Seconds after which a working reaction appears.")
    send_timeout_s: float = Field(default=30.0, gt=0, description="Deadline of one platform call.")
    upload_timeout_s: float = Field(default=120.0, gt=0, description="Deadline of one platform call with files.")
    give_up_after_s: float = Field(
        default=86_400.0, gt=0, description="Age at which an undelivered part is dead-lettered."
    )
    longest_wait_s: float = Field(
        default=LONGEST_WAIT_S,
        gt=0,
        le=MOST_SAID_S,
        description="Seconds a chat waits at most because its platform says so; then it is tried again.",
    )
    lane_size: int = Field(default=100, ge=1, description="Parts of a chat kept in memory; the rest stay in the store.")
