"""Settings of the HTTP API; the HTTP server's settings say where it is served."""

from pydantic import BaseModel, ConfigDict, Field


class ApiAccount(BaseModel):
    """Programs that talk over `/v1`, account `main`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True
    mcp: bool = False
    waiting: int = Field(default=256, ge=1, le=10_000)
    waiting_of_key: int = Field(default=64, ge=1, le=10_000)
