"""Settings of the table `[teams]`."""

from pydantic import BaseModel, ConfigDict, Field

BOARD_TOOLS = ("board_add", "board_claim", "board_show", "board_update")


class TeamsConfig(BaseModel):
    """A board of tasks that the agents of one person share."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    """False: no board, as without this table."""
    lease_s: float = Field(default=600.0, ge=10.0, le=86_400.0)
    """Seconds for which a worker has a task that it has claimed; each note or state that it writes begins them anew."""
