"""Settings of the table `[schedules]`."""

from pydantic import BaseModel, ConfigDict, Field


class SchedulesConfig(BaseModel):
    """Prompts that the agent answers by itself, at times that its people have asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    """False: the model makes no schedules and they are not due, as without this table; those that exist are kept."""
    max_per_person: int = Field(default=20, ge=1, le=100)
    """Maximum schedules of one person, paused ones included; reminders do not count."""
    min_interval_min: int = Field(default=15, ge=1, le=1_440)
    """Minutes that lie between two times of a schedule at least."""
