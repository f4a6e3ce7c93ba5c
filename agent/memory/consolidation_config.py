"""Settings of the consolidation of conversations."""

from decimal import Decimal

from pydantic import BaseModel, ConfigDict, Field


class ConsolidationConfig(BaseModel):
    """Abstracts, facts and memories of conversations that have ended; without this table there are none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    usd_per_day: Decimal = Field(default=Decimal("0.50"), ge=Decimal("0.000001"), le=1_000_000)
    """USD that it may cost in a UTC day, for all people of a tenant together; it counts to no other cap."""
    quiet_s: float = Field(default=600.0, ge=1, le=86_400)
    """Seconds without a turn after which a conversation has ended; one that `/new` closed has ended at once."""
    dream_s: float = Field(default=600.0, ge=1, le=86_400)
    """Seconds after the last consolidation of a person until their facts are scored, merged and bounded."""
