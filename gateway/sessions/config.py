"""An operator sets here how sessions and turns run; nothing is carried out here."""

from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from gateway.store.tables.turns import Mode

Usd = Annotated[Decimal | None, Field(ge=Decimal("0.000001"), le=1_000_000)]
Tokens = Annotated[int | None, Field(ge=1, le=10**15)]


class BudgetsConfig(BaseModel):
    """Hard caps: what models may cost, and how many tokens they may read and write. None: no cap."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    turn_usd: Usd = None
    turn_tokens: Tokens = None
    user_usd: Usd = None
    user_tokens: Tokens = None
    channel_usd: Usd = None
    channel_tokens: Tokens = None
    tenant_usd: Usd = None
    tenant_tokens: Tokens = None
    day_usd: Usd = None
    day_tokens: Tokens = None

    def caps_of(self, scope: str) -> tuple[int | None, int | None]:
        """Return the caps of this scope, in microdollars and in tokens."""
        usd: Decimal | None = getattr(self, f"{scope}_usd")
        tokens: int | None = getattr(self, f"{scope}_tokens")
        return None if usd is None else int(usd * 1_000_000), tokens

    @property
    def has_any(self) -> bool:
        return any(getattr(self, name) is not None for name in type(self).model_fields)

    @property
    def caps_usd(self) -> bool:
        """Return True if any cap is in USD."""
        return any(getattr(self, name) is not None for name in type(self).model_fields if name.endswith("_usd"))


class SessionsConfig(BaseModel):
    """The settings of conversations."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = "steer"
    max_turns: int = Field(default=1000, ge=1)
    idle_s: float = Field(default=120.0, gt=0)
    mailbox_size: int = Field(default=20, ge=1)
    bus_size: int = Field(default=10_000, ge=1)
    drain_s: float = Field(default=20.0, ge=0)
    missed_after_s: float = Field(default=86_400.0, gt=0)
    history_events: int = Field(default=500, ge=10)


class PicturesConfig(BaseModel):
    """Which pictures of people's are opened."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_bytes: int = Field(default=5_000_000, ge=1_000, le=20_000_000)
    max_count: int = Field(default=4, ge=0, le=20)
    fetch_s: float = Field(default=20.0, gt=0, le=300)
