"""Settings of memory."""

from pydantic import BaseModel, ConfigDict, Field

from agent.memory.consolidation_config import ConsolidationConfig


class MemoryConfig(BaseModel):
    """Memories of the people that an agent talks to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    """False: nothing is remembered or recalled, as without this table; what was remembered is kept."""
    recall_s: float = Field(default=3.0, gt=0, le=30)
    """Seconds that the light model has to choose memories for a message; then they are chosen by their words."""
    team: bool = False
    """Recall what operators imported for everyone in the tenant, too."""
    consolidation: ConsolidationConfig | None = None
    """None: nothing is made of conversations that have ended."""
