"""Settings for how answers are shown and sent."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from channels.foreign import LONGEST_WAIT_S, MOST_SAID_S


class DeliveryConfig(BaseModel):
    """Settings for how answers are shown and sent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reactions: Literal["off", "slow", "always"] = "slow"
    placeholder_after_s: float = Field(default=1.5, ge=0)
    typing_after_s: float = Field(default=0.7, ge=0)
    note_after_s: float = Field(default=10.0, ge=0)
    reaction_after_s: float = Field(default=2.0, ge=0)
    send_timeout_s: float = Field(default=30.0, gt=0)
    upload_timeout_s: float = Field(default=120.0, gt=0)
    give_up_after_s: float = Field(default=86_400.0, gt=0)
    longest_wait_s: float = Field(default=LONGEST_WAIT_S, gt=0, le=MOST_SAID_S)
    lane_size: int = Field(default=100, ge=1)
